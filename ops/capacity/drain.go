package capacity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/explain"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Consumer is a consumer with allocations on a host that is to be emptied.
type Consumer struct {
	UUID string
	Name string // of the server, "" when it is not known
	// Query is what is requested from placement when it moves.
	Query placement.Query
	// Shared are its allocations that are not on the host, on sharing providers, by the UUID of the
	// provider. They are allocated twice until its move is confirmed, as those on the host are.
	Shared map[string]map[string]int64
	// Group is the server group that it is in, nil for none and for one of a soft policy.
	Group *Group
	// Assumed says what the query was made of when the flavor and the ports are not known.
	Assumed string
}

// A Group is a server group with a hard policy, as Nova's scheduler reads it when a server moves:
// with affinity a server may go only to hosts where members are, of which its own is one that it
// leaves; with anti-affinity to those with fewer members than Most.
type Group struct {
	UUID, Name string
	Affinity   bool // otherwise anti-affinity
	Most       int
	// Members is how many there are, by the name of the root provider. With anti-affinity one whose
	// move is under way is at both hosts.
	Members map[string]int
}

// A Plan is how to empty a host.
type Plan struct {
	Host string `json:"host"`
	UUID string `json:"uuid"`
	// Moves in their order: each is a candidate when the ones before it are made.
	Moves []Move `json:"moves"`
	// Unplaceable are the consumers for which the plan has no host.
	Unplaceable []Unplaceable `json:"stuck"`
	// Waiting holds resources on the host and cannot be moved: migrations that are under way.
	Waiting []Waiting `json:"waiting"`
	// Confirm says that the plan needs each move to be confirmed before the next begins: what a
	// server held on sharing providers is used by a later one. Otherwise all may be confirmed at
	// the end.
	Confirm bool `json:"confirm_each_move"`
	// Proven says, of a plan with Stuck, that no plan moves all: every choice of hosts was tried,
	// in this order of the consumers.
	Proven bool `json:"proven"`
}

// A Move is where a consumer goes.
type Move struct {
	Consumer string `json:"consumer_uuid"`
	Name     string `json:"name,omitempty"`
	To       string `json:"to"`
	ToUUID   string `json:"to_uuid"`
	// Allocations are amounts by the UUID of the provider and the class, and Mappings the providers
	// of each group.
	Allocations map[string]map[string]int64 `json:"allocations"`
	Mappings    map[string][]string         `json:"mappings"`
	Assumed     string                      `json:"assumed,omitempty"`
}

// An Unplaceable is a consumer for which the plan has no host.
type Unplaceable struct {
	Consumer string `json:"consumer_uuid"`
	Name     string `json:"name,omitempty"`
	Reason   string `json:"reason"`
	// FitsAlone says that there is a host for it when the others are not moved.
	FitsAlone bool   `json:"fits_alone"`
	Assumed   string `json:"assumed,omitempty"`
}

// A Waiting is a consumer on the host that cannot be moved by a request.
type Waiting struct {
	Consumer string `json:"consumer_uuid"`
	Server   string `json:"server_uuid,omitempty"`
	Reason   string `json:"reason"`
}

// Bounds of the search for a plan.
const (
	maxTargets = 256  // hosts that are considered for a consumer
	maxChoices = 8    // ways that are considered on a host
	maxTries   = 2000 // moves that are tried
)

// disabled is the trait of a host on which Nova schedules nothing.
const disabled = "COMPUTE_STATUS_DISABLED"

