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

// A Count is how many more claims of a query fit.
type Count struct {
	Range
	// Hosts are all trees, those with most claims first, but for those of sharing providers on
	// which nothing fits.
	Hosts []Host `json:"hosts"`
	// Exhausted is what the hosts lack after the claims, and how many of them each, the most
	// frequent first.
	Exhausted []Exhausted `json:"runs_out"`
}

// A Host is a tree of providers. Least is how many of the claims are on it, and Most how many could
// be if there were none elsewhere.
type Host struct {
	Name string `json:"name"`
	UUID string `json:"uuid"`
	Range
	// Misses are what it lacks for another claim, after all of them.
	Misses []explain.Miss `json:"misses"`
}

// Headroom returns how many more of a query fit; its limits and its sample do not matter. It gives
// the fault that a search for the query gives, one for a query that requests no resources, and the
// error of ctx when that ends.
func Headroom(ctx context.Context, s *snapshot.Snapshot, q placement.Query) (*Count, error) {
	q = unlimited(q)
	if !takes(q) {
		return nil, fault.New(fault.Invalid, "", "The query requests no resources: any number of it fits.")
	}
	// 1. The ways of each tree, and how many claims fit there alone.
	r, err := candidates.Search(s, q)
	if err != nil {
		return nil, err
	}
	r = r.Until(ctx.Done())
	var rooms []*room
	hosts := map[int]*Host{} // by the index of the tree
	for t := range s.Trees() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		hosts[t.Index()] = &Host{Name: t.Root().Name, UUID: string(t.Root().UUID)}
		o := &room{host: hosts[t.Index()], tree: t}
		if o.ways, o.whole = waysIn(r, t); len(o.ways) == 0 {
			continue
		}
		if o.alone = pack(newLedger(s), o.ways); !o.whole {
			o.alone.Most = classBound(s, t, q)
		}
		o.host.Most = o.alone.Most
		rooms = append(rooms, o)
	}
	c := &Count{}
	if c.Most, err = bound(ctx, s, rooms); err != nil {
		return nil, err
	}
	// 2. The claims: again in the snapshot after them where a tree has more ways than were listed.
	after := s
	for len(rooms) > 0 {
		if after, err = fill(ctx, after, rooms); err != nil {
			return nil, err
		}
		if r, err = candidates.Search(after, q); err != nil {
			return nil, err
		}
		r = r.Until(ctx.Done())
		var again []*room
		for _, o := range rooms {
			if o.whole {
				continue
			}
			o.tree = after.Tree(o.tree.Index())
			if o.ways, o.whole = waysIn(r, o.tree); len(o.ways) > 0 {
				o.alone = pack(newLedger(after), o.ways)
				again = append(again, o)
			}
		}
		rooms = again
	}
	// 3. What each host lacks for one more.
	for t := range after.Trees() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		h := hosts[t.Index()]
		if t.Root().Shares && h.Most == 0 {
			continue // not a host: others use what it has
		}
		h.Misses = explain.NewMisses(r.Reasons(t))
		h.Most = max(h.Most, h.Least)
		c.Least = saturated(c.Least, h.Least)
		c.Hosts = append(c.Hosts, *h)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.Most = max(c.Most, c.Least)
	slices.SortFunc(c.Hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(b.Least, a.Least), strings.Compare(a.Name, b.Name), strings.Compare(a.UUID, b.UUID))
	})
	c.Exhausted = exhausted(c.Hosts)
	return c, nil
}

// takes reports whether a query requests any resources.
func takes(q placement.Query) bool {
	return slices.ContainsFunc(q.Groups, func(g placement.RequestGroup) bool {
		return slices.ContainsFunc(g.Resources, func(r placement.ClassAmount) bool { return r.Amount > 0 })
	})
}

// A room is a tree with candidates.
type room struct {
	host  *Host
	tree  *snapshot.Tree
	ways  []way
	whole bool    // all ways are there
	alone packing // when nothing is claimed elsewhere
}

// sharing reports whether a claim in the tree may leave less to others.
func (o *room) sharing() bool { return slices.ContainsFunc(o.ways, way.shares) }

