package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// Reasons finds out why a request has no candidates, by querying with fewer constraints. It is for
// placement services that do not explain queries, as upstream's; see [Request.Explained]. It
// returns a line for each group that no provider can serve, with the first constraint that leaves
// none, or one that says that no host can serve them together. Has reports whether placement has a
// candidate for a query; a fault of kind Invalid says that placement refuses it, and any other
// error is returned as it is. It is called for every class of a group, four times more for a group
// at most, and once more.
//
// Allocations may have changed since the request failed: then one line says so.
func (r Request) Reasons(has func(placement.Query) (bool, error)) ([]string, error) {
	var all []string
	for _, g := range r.Query.Groups {
		reason, err := r.reason(g, has)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			all = append(all, r.Owner(g.Suffix)+": "+reason)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	whole := r.Query
	whole.Limit = 1
	some, err := has(whole)
	if isolated, ok := Isolated(r.Query); ok && some && err == nil {
		isolated.Limit = 1
		if some, err = has(isolated); err == nil && !some {
			return []string{r.tooFewNodes()}, nil
		}
	}
	switch {
	case refused(err):
		return []string{"placement refuses the request: " + err.Error()}, nil
	case err != nil:
		return nil, err
	case some:
		return []string{candidatesNow}, nil
	case len(r.Query.Groups) == 1:
		return []string{
			r.Owner(r.Query.Groups[0].Suffix) + ": none of those hosts meets the requirements: " + r.ofRoots(),
		}, nil
	}
	return []string{"no host can serve all groups together" + r.together()}, nil
}

// candidatesNow is the reason when allocations have changed since the request failed.
const candidatesNow = "there are candidates now; there were none when the server was scheduled"

// tooFewNodes is the reason when hosts fit, but none with its cells on different NUMA nodes.
func (r Request) tooFewNodes() string {
	return fmt.Sprintf("no host has another NUMA node for each of the %d cells", r.cells)
}

// Owner says whose group a suffix of the query is: "the flavor", "the flavor, group …", "port …",
// "the flavor, PCI device 1 of alias …".
func (r Request) Owner(suffix string) string {
	if suffix == "" {
		return "the flavor"
	}
	if cell := r.ofACell(suffix); cell != "" {
		return cell
	}
	for _, p := range r.ports {
		for _, g := range p.Groups {
			switch {
			case g.ID == suffix && suffix == p.ID:
				return "port " + p.ID
			case g.ID == suffix:
				return "port " + p.ID + ", group " + suffix
			}
		}
	}
	if alias := r.pci[suffix]; alias != "" {
		_, nth, _ := strings.Cut(suffix, "-")
		n, _ := strconv.Atoi(nth) // pciDevices counts them
		return fmt.Sprintf("the flavor, PCI device %d of alias %s", n+1, alias)
	}
	return "the flavor, group " + suffix
}

// reason is why no provider can serve a group by itself, "" when one can. The root's traits are
// left out: they are those of hosts.
func (r Request) reason(g placement.RequestGroup, has func(placement.Query) (bool, error)) (string, error) {
	if len(g.Resources) == 0 { // of a cell: placement refuses it alone
		return "", nil
	}
	requested := placement.RequestGroup{Suffix: g.Suffix}
	for _, step := range r.steps(g) {
		step.add(&requested)
		some, err := has(placement.Query{Groups: []placement.RequestGroup{requested}, Limit: 1})
		switch {
		case refused(err):
			return "placement refuses it: " + err.Error(), nil
		case err != nil:
			return "", err
		case !some:
			return step.says, nil
		}
	}
	return "", nil
}

// refused says that placement does not take a question: it knows no such trait, as a
// rule.
func refused(err error) bool {
	kind, _ := fault.Of(err)
	return err != nil && kind == fault.Invalid
}

// A step is one more constraint.
type step struct {
	says string // when no provider is left
	add  func(*placement.RequestGroup)
}

// steps are the constraints of a group: its classes one by one, then all at once, and the others on
// top. Those that it does not have are left out.
func (r Request) steps(g placement.RequestGroup) []step {
	var all []step
	for _, c := range g.Resources {
		all = append(all, step{
			fmt.Sprintf("no provider has %s:%d free", c.Class, c.Amount),
			func(to *placement.RequestGroup) { to.Resources = []placement.ClassAmount{c} },
		})
	}
	if len(g.Resources) > 1 {
		all = append(all, step{
			"no provider has " + amounts(g.Resources) + " free at once",
			func(to *placement.RequestGroup) { to.Resources = g.Resources },
		})
	}
	if len(g.Required)+len(g.Forbidden) > 0 {
		all = append(all, step{
			"no provider that has " + amounts(g.Resources) + " free has the traits " + traits(g),
			func(to *placement.RequestGroup) { to.Required, to.Forbidden = g.Required, g.Forbidden },
		})
	}
	if len(g.MemberOf)+len(g.NotMemberOf) > 0 {
		all = append(all, step{
			"none of those is in the host aggregates that it may use",
			func(to *placement.RequestGroup) { to.MemberOf, to.NotMemberOf = g.MemberOf, g.NotMemberOf },
		})
	}
	if g.InTree != "" {
		all = append(all, step{
			"the requested host is none of those",
			func(to *placement.RequestGroup) { to.InTree = g.InTree },
		})
	}
	return all
}

// amounts formats classes with their amounts.
func amounts(classes []placement.ClassAmount) string {
	words := make([]string, len(classes))
	for i, c := range classes {
		words[i] = fmt.Sprintf("%s:%d", c.Class, c.Amount)
	}
	return strings.Join(words, ",")
}

// traits are those of a group, as placement takes them.
func traits(g placement.RequestGroup) string {
	words := make([]string, len(g.Required))
	for i, anyOf := range g.Required {
		words[i] = strings.Join(anyOf, "|")
	}
	return strings.Join(append(words, negated(g.Forbidden)...), ",")
}

func negated(traits []string) []string {
	words := make([]string, len(traits))
	for i, t := range traits {
		words[i] = "!" + t
	}
	return words
}

// ofRoots formats the requirements on hosts.
func (r Request) ofRoots() string {
	return strings.Join(slices.Concat(r.Query.RootRequired, negated(r.Query.RootForbidden)), ",")
}

// sets says whose groups belong together.
func (r Request) sets() string {
	switch {
	case r.cells == 0:
		return "port"
	case len(r.Query.SameSubtrees) > r.cells:
		return "port or NUMA cell"
	}
	return "NUMA cell"
}

// together formats the requirements on all groups.
func (r Request) together() string {
	var with []string
	if roots := r.ofRoots(); roots != "" {
		with = append(with, "with the host's traits "+roots)
	}
	if r.Query.Isolate {
		with = append(with, "each from another provider")
	}
	if len(r.Query.SameSubtrees) > 0 {
		with = append(with, "those of a "+r.sets()+" below one provider")
	}
	if len(with) == 0 {
		return ""
	}
	return ": " + strings.Join(with, ", ")
}