// Drain plans where the consumers of a host go. The host is no destination, nor are hosts with the
// trait COMPUTE_STATUS_DISABLED, those that a server's group forbids and those that unfit reports;
// unfit may be nil. Big consumers are moved first, each to the host where it leaves the least;
// where that leaves none for a later one, other choices are tried, a bounded number of them. When
// no plan for all is found, the plan moves as many as the first choices allow. It returns the error
// of ctx when that ends.
func Drain(
	ctx context.Context, s *snapshot.Snapshot, host *snapshot.Tree, consumers []Consumer, unfit func(*snapshot.Tree) bool,
) (*Plan, error) {
	p := &Plan{
		Host: host.Root().Name, UUID: string(host.Root().UUID), Moves: []Move{}, Unplaceable: []Unplaceable{},
		Waiting: []Waiting{},
	}
	rest := s.WithTrees([]int64{host.Root().ID}, placement.TreeRows{}, s.Built())
	e := &draining{ctx: ctx, unfit: unfit, consumers: biggestFirst(s, consumers)}
	for i := range e.consumers {
		h := &e.consumers[i]
		h.Query = unlimited(h.Query)
		if _, known := s.Trait(disabled); known && !slices.Contains(h.Query.RootForbidden, disabled) {
			h.Query.RootForbidden = append(slices.Clip(h.Query.RootForbidden), disabled)
		}
	}
	// 1. Who fits alone? When somebody does not, there is no plan for all, unless the moves of
	// others free something.
	fitsAlone, all := make([]bool, len(e.consumers)), true
	for i := range e.consumers {
		options, _ := e.options(rest, &e.consumers[i], 1)
		fitsAlone[i] = len(options) > 0
		all = all && fitsAlone[i]
	}
	// 2. A plan for all, at first without confirming each move.
	p.Proven = true
	frees := slices.ContainsFunc(consumers, func(h Consumer) bool { return len(h.Shared) > 0 })
	for _, confirm := range []bool{false, true} {
		if !confirm && !all || confirm && !frees {
			continue
		}
		e.confirm, e.tries, e.cut = confirm, maxTries, false
		e.taken, e.placed, e.failed = map[snapshot.InventoryKey]int64{}, map[placing]int{}, map[string]bool{}
		moves, ok := e.from(rest, 0)
		if ok {
			p.Moves, p.Confirm, p.Proven = append(p.Moves, moves...), confirm, true
			return p, ctx.Err()
		}
		p.Proven = p.Proven && !e.cut
	}
	// 3. Otherwise as many as fit.
	e.placed = map[placing]int{}
	for i := range e.consumers {
		h := &e.consumers[i]
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if options, _ := e.options(rest, h, maxTargets); len(options) > 0 {
			p.Moves = append(p.Moves, options[0].Move)
			e.placed[placing{h.Group, options[0].To}]++
			rest = e.after(rest, h, options[0])
			continue
		}
		ungrouped := *h
		ungrouped.Group = nil
		reason := ""
		if options, _ := e.options(rest, &ungrouped, 1); len(options) > 0 {
			reason = h.Group.reason(p.Host)
		} else if explanation, err := explain.Count(ctx, rest, h.Query); err != nil {
			reason = err.Error()
		} else {
			reason = explanation.Reason()
		}
		p.Unplaceable = append(p.Unplaceable, Unplaceable{h.UUID, h.Name, reason, fitsAlone[i], h.Assumed})
	}
	p.Confirm = e.confirm
	return p, ctx.Err()
}

// reason says why the group lets a server go to none of the hosts that fit otherwise. The host is
// the one that is emptied.
func (g *Group) reason(host string) string {
	switch {
	case !g.Affinity:
		return fmt.Sprintf("its server group %s (anti-affinity, %d for each host at most) has as many on each host that "+
			"fits, or gets them by the moves above", g.Name, g.Most)
	case len(g.Members) == 1 && g.Members[host] > 0:
		return fmt.Sprintf(
			"all servers of its server group %s (affinity) are on %s, and Nova moves one only to a host where another one is",
			g.Name, host)
	default:
		return fmt.Sprintf(
			"no host that fits has another server of its server group %s (affinity), and Nova moves one only to such a host",
			g.Name)
	}
}

// biggestFirst sorts consumers by the part that they request of what a provider has on average, of
// the class in which this is most.
func biggestFirst(s *snapshot.Snapshot, consumers []Consumer) []Consumer {
	average := map[string]float64{}
	for _, t := range s.Totals() {
		average[s.ClassName(t.Class)] = max(float64(t.Capacity)/float64(t.Providers), 1)
	}
	size := func(h Consumer) (most float64) {
		sums := map[string]int64{}
		for _, g := range h.Query.Groups {
			for _, r := range g.Resources {
				sums[r.Class] += r.Amount
			}
		}
		for class, n := range sums {
			most = max(most, float64(n)/max(average[class], 1))
		}
		return most
	}
	sorted := slices.Clone(consumers)
	slices.SortStableFunc(sorted, func(a, b Consumer) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), strings.Compare(a.UUID, b.UUID))
	})
	return sorted
}

// A draining is the search for a plan: depth first, a consumer after the other.
type draining struct {
	ctx       context.Context
	consumers []Consumer
	unfit     func(*snapshot.Tree) bool
	confirm   bool // each move is confirmed before the next

	tries  int
	cut    bool                            // not everything was tried
	taken  map[snapshot.InventoryKey]int64 // by the moves so far
	placed map[placing]int                 // servers of groups, by the moves so far
	failed map[string]bool                 // what was taken and placed, and by how many, where the rest had no plan
}

// A placing is the move of a server of a group to a host, by the name of its root provider.
type placing struct {
	group *Group // nil for servers without one
	host  string
}

// allows reports whether the group of a server lets it go to a host.
func (e *draining) allows(h *Consumer, host string) bool {
	g := h.Group
	switch {
	case g == nil:
		return true
	case g.Affinity:
		return g.Members[host] > 0
	}
	return g.Members[host]+e.placed[placing{g, host}] < g.Most
}

// An option is a move with what it takes.
type option struct {
	Move
	way   way
	tight float64 // the least part of an inventory that it leaves free
}