// fill makes claims until no way of the rooms fits, and returns the snapshot after them.
func fill(ctx context.Context, s *snapshot.Snapshot, rooms []*room) (*snapshot.Snapshot, error) {
	l := newLedger(s)
	take := func(o *room, p packing) {
		for j, n := range p.counts {
			if n > 0 {
				l.take(p.ways[j], n)
				o.host.Least = saturated(o.host.Least, n)
			}
		}
	}
	for _, o := range rooms {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !o.sharing():
			take(o, o.alone)
		default:
			take(o, pack(l, slices.DeleteFunc(slices.Clone(o.ways), way.shares)))
		}
	}
	for _, o := range rooms {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if o.sharing() {
			take(o, pack(l, o.ways))
		}
	}
	return l.after(), nil
}

// bound returns how many claims fit in all rooms together at most. Rooms that use the same shared
// inventories are bounded together: for each of these inventories, a claim either does not use it,
// or takes its part of it.
func bound(ctx context.Context, s *snapshot.Snapshot, rooms []*room) (most int64, err error) {
	parts := map[snapshot.InventoryKey]*part{}
	for _, o := range rooms {
		if !o.sharing() {
			most = saturated(most, o.alone.Most)
			continue
		}
		joined := &part{rooms: []*room{o}, least: map[snapshot.InventoryKey]use{}}
		for _, w := range o.ways {
			for _, u := range w {
				if !u.shared {
					continue
				}
				if old := parts[u.key]; old != nil && old != joined {
					joined = joined.join(old, parts)
				}
				if least, ok := joined.least[u.key]; !ok || u.amount < least.amount {
					joined.least[u.key] = u
				}
				parts[u.key] = joined
			}
		}
	}
	done := map[*part]bool{}
	for _, p := range parts {
		if done[p] {
			continue
		}
		done[p] = true
		n, err := p.bound(ctx, s)
		if err != nil {
			return 0, err
		}
		most = saturated(most, n)
	}
	return most, nil
}

// A part is rooms that have shared inventories in common, and the use of each of these that takes
// the least.
type part struct {
	rooms []*room
	least map[snapshot.InventoryKey]use
}

// join adds the smaller part to the bigger one, in the map too, and returns that.
func (p *part) join(o *part, parts map[snapshot.InventoryKey]*part) *part {
	if len(p.rooms) > len(o.rooms) {
		p, o = o, p
	}
	o.rooms = append(o.rooms, p.rooms...)
	for key, u := range p.least {
		if least, ok := o.least[key]; !ok || u.amount < least.amount {
			o.least[key] = u
		}
		parts[key] = o
	}
	return o
}

// bound returns how many claims fit in the rooms of the part at most.
func (p *part) bound(ctx context.Context, s *snapshot.Snapshot) (int64, error) {
	var most int64
	for _, o := range p.rooms {
		most = saturated(most, o.alone.Most)
	}
	for key, u := range p.least {
		n := max(u.free, 0) / u.amount
		for _, o := range p.rooms {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			uses := func(w way) bool { return slices.ContainsFunc(w, func(u use) bool { return u.key == key }) }
			if !o.whole || !slices.ContainsFunc(o.ways, uses) {
				n = saturated(n, o.alone.Most)
			} else {
				n = saturated(n, pack(newLedger(s), slices.DeleteFunc(slices.Clone(o.ways), uses)).Most)
			}
		}
		most = min(most, n)
	}
	return most, nil
}

// classBound returns how many claims fit in a tree at most, whatever its ways are: for each class,
// what the providers of the tree and all that share have of it, divided by what a claim takes.
func classBound(s *snapshot.Snapshot, t *snapshot.Tree, q placement.Query) int64 {
	amounts := map[string][]int64{}
	for _, g := range q.Groups {
		for _, amount := range g.Resources {
			if amount.Amount > 0 {
				amounts[amount.Class] = append(amounts[amount.Class], amount.Amount)
			}
		}
	}
	most := int64(math.MaxInt64)
	for class, list := range amounts {
		id, _ := s.Class(class)
		var divisor, sum, all int64
		for _, n := range list {
			divisor, sum = gcd(n, divisor), saturated(sum, n)
		}
		add := func(p *snapshot.Provider) {
			if inv := p.Inventory(id); inv != nil {
				free := max(inv.Capacity()-inv.Used, 0)
				all = saturated(all, free-free%divisor)
			}
		}
		for _, p := range t.Providers {
			add(p)
		}
		for i, word := range s.WithSharing() {
			for ; word != 0; word &= word - 1 {
				if o := s.Tree(i*64 + bits.TrailingZeros64(word)); o != t {
					for _, p := range o.Providers {
						if p.Shares {
							add(p)
						}
					}
				}
			}
		}
		most = min(most, all/sum)
	}
	return most
}
