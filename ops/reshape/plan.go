package reshape

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Plan is what a list of moves makes of a tree.
type Plan struct {
	providertree.Plan
	Changes []Change
}

// A Change is what a provider has of a class before and after.
type Change struct {
	Provider string         `json:"provider"`
	UUID     placement.UUID `json:"uuid"`
	New      bool           `json:"new"` // the provider is created
	Class    string         `json:"resource_class"`
	Before   Amounts        `json:"before"`
	After    Amounts        `json:"after"`
}

// Amounts are the total of an inventory, 0 for none, and what is allocated of it.
type Amounts struct {
	Total     int64 `json:"total"`
	Allocated int64 `json:"allocated"`
}

type providerClass struct {
	provider placement.UUID
	class    string
}

// A piece is what one move takes of a class.
type piece struct {
	to        providerClass
	amount    int64
	consumers map[string]int64
}

// A planner has a tree and what moves have made of it so far.
type planner struct {
	root    placement.UUID
	actual  providertree.Tree
	want    []providertree.Provider // parents first
	created map[placement.UUID]bool
	pieces  map[providerClass][]piece
	plan    Plan
}

// New plans moves in the tree of a root, whose allocations were read. A move that was made already,
// because its source has nothing of the class and its target has as much, is left out. The error
// says which move cannot be made, and why.
func New(root placement.UUID, actual providertree.Tree, moves []Move) (Plan, error) {
	p := &planner{
		root: root, actual: actual, created: map[placement.UUID]bool{}, pieces: map[providerClass][]piece{},
	}
	for _, cur := range actual.Providers {
		p.want = append(p.want, cur.Clone())
	}
	for i, m := range moves {
		if err := p.add(m); err != nil {
			return Plan{}, fmt.Errorf("move %d: %w", i+1, err)
		}
	}
	var all []providertree.Move
	sources := slices.SortedFunc(maps.Keys(p.pieces), func(a, b providerClass) int {
		return cmp.Or(cmp.Compare(p.name(a.provider), p.name(b.provider)), cmp.Compare(a.class, b.class))
	})
	for _, from := range sources {
		moved, err := p.allocated(from)
		if err != nil {
			return Plan{}, err
		}
		all = append(all, moved...)
		p.inventory(from)
	}
	p.plan.Plan = providertree.Compare(actual, p.want, nil)
	p.plan.Traits, p.plan.Atomic = nil, true // they are the same
	if err := p.plan.Move(actual, all); err != nil {
		return Plan{}, err
	}
	return p.plan, p.compare()
}

// Apply carries moves out, in one request after those that create providers, and returns what it
// did. A tree that others change meanwhile is read and planned again, ten times at most. After an
// error that says that placement could not be reached it is not known whether it took place: made
// again, moves that took place are left out.
func Apply(
	ctx context.Context, c providertree.Placement, root placement.UUID, moves []Move,
) (plan Plan, err error) {
	err = providertree.Retry(ctx, func() error {
		tree, err := providertree.Read(ctx, c, root)
		if err != nil {
			return err
		}
		if plan, err = New(root, tree, moves); err != nil || len(plan.Changes) == 0 {
			return err
		}
		result := providertree.Apply(ctx, c, plan.Plan)
		return result.Err()
	})
	return plan, err
}

// at returns the index of a desired provider by its name or UUID, -1 without one.
func (p *planner) at(word string) int {
	return slices.IndexFunc(p.want, func(cur providertree.Provider) bool {
		return string(cur.ID) == strings.ToLower(word) || cur.Name == word
	})
}

func (p *planner) name(id placement.UUID) string { return p.want[p.at(string(id))].Name }

// add adds the pieces of a move, and its target when it is new.
func (p *planner) add(m Move) error {
	from := p.at(m.From)
	if from < 0 {
		return fmt.Errorf("%s is not in the tree of the host", m.From)
	}
	to := p.at(m.To)
	if to < 0 {
		id, err := guarantee.ParseUUID(string(p.root))
		if err != nil {
			return err
		}
		if _, err := guarantee.ParseUUID(m.To); err == nil {
			return fmt.Errorf("there is no provider %s in the tree of the host: a new one needs a name", m.To)
		}
		to = len(p.want)
		child := providertree.Provider{ID: placement.UUID(id.Derive(m.To).String()), Name: m.To, Parent: p.root}
		p.want, p.created[child.ID] = append(p.want, child), true
	}
	for _, class := range slices.Sorted(maps.Keys(m.Resources)) {
		source := providerClass{p.want[from].ID, class}
		target := providerClass{p.want[to].ID, cmp.Or(m.ToClass, class)}
		if source == target {
			return fmt.Errorf("%s of %s moves to itself", class, m.From)
		}
		amount := m.Resources[class]
		has, exists := p.want[from].Inventories[class]
		if !exists && p.want[to].Inventories[target.class].Total >= amount {
			continue // it was moved
		}
		for _, other := range p.pieces[source] {
			amount += other.amount
		}
		if amount > has.Total {
			return fmt.Errorf("%s has %d %s, of which %d should move; it has %s", m.From, has.Total, class, amount,
				strings.Join(slices.Sorted(maps.Keys(p.want[from].Inventories)), ", "))
		}
		p.pieces[source] = append(p.pieces[source], piece{target, m.Resources[class], m.Consumers})
	}
	return nil
}

