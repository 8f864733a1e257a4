package placementtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// SearchSlow answers a query by the book: for each group all ways to satisfy
// it, then all products, then a look at each. It returns the keys of the
// distinct candidates, sorted, or the text of a fault.
func SearchSlow(w *snapshot.Snapshot, q placement.Query) ([]string, string) {
	s := slow{w: w, q: q}
	return s.search()
}

// search is SearchSlow, which notes the anchors.
func (s *slow) search() ([]string, string) {
	w, q := s.w, s.q
	for _, name := range slices.Concat(q.RootRequired, q.RootForbidden) {
		if _, ok := w.Trait(name); !ok {
			return nil, "No such trait(s): " + name + "."
		}
	}
	if !slices.ContainsFunc(s.trees(), s.suits) {
		return nil, ""
	}
	ways := make([][]way, len(q.Groups))
	for i, g := range q.Groups {
		var over bool
		var fault string
		if ways[i], over, fault = s.group(g); over || fault != "" {
			return nil, fault
		}
	}
	return s.merge(ways), ""
}

// AnchorsSlow returns the trees that have candidates by the book, none for a query with a fault.
func AnchorsSlow(w *snapshot.Snapshot, q placement.Query) map[*snapshot.Tree]bool {
	s := slow{w: w, q: q}
	s.search()
	return s.anchors
}

type slow struct {
	w       *snapshot.Snapshot
	q       placement.Query
	anchors map[*snapshot.Tree]bool // that have candidates
}

// A node is a provider with its tree.
type node struct {
	*snapshot.Provider
	tree *snapshot.Tree
}

// A grant is an amount that one provider gives.
type grant struct {
	from   node
	class  placement.ClassID
	amount int64
}

// A way satisfies one group at one anchor.
type way struct {
	anchor *snapshot.Tree
	suffix string
	grants []grant
	nodes  []node // without repetitions, as mapped
}

func (s *slow) trees() []*snapshot.Tree { return slices.Collect(s.w.Trees()) }

func (s *slow) nodes() (all []node) {
	for _, t := range s.trees() {
		for _, p := range t.Providers {
			all = append(all, node{p, t})
		}
	}
	return all
}

func (s *slow) has(p *snapshot.Provider, trait string) bool {
	id, ok := s.w.Trait(trait)
	return ok && p.HasTrait(id)
}

func (s *slow) hasOne(p *snapshot.Provider, traits []string) bool {
	return slices.ContainsFunc(traits, func(t string) bool { return s.has(p, t) })
}

func (s *slow) in(p *snapshot.Provider, aggs []placement.UUID) bool {
	return slices.ContainsFunc(aggs, func(uuid placement.UUID) bool {
		id, ok := s.w.Aggregate(uuid)
		return ok && p.InAggregate(id)
	})
}

func (s *slow) member(p *snapshot.Provider, g placement.RequestGroup) bool {
	return !slices.ContainsFunc(g.MemberOf, func(anyOf []placement.UUID) bool { return !s.in(p, anyOf) })
}

func (s *slow) suits(t *snapshot.Tree) bool {
	for _, trait := range s.q.RootRequired {
		if !s.has(t.Root(), trait) {
			return false
		}
	}
	return !s.hasOne(t.Root(), s.q.RootForbidden)
}

// shared reports whether p shares with the tree.
func shared(p node, t *snapshot.Tree) bool {
	if !p.Shares {
		return false
	}
	for _, agg := range p.Aggregates {
		if slices.ContainsFunc(t.Providers, func(m *snapshot.Provider) bool { return m.InAggregate(agg) }) {
			return true
		}
	}
	return false
}

