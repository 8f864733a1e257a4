package differential

import (
	"net/http"
	"net/url"
	"strings"
)

// The conditions that distinguish upstream's wrong candidates from Berth's.

// piledUp reports whether B has the answer that A would have without confusing the amounts: A's
// candidates without a policy, less those that are not isolated.
func piledUp(x *Exchange) bool {
	values, err := url.ParseQuery(x.Request.query())
	if err != nil || x.Request.path() != "/allocation_candidates" || values.Get("group_policy") == "none" ||
		!sharedClass(values) {
		return false
	}
	if x.A.Status != http.StatusOK || x.B.Status != http.StatusOK {
		return false
	}
	_, strict := x.pair.query(unlimited(x.Request))
	looseA, loose := x.pair.query(withoutPolicy(unlimited(x.Request)))
	if len(Compare(looseA, loose)) > 0 && !x.lostTrees(looseA, loose) {
		return false
	}
	if part(strict, loose, x.described()) != "" {
		return false
	}
	minor, _ := x.Request.version()
	return minor < mappingsSince || len(candidates(strict)) == len(isolated(loose, values.Get("group_policy")))
}

// mappingsSince is the microversion from which candidates have the providers of each group.
const mappingsSince = 34

// sharedClass reports whether more than one group requests a class.
func sharedClass(values url.Values) bool {
	seen := map[string]string{}
	for key, vs := range values {
		if !strings.HasPrefix(key, "resources") {
			continue
		}
		for _, v := range vs {
			for item := range strings.SplitSeq(v, ",") {
				class, _, _ := strings.Cut(item, ":")
				if first, ok := seen[class]; ok && first != key {
					return true
				}
				seen[class] = key
			}
		}
	}
	return false
}

func withoutPolicy(r Request) Request {
	path, query, _ := strings.Cut(r.Target, "?")
	kept := []string{"group_policy=none"}
	for part := range strings.SplitSeq(query, "&") {
		if !strings.HasPrefix(part, "group") {
			kept = append(kept, part)
		}
	}
	r.Target = path + "?" + strings.Join(kept, "&")
	return r
}

// isolated returns the candidates that a policy leaves.
func isolated(a Answer, policy string) []any {
	var out []any
	for _, c := range candidates(a) {
		if policy != "isolate" || apart(asMap(at(c, "mappings"))) {
			out = append(out, c)
		}
	}
	return out
}

// apart reports whether no two groups with a suffix use the same provider.
func apart(mappings map[string]any) bool {
	used := map[string]bool{}
	for suffix, providers := range mappings {
		for _, rp := range asStrings(providers) {
			if suffix != "" && used[rp] {
				return false
			}
			if suffix != "" {
				used[rp] = true
			}
		}
	}
	return true
}

// groups returns the suffixes of the groups that a query has.
func groups(r Request) map[string]bool {
	suffixes := map[string]bool{}
	for part := range strings.SplitSeq(r.query(), "&") {
		key, _, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(key)
		if err != nil {
			continue
		}
		for _, kind := range []string{"resources", "required", "member_of", "in_tree"} {
			if suffix, ok := strings.CutPrefix(plain, kind); ok {
				suffixes[suffix] = true
			}
		}
	}
	return suffixes
}

// lostTrees reports whether B has all that A has, and otherwise only candidates that use a sharing
// provider.
func (x *Exchange) lostTrees(a, b Answer) bool {
	if a.Status != http.StatusOK || b.Status != http.StatusOK {
		return false
	}
	sharing := x.pair.sharing()
	extra := map[string]int{}
	for _, c := range candidates(b) {
		extra[render(c)]++
	}
	for _, c := range candidates(a) {
		if extra[render(c)]--; extra[render(c)] < 0 {
			return false
		}
	}
	for _, c := range candidates(b) {
		if extra[render(c)] > 0 && !shares(c, sharing) {
			return false
		}
	}
	return part(a, b, x.described()) == ""
}

// sharing returns the sharing providers.
func (p *Pair) sharing() map[string]bool {
	out := map[string]bool{}
	a := p.A.admin(http.MethodGet, "/resource_providers?required="+sharingTrait)
	items, _ := at(a.JSON, "resource_providers").([]any)
	for _, it := range items {
		out[asString(at(it, "uuid"))] = true
	}
	return out
}

// shares reports whether a candidate uses a sharing provider.
func shares(candidate any, sharing map[string]bool) bool {
	for rp := range heldIn(candidate) {
		if sharing[rp] {
			return true
		}
	}
	return false
}
