package capacity

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/explain"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Part is one kind of server in a mix: in each round Weight claims of the query are made.
type Part struct {
	Name   string
	Query  placement.Query
	Weight int64
}

// A MixCount is how many more rounds of a mix fit.
type MixCount struct {
	Range
	// Hosts are the trees with claims, those with most first.
	Hosts []MixHost `json:"hosts"`
	// Stops is the name of the part that does not fit in the round after the last.
	Stops string `json:"runs_out_for"`
	// Exhausted is what hosts lack for that part then, and how many of them each, the most frequent
	// first.
	Exhausted []Exhausted `json:"runs_out"`
}

// A MixHost is a tree with the claims that are on it, by the name of the part.
type MixHost struct {
	Name   string           `json:"name"`
	UUID   string           `json:"uuid"`
	Claims map[string]int64 `json:"claims"`
}

// MixHeadroom returns how many rounds of a mix fit. Claims are made round by round, the parts in
// their order, each in the first tree in which it still fits, trees that suit the fewest parts
// first, and there the way that could be taken most often, until that does not fit any more. So
// Least is not always the best that is possible. No more rounds than Most fit: none of the parts
// alone, and no class of resources, allows more. The faults are those of Left, and one for a weight
// below 1.
func MixHeadroom(ctx context.Context, s *snapshot.Snapshot, parts []Part) (*MixCount, error) {
	// 1. The bound.
	c := &MixCount{Range: Range{0, math.MaxInt64}, Hosts: []MixHost{}, Exhausted: []Exhausted{}}
	l := newLedger(s)
	walkers := make([]*walker, len(parts))
	for i, p := range parts {
		if p.Weight < 1 {
			return nil, fault.New(fault.Invalid, "", "The weight of %s is %d; it must be 1 or more.", p.Name, p.Weight)
		}
		single, err := Headroom(ctx, s, p.Query)
		if err != nil {
			return nil, err
		}
		c.Most = min(c.Most, single.Most/p.Weight)
		parts[i].Query = unlimited(p.Query)
		w := &walker{part: &parts[i], ledger: l, claims: map[*snapshot.Tree]int64{}}
		if w.result, err = candidates.Search(s, parts[i].Query); err != nil {
			return nil, err
		}
		w.result = w.result.Until(ctx.Done())
		w.trees = slices.Collect(w.result.Anchors())
		walkers[i] = w
	}
	if len(parts) == 0 {
		return nil, fault.New(fault.Invalid, "", "The mix is empty: any number of rounds fits.")
	}
	c.Most = min(c.Most, mixBound(s, walkers))
	suits := map[*snapshot.Tree]int{} // how many parts
	for _, w := range walkers {
		for _, t := range w.trees {
			suits[t]++
		}
	}
	for _, w := range walkers {
		slices.SortStableFunc(w.trees, func(a, b *snapshot.Tree) int { return cmp.Compare(suits[a], suits[b]) })
	}
	// 2. The rounds: as many at once as fit with the ways that the parts are at, else one.
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n := together(l, walkers)
		for _, w := range walkers {
			if n > 0 {
				w.take(n * w.part.Weight)
			}
		}
		if c.Least = saturated(c.Least, n); n > 0 {
			continue
		}
		for _, w := range walkers {
			w.last = w.last[:0]
		}
		stopped := oneRound(walkers)
		if stopped == nil {
			c.Least++
			continue
		}
		// 3. What the part lacks that does not fit. The claims of the round that was begun do not
		// count.
		after := l.after()
		r, err := candidates.Search(after, stopped.part.Query)
		if err != nil {
			return nil, err
		}
		r = r.Until(ctx.Done())
		var hosts []Host
		for t := range after.Trees() {
			if !t.Root().Shares {
				hosts = append(hosts, Host{Misses: explain.NewMisses(r.Reasons(t))})
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.Stops, c.Exhausted = stopped.part.Name, exhausted(hosts)
		for _, w := range walkers {
			for _, o := range w.last {
				w.claims[o.tree] -= o.claims
			}
		}
		break
	}
	c.Most = max(c.Most, c.Least)
	c.Hosts = mixHosts(walkers)
	return c, nil
}

// A walker makes the claims of a part, from tree to tree. It never comes back to a tree: nothing
// becomes free.
type walker struct {
	part   *Part
	result *candidates.Result
	ledger *ledger
	trees  []*snapshot.Tree // that come next
	tree   *snapshot.Tree   // where it is
	ways   []way            // there
	way    way              // that it takes, nil before the first
	claims map[*snapshot.Tree]int64
	last   []taking // in the round that was begun last
}

// A taking is so many claims in a tree.
type taking struct {
	tree   *snapshot.Tree
	claims int64
}

// fits is how often the way that it is at can be taken, after moving on to one that can; 0 when
// there is none any more.
func (w *walker) fits() int64 {
	for {
		if w.way != nil {
			if n := w.ledger.fits(w.way); n > 0 {
				return n
			}
		}
		w.way = nil
		often := int64(0)
		for _, next := range w.ways {
			if n := w.ledger.fits(next); n > often {
				w.way, often = next, n
			}
		}
		if w.way != nil {
			return often
		}
		if len(w.trees) == 0 {
			return 0
		}
		w.tree, w.trees = w.trees[0], w.trees[1:]
		w.ways, _ = waysIn(w.result, w.tree)
	}
}

// take makes claims with the way that it is at.
func (w *walker) take(n int64) {
	w.ledger.take(w.way, n)
	w.claims[w.tree] += n
	w.last = append(w.last, taking{w.tree, n})
}

// together is how many rounds fit with the ways that the parts are at.
func together(l *ledger, walkers []*walker) int64 {
	sums := map[snapshot.InventoryKey]int64{}
	for _, w := range walkers {
		if w.fits() == 0 {
			return 0
		}
		for _, u := range w.way {
			sums[u.key] = saturated(sums[u.key], saturatedProduct(u.amount, w.part.Weight))
		}
	}
	rounds := int64(math.MaxInt64)
	for _, w := range walkers {
		for _, u := range w.way {
			rounds = min(rounds, l.free(u.inventory)/sums[u.key])
		}
	}
	return rounds
}

// oneRound makes the claims of a round, each in its turn, and returns the walker that could not,
// nil when all could.
func oneRound(walkers []*walker) *walker {
	for _, w := range walkers {
		for remaining := w.part.Weight; remaining > 0; {
			n := min(w.fits(), remaining)
			if n == 0 {
				return w
			}
			w.take(n)
			remaining -= n
		}
	}
	return nil
}

// mixBound is how many rounds the classes allow at most: what is free of a class in the trees where
// some part that requests it has a candidate, and on providers that share, divided by what a round
// takes.
func mixBound(s *snapshot.Snapshot, walkers []*walker) int64 {
	most := int64(math.MaxInt64)
	sums, trees := map[string]int64{}, map[string]map[*snapshot.Tree]bool{}
	for _, w := range walkers {
		for _, g := range w.part.Query.Groups {
			for _, amount := range g.Resources {
				sums[amount.Class] = saturated(sums[amount.Class], saturatedProduct(amount.Amount, w.part.Weight))
				if trees[amount.Class] == nil {
					trees[amount.Class] = map[*snapshot.Tree]bool{}
				}
				for _, t := range w.trees {
					trees[amount.Class][t] = true
				}
			}
		}
	}
	for class, sum := range sums {
		id, _ := s.Class(class)
		free := int64(0)
		add := func(p *snapshot.Provider) {
			if inv := p.Inventory(id); inv != nil {
				free = saturated(free, max(inv.Capacity()-inv.Used, 0))
			}
		}
		for t := range trees[class] {
			for _, p := range t.Providers {
				add(p)
			}
		}
		for i, word := range s.WithSharing() {
			for ; word != 0; word &= word - 1 {
				t := s.Tree(i*64 + bits.TrailingZeros64(word))
				for _, p := range t.Providers {
					if p.Shares && !trees[class][t] {
						add(p)
					}
				}
			}
		}
		if sum > 0 {
			most = min(most, free/sum)
		}
	}
	return most
}

// mixHosts lists the trees with claims.
func mixHosts(walkers []*walker) []MixHost {
	index, hosts := map[*snapshot.Tree]int{}, []MixHost{}
	for _, w := range walkers {
		for t, n := range w.claims {
			if n == 0 {
				continue
			}
			i, ok := index[t]
			if !ok {
				i = len(hosts)
				index[t] = i
				hosts = append(hosts, MixHost{t.Root().Name, string(t.Root().UUID), map[string]int64{}})
			}
			hosts[i].Claims[w.part.Name] += n
		}
	}
	sum := func(h MixHost) (n int64) {
		for _, total := range h.Claims {
			n = saturated(n, total)
		}
		return n
	}
	slices.SortFunc(hosts, func(a, b MixHost) int {
		return cmp.Or(cmp.Compare(sum(b), sum(a)), strings.Compare(a.Name, b.Name), strings.Compare(a.UUID, b.UUID))
	})
	return hosts
}

// saturatedProduct multiplies numbers that are not negative.
func saturatedProduct(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