// group returns all ways to satisfy a group. The search is over when there are
// none.
func (s *slow) group(g placement.RequestGroup) (ways []way, over bool, fault string) {
	for _, r := range g.Resources {
		if _, ok := s.w.Class(r.Class); !ok {
			return nil, false, "Invalid resource class in resources parameter: No such resource class " + r.Class + "."
		}
	}
	if !slices.ContainsFunc(s.nodes(), func(n node) bool { return s.member(n.Provider, g) }) {
		return nil, true, ""
	}
	for _, trait := range append(slices.Concat(g.Required...), g.Forbidden...) {
		if _, ok := s.w.Trait(trait); !ok {
			return nil, false, "No such trait(s): " + trait + "."
		}
	}
	var only *snapshot.Tree
	if g.InTree != "" {
		if _, only = s.w.Provider(g.InTree); only == nil {
			return nil, true, ""
		}
	}
	for _, t := range s.trees() {
		if !s.suits(t) {
			continue
		}
		if g.Suffix == "" {
			ways = append(ways, s.spread(g, t, only)...)
		} else {
			ways = append(ways, s.single(g, t, only)...)
		}
	}
	return ways, len(ways) == 0, ""
}

// single returns the ways to satisfy a suffixed group at an anchor.
func (s *slow) single(g placement.RequestGroup, anchor, only *snapshot.Tree) (ways []way) {
	if len(g.Resources) == 0 && len(g.Required) == 0 && len(g.MemberOf) == 0 {
		return nil
	}
	for _, n := range s.nodes() {
		if n.tree != anchor && !shared(n, anchor) {
			continue
		}
		if len(g.Resources) > 0 && only != nil && n.tree != only {
			continue
		}
		if !s.member(n.Provider, g) || s.in(n.Provider, g.NotMemberOf) || s.hasOne(n.Provider, g.Forbidden) {
			continue
		}
		if slices.ContainsFunc(g.Required, func(anyOf []string) bool { return !s.hasOne(n.Provider, anyOf) }) {
			continue
		}
		v := way{anchor: anchor, suffix: g.Suffix, nodes: []node{n}}
		for _, r := range g.Resources {
			if grant, ok := s.grant(n, r); ok {
				v.grants = append(v.grants, grant)
			}
		}
		if len(v.grants) == len(g.Resources) {
			ways = append(ways, v)
		}
	}
	return ways
}

func (s *slow) grant(n node, r placement.ClassAmount) (grant, bool) {
	class, _ := s.w.Class(r.Class)
	inventory := n.Inventory(class)
	return grant{n, class, r.Amount}, inventory != nil && inventory.HasFree(r.Amount)
}

// spread returns the ways to satisfy the unsuffixed group at an anchor.
func (s *slow) spread(g placement.RequestGroup, anchor, only *snapshot.Tree) (ways []way) {
	if len(g.Resources) == 0 {
		return nil
	}
	products := [][]grant{nil}
	for _, r := range g.Resources {
		var longer [][]grant
		for _, n := range s.nodes() {
			grant, ok := s.grant(n, r)
			if !ok || !s.reaches(n, g, anchor, only) {
				continue
			}
			for _, p := range products {
				longer = append(longer, append(slices.Clone(p), grant))
			}
		}
		products = longer
	}
	for _, p := range products {
		v := way{anchor: anchor, grants: p}
		for _, grant := range p {
			if !slices.Contains(v.nodes, grant.from) {
				v.nodes = append(v.nodes, grant.from)
			}
		}
		if s.traited(v, g) {
			ways = append(ways, v)
		}
	}
	return ways
}

// reaches reports whether a provider may serve the unsuffixed group there.
func (s *slow) reaches(n node, g placement.RequestGroup, anchor, only *snapshot.Tree) bool {
	if s.in(n.Provider, g.NotMemberOf) || s.in(anchor.Root(), g.NotMemberOf) {
		return false
	}
	if n.tree == anchor {
		return (only == nil || only == anchor) && (s.member(n.Provider, g) || s.member(anchor.Root(), g))
	}
	return only == nil && shared(n, anchor) && s.member(n.Provider, g)
}

