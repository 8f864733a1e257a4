package differential

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Faults lists where upstream is wrong in all its releases, each with what is
// wrong. Berth is not asked to repeat these.
func Faults() []Excuse {
	return []Excuse{
		{
			Name: "amounts pile up",
			Reason: "When one resource class is asked for by several groups, the search adds up the amounts of merged groups in " +
				"objects that other candidates share, unless group_policy is none. The candidates then ask for too much, and " +
				"some are dropped because of that.",
			Match: piledUp,
		},
		{
			Name: "consumers without allocations",
			Reason: "A request that is refused because of an unknown provider or class, and one that sets no allocations for a new " +
				"consumer, leave the consumer behind with generation 0, though it holds nothing and no request shows it.",
			Diverges: true,
			Match: func(x *Exchange) bool {
				return orphanConflict.MatchString(x.A.detail()) || orphanUse.MatchString(x.B.detail())
			},
		},
		{
			Name: "half characters",
			Reason: "Python's JSON has strings with half a surrogate pair, which no UTF-8 can hold: upstream accepts them and fails " +
				"later, with 500 where a database is involved.",
			Match: func(x *Exchange) bool {
				return strings.Contains(x.Request.Body, `\ud800`) && x.A.Status >= 400 && x.B.Status == http.StatusBadRequest &&
					strings.Contains(x.B.detail(), "Malformed JSON: ")
			},
		},
		broken("inventories that are no objects",
			"The schema of a set of inventories says nothing about names that no class can have, so what they hold is not checked.",
			`is not iterable|cannot convert dictionary update sequence element|must be a mapping|object is not a mapping`),
		broken("queries that are not UTF-8",
			"Most handlers expect what a query decodes to to be text, the one for usages looks before it is checked.",
			`codec can't decode byte`),
		broken("a child beside a sharing provider",
			"Before 1.29, the search looks up summaries of trees that it did not load.",
			`\n\n \d+  $`),
	}
}

// broken excuses an answer other than 500 where upstream fails with a known
// text.
func broken(name, reason, text string) Excuse {
	re := regexp.MustCompile(text)
	return Excuse{
		Name: name, Reason: reason,
		Match: func(x *Exchange) bool {
			return x.A.Status == http.StatusInternalServerError && re.MatchString(x.A.detail()) &&
				(x.B.Status < 500 || re.MatchString(x.B.detail()))
		},
	}
}

// A consumer's generation starts at 1 for all that a client can see.
var (
	orphanConflict = regexp.MustCompile(`consumer generation conflict - expected 0 but got `)
	orphanUse      = regexp.MustCompile(`consumer generation conflict - expected null but got 0`)
)

// piledUp tells that B answers what A would if it had not mixed up the
// amounts: A's candidates without a policy, less those that are not isolated.
func piledUp(x *Exchange) bool {
	values, err := url.ParseQuery(x.Request.query())
	if err != nil || x.Request.path() != "/allocation_candidates" || values.Get("group_policy") == "none" || !sharedClass(values) {
		return false
	}
	if x.A.Status != http.StatusOK || x.B.Status != http.StatusOK {
		return false
	}
	_, strict := x.pair.ask(unlimited(x.Request))
	loose, loose2 := x.pair.ask(withoutPolicy(unlimited(x.Request)))
	if len(Compare(loose, loose2)) > 0 || part(strict, loose, x.pair.roots()) != "" {
		return false
	}
	minor, _ := x.Request.version()
	return minor < mappingsSince || len(candidates(strict)) == len(isolated(loose, values.Get("group_policy")))
}

// mappingsSince is the microversion from which candidates tell which provider
// serves which group.
const mappingsSince = 34

// sharedClass tells whether a class is asked for in more than one group.
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

// apart tells whether no two groups with a suffix use the same provider.
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
