package candidates

import (
	"fmt"
	"strings"

	"github.com/berthcloud/berth/placement"
)

// An Explanation says where the candidates of a query went.
type Explanation struct {
	Providers, Trees int
	// BadRoots is how many trees root_required drops.
	BadRoots int
	// Parts are what single providers must serve: each suffixed group, and
	// each class of the unsuffixed one.
	Parts []PartExplanation
	// Alone is how many trees are left in which every part can be served,
	// each by itself, root_required included.
	Alone int
	// Untraited is how many of those lack a trait that the unsuffixed group
	// requires of its providers between them.
	Untraited int
	// Together is how many of the others are left once the parts are
	// combined: within capacity and max_unit, with traits, isolation and
	// subtrees.
	Together int
}

// A PartExplanation says how many providers could serve a part, and what keeps
// the others.
type PartExplanation struct {
	Suffix string
	// Class is the one of the unsuffixed group that this is about, empty for
	// a suffixed group.
	Class string
	// Drops are the providers that each constraint drops of those that the
	// ones before it leave. Constraints that drop nobody are left out.
	Drops []Drop
	// Left is how many providers could serve the part, each at home.
	Left int
}

// A Drop is how many providers a constraint rules out.
type Drop struct {
	Constraint string
	Providers  int
}

// Explain counts, for a query, what every constraint drops. It gives the faults
// that Search gives. It looks at every provider of the world, whatever the
// query's limits, and is meant for people who wonder why.
func Explain(w *placement.World, q placement.Query) (Explanation, error) {
	r, err := Search(w, q)
	if err != nil {
		return Explanation{}, err
	}
	p := r.plan.known()
	e := Explanation{Providers: w.Len(), Trees: w.TreeCount()}
	for t := range w.Trees() {
		if !p.suits(t.Root()) {
			e.BadRoots++
		}
	}
	for k := range p.parts {
		e.Parts = append(e.Parts, p.explainPart(k))
	}
	if !p.impossible {
		p.explainTrees(&e)
	}
	return e, nil
}

// known returns the plan, without the groups that the search did not come to
// because it was over before: those may name what does not exist.
func (p *plan) known() *plan {
	q := p.query
	for p.unknown && len(q.Groups) > 0 {
		q.Groups = q.Groups[:len(q.Groups)-1]
		p = compile(p.w, q)
	}
	return p
}

// explainPart sends all providers through the constraints of one part.
func (p *plan) explainPart(k int) PartExplanation {
	t := &p.parts[k]
	e := PartExplanation{Suffix: p.groups[t.group]}
	if !t.granular {
		e.Class = p.w.ClassName(t.needs[0].class)
	}
	f := newFunnel(p, t)
	for tree := range p.w.Trees() {
		spanned, repelled := t.spans(tree.Root()), t.repels(tree.Root())
		for _, provider := range tree.Providers {
			v, need := t.judge(provider, spanned)
			if v == fits && repelled {
				v = isMember
			}
			f.count(v, need, t.within(tree.Slot()))
		}
	}
	e.Drops, e.Left = f.drops()
	return e
}

// A funnel counts what each constraint drops, in the order of the constraints.
type funnel struct {
	names  []string
	counts []int
	needs  int
}

func newFunnel(p *plan, t *part) *funnel {
	f := &funnel{needs: len(t.needs)}
	for _, n := range t.needs {
		class := p.w.ClassName(n.class)
		f.names = append(f.names, "no inventory of "+class, fmt.Sprintf("no room for %s:%d", class, n.amount))
	}
	f.names = append(f.names, "required traits", "forbidden traits", "member_of", "forbidden aggregates", "in_tree", "")
	f.counts = make([]int, len(f.names))
	return f
}

// count puts a provider where it was dropped, or at the end.
func (f *funnel) count(v verdict, need int, within bool) {
	last := len(f.counts) - 1
	switch {
	case v == fits && within:
		f.counts[last]++
	case v == fits:
		f.counts[last-1]++
	case v <= noRoom:
		f.counts[2*need+int(v-noInventory)]++
	default:
		f.counts[2*f.needs+int(v-lacksTrait)]++
	}
}

func (f *funnel) drops() ([]Drop, int) {
	var drops []Drop
	last := len(f.counts) - 1
	for i, n := range f.counts[:last] {
		if n > 0 {
			drops = append(drops, Drop{f.names[i], n})
		}
	}
	return drops, f.counts[last]
}

// explainTrees counts the trees that can serve all parts.
func (p *plan) explainTrees(e *Explanation) {
	c := newCombiner(p)
	defer c.release()
	for t := range p.w.Trees() {
		switch {
		case !c.gather(t.Slot()):
			continue
		case !c.prepare():
			e.Untraited++
		case c.next():
			e.Together++
		}
		e.Alone++
	}
}

// String tells the explanation to people, a line for each step.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d providers in %d trees\n", e.Providers, e.Trees)
	if e.BadRoots > 0 {
		fmt.Fprintf(&b, "root_required drops %d trees\n", e.BadRoots)
	}
	for _, part := range e.Parts {
		b.WriteString(part.String())
	}
	fmt.Fprintf(&b, "%d trees have a provider for every group\n", e.Alone)
	if e.Untraited > 0 {
		fmt.Fprintf(&b, "%d of them lack required traits\n", e.Untraited)
	}
	fmt.Fprintf(&b, "%d trees can serve all groups together\n", e.Together)
	return b.String()
}

// String tells the explanation of a part in one line.
func (e PartExplanation) String() string {
	var b strings.Builder
	switch {
	case e.Class != "":
		fmt.Fprintf(&b, "%s: ", e.Class)
	default:
		fmt.Fprintf(&b, "group %s: ", e.Suffix)
	}
	for _, d := range e.Drops {
		fmt.Fprintf(&b, "%s drops %d, ", d.Constraint, d.Providers)
	}
	fmt.Fprintf(&b, "%d left\n", e.Left)
	return b.String()
}
