package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/explain"
)

// Explained says why a request has no candidates, from placement's explanation of its query: a line
// for each group, or class of the flavor, that no host remains for, or one that says that no host
// can serve all of them together; and then the change that would help most. An explanation for a
// host is for a server that leaves it: the lines are about the other hosts, and say so.
//
// Reexplain is called when hosts fit, for the form of the query that keeps NUMA cells on nodes of
// their own, if it has one. It returns nil where that is not explained.
func (r Request) Explained(
	e *explain.Explanation, reexplain func(placement.Query) *explain.Explanation,
) []string {
	lines, others, counted := []string{}, "", ""
	if e.Host != "" {
		others, counted = "other hosts: ", "with the host that the server leaves, "
	}
	for _, reason := range r.explained(e, reexplain) {
		lines = append(lines, others+reason)
	}
	if advice := e.Advice(r.Owner); advice != "" {
		lines = append(lines, counted+advice)
	}
	return lines
}

// explained is Explained without what would help.
func (r Request) explained(
	e *explain.Explanation, reexplain func(placement.Query) *explain.Explanation,
) (reasons []string) {
	if e.Refused != "" {
		return []string{"placement refuses the request: " + e.Refused}
	}
	if fitsElsewhere(e) {
		if isolated, ok := Isolated(r.Query); ok {
			if apart := reexplain(isolated); apart != nil && !fitsElsewhere(apart) {
				return []string{r.tooFewNodes()}
			}
		}
		return []string{candidatesNow}
	}
	if e.Providers == 0 {
		return []string{"placement has no resource providers"}
	}
	for _, g := range e.Groups {
		if servesGroup(e, g) {
			g.Hosts-- // the one that the server leaves
		}
		if g.Hosts == 0 {
			reasons = append(reasons, g.Reason(r.Owner))
		}
	}
	switch {
	case len(reasons) > 0:
		return reasons
	case len(r.Query.Groups) > 1:
		return []string{"no host can serve all groups together" + r.together()}
	}
	g := r.Query.Groups[0]
	switch e.Constraint {
	case candidates.RootRequired:
		return []string{r.Owner(g.Suffix) + ": none of those hosts meets the requirements: " + r.ofRoots()}
	case candidates.RequiredTraits:
		return []string{fmt.Sprintf("%s: no host that has %s free has the traits %s",
			r.Owner(g.Suffix), amounts(g.Resources), traits(g))}
	}
	return []string{fmt.Sprintf("%s: no host has %s free at once%s",
		r.Owner(g.Suffix), amounts(g.Resources), strings.TrimPrefix(r.together(), ":"))}
}

// fitsElsewhere reports whether another host fits than the one that an explanation is for.
func fitsElsewhere(e *explain.Explanation) bool {
	return e.Fitting > 1 || e.Fitting == 1 && !e.FitsHost()
}

// servesGroup reports whether the host that an explanation is for can serve a group by itself.
func servesGroup(e *explain.Explanation, g explain.Group) bool {
	return e.Host != "" && !slices.ContainsFunc(e.Near, func(h explain.Host) bool {
		return slices.ContainsFunc(h.Misses, func(m explain.Miss) bool {
			return m.Group == g.Suffix && (g.Class == "" || m.Class == g.Class)
		})
	})
}