func (s *slow) traited(v way, g placement.RequestGroup) bool {
	for _, n := range v.nodes {
		if s.hasOne(n.Provider, g.Forbidden) {
			return false
		}
	}
	return !slices.ContainsFunc(g.Required, func(anyOf []string) bool {
		return !slices.ContainsFunc(v.nodes, func(n node) bool { return s.hasOne(n.Provider, anyOf) })
	})
}

// merge puts a way of each group together, at each anchor.
func (s *slow) merge(ways [][]way) []string {
	found := make(map[string]bool)
	s.anchors = make(map[*snapshot.Tree]bool)
	for _, t := range s.trees() {
		products := [][]way{nil}
		for _, list := range ways {
			var longer [][]way
			for _, v := range list {
				for _, p := range products {
					if v.anchor == t {
						longer = append(longer, append(slices.Clone(p), v))
					}
				}
			}
			products = longer
		}
		for _, p := range products {
			if s.isolated(p) && s.related(p) && s.fitting(p) && !s.tangled(p) {
				found[slowKey(s.w, p)] = true
				s.anchors[t] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (s *slow) isolated(p []way) bool {
	seen := make(map[node]bool)
	for _, v := range p {
		if v.suffix == "" || !s.q.Isolate {
			continue
		}
		if seen[v.nodes[0]] {
			return false
		}
		seen[v.nodes[0]] = true
	}
	return true
}

func (s *slow) related(p []way) bool {
	for _, set := range s.q.SameSubtrees {
		var nodes []node
		for _, v := range p {
			if slices.Contains(set, v.suffix) {
				nodes = append(nodes, v.nodes...)
			}
		}
		if len(nodes) > 0 && !slices.ContainsFunc(nodes, func(top node) bool {
			return !slices.ContainsFunc(nodes, func(n node) bool { return !slices.Contains(lineage(n), top) })
		}) {
			return false
		}
	}
	return true
}

// lineage is a provider and all above it.
func lineage(n node) []node {
	line := []node{n}
	for n.Parent >= 0 {
		n.Provider = n.tree.Providers[n.Parent]
		line = append(line, n)
	}
	return line
}

type cell struct {
	from  node
	class placement.ClassID
}

func sums(p []way) map[cell]int64 {
	total := make(map[cell]int64)
	for _, v := range p {
		for _, g := range v.grants {
			total[cell{g.from, g.class}] += g.amount
		}
	}
	return total
}

func (s *slow) fitting(p []way) bool {
	for at, amount := range sums(p) {
		inventory := at.from.Inventory(at.class)
		if inventory.Used+amount > inventory.Capacity() || amount > inventory.MaxUnit {
			return false
		}
	}
	return true
}

func (s *slow) tangled(p []way) bool {
	used := make(map[*snapshot.Tree]node)
	for at := range sums(p) {
		if other, ok := used[at.from.tree]; ok && other != at.from && s.q.Flat {
			return true
		}
		used[at.from.tree] = at.from
	}
	return false
}

func slowKey(w *snapshot.Snapshot, p []way) string {
	var lines []string
	for at, amount := range sums(p) {
		lines = append(lines, fmt.Sprintf("%s %s:%d", at.from.Name, w.ClassName(at.class), amount))
	}
	for _, v := range p {
		for _, n := range v.nodes {
			lines = append(lines, fmt.Sprintf("%q=%s", v.suffix, n.Name))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// Key is a candidate as SearchSlow returns it.
func Key(w *snapshot.Snapshot, r *candidates.Result, c candidates.Candidate) string {
	var lines []string
	for _, u := range c.Uses {
		for _, a := range u.Amounts {
			lines = append(lines, fmt.Sprintf("%s %s:%d", u.Provider.Name, w.ClassName(a.Class), a.Amount))
		}
	}
	for i, suffix := range r.Groups() {
		for _, p := range c.Mappings[i] {
			lines = append(lines, fmt.Sprintf("%q=%s", suffix, p.Name))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}