// allocated returns the moves of what is allocated of a class of a provider.
func (p *planner) allocated(from providerClass) (all []providertree.Move, err error) {
	cur, _ := p.actual.Find(from.provider)
	pieces, remaining := p.pieces[from], cur.Inventories[from.class].Total
	for _, one := range pieces {
		remaining -= one.amount
	}
	// With one target for all of it, everybody moves.
	everybody := len(pieces) == 1 && remaining == 0 && len(pieces[0].consumers) == 0
	var unknown []string
	for _, id := range slices.Sorted(maps.Keys(p.actual.Allocations)) {
		has := p.actual.Allocations[id].Amounts[string(from.provider)][from.class]
		if has == 0 {
			continue
		}
		stays := has
		for _, one := range pieces {
			n := one.consumers[id]
			if everybody {
				n = has
			}
			if stays -= n; n > 0 {
				all = append(all, providertree.Move{
					Consumer: id, From: from.provider, FromClass: from.class, To: one.to.provider, ToClass: one.to.class, Amount: n,
				})
			}
		}
		switch {
		case stays < 0:
			return nil, fmt.Errorf("consumer %s has %d %s on %s, and %d of it should move", id, has, from.class, cur.Name,
				has-stays)
		case stays > 0 && remaining == 0:
			unknown = append(unknown, id)
		}
	}
	for _, one := range pieces {
		for id := range one.consumers {
			if p.actual.Allocations[id].Amounts[string(from.provider)][from.class] == 0 {
				return nil, fmt.Errorf("consumer %s has no %s on %s", id, from.class, cur.Name)
			}
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("all %s of %s moves to several providers, and no move says where that of %s goes: "+
			"name it in consumers", from.class, cur.Name, strings.Join(unknown, ", "))
	}
	return all, nil
}

// inventory moves the inventory of a class of a provider. What is reserved goes along with what
// does not stay, in the order of the moves.
func (p *planner) inventory(from providerClass) {
	source := &p.want[p.at(string(from.provider))]
	has := source.Inventories[from.class]
	rest := has
	for _, one := range p.pieces[from] {
		rest.Total -= one.amount
	}
	reserved := max(0, has.Reserved-rest.Total)
	rest.Reserved = has.Reserved - reserved
	if rest.Total == 0 {
		delete(source.Inventories, from.class)
	} else {
		source.Inventories[from.class] = bounded(rest, has)
	}
	for _, one := range p.pieces[from] {
		target := &p.want[p.at(string(one.to.provider))]
		if target.Inventories == nil {
			target.Inventories = map[string]placement.Inventory{}
		}
		i, exists := target.Inventories[one.to.class]
		if !exists {
			i = has
			i.Total, i.Reserved = 0, 0
		}
		here := min(reserved, one.amount)
		reserved -= here
		i.Total, i.Reserved = i.Total+one.amount, i.Reserved+here
		target.Inventories[one.to.class] = bounded(i, cmp.Or(target.Inventories[one.to.class], has))
	}
}

// bounded returns an inventory whose units are at most its total. A max_unit that was the total
// stays that, and one without effect stays as it is.
func bounded(i, before placement.Inventory) placement.Inventory {
	if before.MaxUnit == before.Total || before.MaxUnit < before.Total && i.MaxUnit > i.Total {
		i.MaxUnit = i.Total
	}
	i.MinUnit = min(i.MinUnit, i.Total)
	return i
}

// compare lists the changes. The error is that more is allocated of a class than there is then.
func (p *planner) compare() error {
	after := map[providerClass]int64{}
	for id, c := range p.actual.Allocations {
		if moved, ok := p.plan.Moved[id]; ok {
			c = moved
		}
		for provider, classes := range c.Amounts {
			for class, n := range classes {
				after[providerClass{placement.UUID(provider), class}] += n
			}
		}
	}
	for _, want := range p.want {
		cur, _ := p.actual.Find(want.ID)
		classes := map[string]bool{}
		for class := range cur.Inventories {
			classes[class] = true
		}
		for class := range want.Inventories {
			classes[class] = true
		}
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			c := Change{
				Provider: want.Name, UUID: want.ID, New: p.created[want.ID], Class: class,
				Before: Amounts{cur.Inventories[class].Total, cur.Used[class]},
				After:  Amounts{want.Inventories[class].Total, after[providerClass{want.ID, class}]},
			}
			if c.Before == c.After {
				continue
			}
			if i := want.Inventories[class]; c.After.Allocated > i.Capacity() {
				return fmt.Errorf("%s would have %d %s allocated, and can have %d: name who moves in consumers", c.Provider,
					c.After.Allocated, class, i.Capacity())
			}
			p.plan.Changes = append(p.plan.Changes, c)
		}
	}
	return nil
}
