// Package capacity says how much remains of a cloud: how many more claims of a query fit and what
// runs out first ([Headroom]), how many of several kinds together ([MixHeadroom]), and whether a
// host can be emptied, with the moves in order ([Drain]). It is pure: it takes a snapshot of
// placement's providers, simulates claims on it, and sends no requests.
//
// # What is counted
//
// A query has candidates; a claim of one takes its amounts from its providers. [Headroom] searches
// for the most claims that can be made one after the other, each of a candidate on the snapshot
// after the ones before. Claims only take, so that no new candidate comes up and any order will do.
// What is to be found is thus how often to take each *way*: the amounts that a candidate takes from
// which providers. That is a packing problem in integers for each tree (pack.go): with one way in a
// tree, or ways that have no inventory in common, its answer is a division. Otherwise there is a
// number of claims that were found, and a bound by the dual of the linear program, which holds
// whether or not the program was solved; the number is exact when both are equal.
//
// Trees that use the same sharing provider are not independent. First each tree gets the claims
// that need nothing shared, then all trees in their order get what remains of the shared
// inventories (headroom.go).
package capacity

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Range is a number that is known exactly, or lies within bounds. Least was reached by simulated
// claims; more than Most are impossible.
type Range struct {
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
}

// Exact reports whether the bounds are equal.
func (r Range) Exact() bool { return r.Least == r.Most }

// An Exhausted is a kind of miss, and how many hosts have it.
type Exhausted struct {
	Kind   candidates.Constraint `json:"kind"`
	Group  string                `json:"group"`
	Class  string                `json:"resource_class,omitempty"`
	Traits []string              `json:"traits,omitempty"`
	Hosts  int64                 `json:"hosts"`
}

// exhausted counts the misses of hosts by kind, those of most hosts first.
func exhausted(hosts []Host) []Exhausted {
	all := []Exhausted{}
	for _, h := range hosts {
		for _, m := range h.Misses {
			i := slices.IndexFunc(all, func(o Exhausted) bool {
				return o.Kind == m.Kind && o.Group == m.Group && o.Class == m.Class && slices.Equal(o.Traits, m.Traits)
			})
			if i < 0 {
				i = len(all)
				all = append(all, Exhausted{Kind: m.Kind, Group: m.Group, Class: m.Class, Traits: m.Traits})
			}
			all[i].Hosts++
		}
	}
	slices.SortStableFunc(all, func(a, b Exhausted) int { return cmp.Compare(b.Hosts, a.Hosts) })
	return all
}

// unlimited is a query without what cuts its answer.
func unlimited(q placement.Query) placement.Query {
	q.Limit, q.Max, q.Sample, q.BreadthFirst, q.Flat = 0, 0, nil, false, false
	return q
}

// A ledger has the claims that were simulated on a snapshot.
type ledger struct {
	snapshot *snapshot.Snapshot // before them
	taken    snapshot.Pending
	trees    map[*snapshot.Tree]bool // that something was taken from
}

func newLedger(s *snapshot.Snapshot) *ledger {
	return &ledger{s, snapshot.NewPending(), map[*snapshot.Tree]bool{}}
}

// free is how much of an inventory remains.
func (l *ledger) free(inv inventory) int64 {
	return inv.free - l.taken.Used[inv.key]
}

// take takes n times what a way takes.
func (l *ledger) take(w way, n int64) {
	for _, u := range w {
		l.taken.Used[u.key] += n * u.amount
		l.trees[u.tree] = true
	}
}

// fits is how often a way can be taken.
func (l *ledger) fits(w way) int64 {
	n := l.free(w[0].inventory) / w[0].amount
	for _, u := range w[1:] {
		n = min(n, l.free(u.inventory)/u.amount)
	}
	return n
}

// after returns the snapshot after the claims.
func (l *ledger) after() *snapshot.Snapshot {
	var changes placement.Changes
	for t := range l.trees {
		changes.TreeChanges = append(changes.TreeChanges, snapshot.Replacement{
			From: t, To: t.After(l.taken, l.snapshot.Built()),
		})
	}
	next, _ := l.snapshot.WithChanges(changes, l.snapshot.Built()) // the changes begin with its own trees
	return next
}

// A way is what a claim takes from inventories, in the order of the candidate's uses: each
// inventory once, with an amount above zero.
type way []use

type use struct {
	inventory
	amount int64
}

// An inventory is one class of one provider, with how much of it is free in the snapshot.
type inventory struct {
	key    snapshot.InventoryKey
	free   int64
	tree   *snapshot.Tree // the provider's own
	shared bool           // trees other than its own may use it
}

// Bounds of the ways that are searched for in one tree. Trees with more are counted with those that
// were found, and searched again after the claims.
const (
	maxCandidates = 4096
	maxWays       = 64
)

// waysIn lists the different ways of a tree; whole is false when there may be more.
func waysIn(r *candidates.Result, t *snapshot.Tree) (ways []way, whole bool) {
	searched := 0
	for c := range r.In(t) {
		if searched++; searched > maxCandidates || len(ways) == maxWays {
			return ways, false
		}
		if w := wayOf(c); !slices.ContainsFunc(ways, w.equal) {
			ways = append(ways, w)
		}
	}
	return ways, true
}

// wayOf returns what a candidate takes.
func wayOf(c candidates.Candidate) way {
	var w way
	for _, u := range c.Uses {
		for _, a := range u.Amounts {
			if a.Amount <= 0 {
				continue
			}
			inv := u.Provider.Inventory(a.Class)
			w = append(w, use{inventory{
				key:  snapshot.InventoryKey{Provider: u.Provider.ID, Class: a.Class},
				free: inv.Capacity() - inv.Used, tree: u.Tree, shared: u.Provider.Shares,
			}, a.Amount})
		}
	}
	slices.SortFunc(w, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.key.Provider, b.key.Provider), cmp.Compare(a.key.Class, b.key.Class))
	})
	return w
}

// equal reports whether two ways take the same.
func (w way) equal(o way) bool {
	return slices.EqualFunc(w, o, func(a, b use) bool { return a.key == b.key && a.amount == b.amount })
}

// shares reports whether the way takes from an inventory that other trees may use.
func (w way) shares() bool { return slices.ContainsFunc(w, func(u use) bool { return u.shared }) }
