package differential

import (
	"fmt"
	"net/http"
	"strings"
)

// Without randomizing, the candidates under a limit depend on the order in which a service finds
// them. So each limited answer is compared with the same service's unlimited one, and those are
// compared with each other.

// limited reports whether the exchange is a candidates query with a limit that both services
// answered.
func limited(x Exchange) bool {
	return x.A.Status == http.StatusOK && x.B.Status == http.StatusOK &&
		x.Request.path() == "/allocation_candidates" && unlimited(x.Request).Target != x.Request.Target
}

// unlimited removes every limit from a query.
func unlimited(r Request) Request {
	path, query, _ := strings.Cut(r.Target, "?")
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		if key, _, _ := strings.Cut(part, "="); key != "limit" {
			kept = append(kept, part)
		}
	}
	r.Target = path + "?" + strings.Join(kept, "&")
	return r
}

func (p *Pair) compareLimited(x Exchange) []Difference {
	allA, allB := p.query(unlimited(x.Request))
	if ds := Compare(allA, allB); len(ds) > 0 {
		return ds // an excuse for these must excuse the whole exchange
	}
	if ds := compareHeads(x.A.Head, x.B.Head); len(ds) > 0 {
		return ds
	}
	var out []Difference
	if n, m := len(candidates(x.A)), len(candidates(x.B)); n != m {
		out = append(out, Difference{"number of candidates under the limit", fmt.Sprint(n), fmt.Sprint(m)})
	}
	roots := p.roots() // what a limit leaves is described by trees in all versions
	faultA, faultB := part(x.A, allA, roots), part(x.B, allB, roots)
	if faultA != faultB {
		out = append(out, Difference{"limited answer against the unlimited one", faultA, faultB})
	}
	return out
}

func candidates(a Answer) []any {
	reqs, _ := at(a.JSON, "allocation_requests").([]any)
	return reqs
}

// roots returns the root of every provider, which answers before 1.29 do not contain.
func (p *Pair) roots() map[string]string {
	a := p.A.admin(http.MethodGet, "/resource_providers")
	roots := map[string]string{}
	items, _ := at(a.JSON, "resource_providers").([]any)
	for _, it := range items {
		roots[asString(at(it, "uuid"))] = asString(at(it, "root_provider_uuid"))
	}
	return roots
}

// described returns for every provider a value that those providers share with which an answer
// without a limit describes it. Since 1.29 that is its tree; before, where there are trees, every
// provider is by itself.
func (x *Exchange) described() map[string]string {
	with := x.pair.roots()
	if minor, _ := x.Request.version(); minor >= treesSince {
		return with
	}
	for uuid, root := range with {
		if uuid != root {
			for uuid := range with {
				with[uuid] = uuid
			}
			break
		}
	}
	return with
}

// treesSince is the microversion from which candidates may be of several providers of a
// tree.
const treesSince = 29

// part returns why a limited answer is not a part of the whole: each candidate must be one of all,
// and the summaries must be those described with the providers that the candidates use. It returns
// "" if it is one.
func part(some, all Answer, described map[string]string) string {
	known := map[string]int{}
	for _, c := range candidates(all) {
		known[render(c)]++
	}
	used := map[string]bool{}
	for _, c := range candidates(some) {
		if known[render(c)]--; known[render(c)] < 0 {
			return "not a candidate, or one too often: " + render(c)
		}
		for rp := range heldIn(c) {
			used[described[rp]] = true
		}
	}
	kept := asMap(at(some.JSON, "provider_summaries"))
	whole := asMap(at(all.JSON, "provider_summaries"))
	for rp, summary := range whole {
		got, in := kept[rp]
		if want := used[described[rp]]; want != in {
			return fmt.Sprintf("summary of %s: present %v, want %v", rp, in, want)
		}
		if in && render(got) != render(summary) {
			return "summary differs: " + render(got)
		}
	}
	if len(kept) > len(whole) {
		return "more summaries than without the limit"
	}
	return ""
}
