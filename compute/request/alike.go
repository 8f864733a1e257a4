package request

import (
	"slices"
	"strconv"

	"github.com/berthcloud/berth/placement"
)

// alikeSuffix begins the suffixes that Alike gives to groups of ports.
const alikeSuffix = "_port"

// Alike returns a query of the request with suffixes for the groups of ports that do not name the
// ports, so that servers with the same flavor and ports alike have equal queries, and with the own
// suffix of each of these. The query is unchanged, and there are no suffixes, when the flavor uses
// such a name itself.
func (r Request) Alike(q placement.Query) (placement.Query, map[string]string) {
	names, own := map[string]string{}, map[string]string{}
	for _, p := range r.ports {
		for _, g := range p.Groups {
			if names[g.ID] == "" && !g.empty() {
				name := alikeSuffix + strconv.Itoa(len(names))
				names[g.ID], own[name] = name, g.ID
			}
		}
	}
	alike := q
	alike.Groups = slices.Clone(q.Groups)
	for i, g := range alike.Groups {
		if _, taken := own[g.Suffix]; taken {
			return q, nil
		}
		if name, ok := names[g.Suffix]; ok {
			alike.Groups[i].Suffix = name
		}
	}
	alike.SameSubtrees = make([][]string, len(q.SameSubtrees))
	for i, suffixes := range q.SameSubtrees {
		for _, suffix := range suffixes {
			if name, ok := names[suffix]; ok {
				suffix = name
			}
			alike.SameSubtrees[i] = append(alike.SameSubtrees[i], suffix)
		}
		slices.Sort(alike.SameSubtrees[i])
	}
	return alike, own
}