// from returns the moves of the consumers from k on.
func (e *draining) from(s *snapshot.Snapshot, k int) (moves []Move, ok bool) {
	if k == len(e.consumers) {
		return nil, true
	}
	key := e.position(k)
	if e.failed[key] {
		return nil, false
	}
	h := &e.consumers[k]
	options, cut := e.options(s, h, maxTargets)
	e.cut = e.cut || cut
	for _, o := range options {
		if e.tries--; e.tries < 0 || e.ctx.Err() != nil {
			e.cut = true
			return nil, false
		}
		for _, u := range o.way {
			e.taken[u.key] += u.amount
		}
		e.placed[placing{h.Group, o.To}]++
		moves, ok := e.from(e.after(s, h, o), k+1)
		for _, u := range o.way {
			e.taken[u.key] -= u.amount
		}
		e.placed[placing{h.Group, o.To}]--
		if ok {
			return append([]Move{o.Move}, moves...), true
		}
	}
	e.failed[key] = true
	return nil, false
}

// position names what the search depends on at consumer k.
func (e *draining) position(k int) string {
	keys := slices.SortedFunc(maps.Keys(e.taken), func(a, b snapshot.InventoryKey) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Class, b.Class))
	})
	text := fmt.Sprint(k)
	for _, key := range keys {
		if n := e.taken[key]; n != 0 {
			text += fmt.Sprintf(" %d/%d=%d", key.Provider, key.Class, n)
		}
	}
	var groups []string // only what one of the rest reads
	for key, n := range e.placed {
		if n != 0 && key.group != nil && !key.group.Affinity &&
			slices.ContainsFunc(e.consumers[k:], func(h Consumer) bool { return h.Group == key.group }) {
			groups = append(groups, fmt.Sprintf(" %s/%q=%d", key.group.UUID, key.host, n))
		}
	}
	slices.Sort(groups)
	return text + strings.Join(groups, "")
}

// options lists where a consumer may go, on so many hosts at most, the tightest first; cut is true
// when there may be more. A query that placement refuses has none.
func (e *draining) options(s *snapshot.Snapshot, h *Consumer, hosts int) (list []option, cut bool) {
	r, err := candidates.Search(s, h.Query)
	if err != nil {
		return nil, false
	}
	r = r.Until(e.ctx.Done())
	for t := range r.Anchors() {
		if e.unfit != nil && e.unfit(t) || !e.allows(h, t.Root().Name) {
			continue
		}
		if hosts--; hosts < 0 {
			cut = true
			break
		}
		before := len(list)
		for c := range r.In(t) {
			w := wayOf(c)
			if slices.ContainsFunc(list[before:], func(o option) bool { return o.way.equal(w) }) {
				continue
			}
			if len(list)-before == maxChoices {
				cut = true
				break
			}
			list = append(list, newOption(s, r, h, c, w))
		}
	}
	slices.SortStableFunc(list, func(a, b option) int { return cmp.Compare(a.tight, b.tight) })
	return list, cut
}

// newOption returns the move of a consumer to a candidate.
func newOption(s *snapshot.Snapshot, r *candidates.Result, h *Consumer, c candidates.Candidate, w way) option {
	root := c.Anchor.Root()
	o := option{way: w, tight: 1, Move: Move{
		Consumer: h.UUID, Name: h.Name, To: root.Name, ToUUID: string(root.UUID), Assumed: h.Assumed,
		Allocations: map[string]map[string]int64{}, Mappings: map[string][]string{},
	}}
	for _, u := range c.Uses {
		amounts := map[string]int64{}
		for _, a := range u.Amounts {
			amounts[s.ClassName(a.Class)] = a.Amount
			inv := u.Provider.Inventory(a.Class)
			o.tight = min(o.tight, float64(inv.Capacity()-inv.Used-a.Amount)/float64(max(inv.Capacity(), 1)))
		}
		o.Allocations[string(u.Provider.UUID)] = amounts
	}
	for i, suffix := range r.Groups() {
		for _, p := range c.Mappings[i] {
			o.Mappings[suffix] = append(o.Mappings[suffix], string(p.UUID))
		}
	}
	return o
}

// after returns the snapshot after a move.
func (e *draining) after(s *snapshot.Snapshot, h *Consumer, o option) *snapshot.Snapshot {
	l := newLedger(s)
	l.take(o.way, 1)
	if e.confirm {
		for uuid, amounts := range h.Shared {
			p, t := s.Provider(placement.UUID(uuid))
			if p == nil {
				continue // of the host, which is omitted
			}
			for name, n := range amounts {
				if class, ok := s.Class(name); ok && p.Inventory(class) != nil {
					l.taken.Used[snapshot.InventoryKey{Provider: p.ID, Class: class}] -= n
					l.trees[t] = true
				}
			}
		}
	}
	return l.after()
}
