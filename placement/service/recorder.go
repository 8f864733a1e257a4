package service

import (
	"maps"
	"slices"
	"strconv"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// What transactions say in the change log of what they do, for watchers (decision 37).

// A recorder collects the events of a transaction. The zero value has none.
type recorder struct {
	snapshot *snapshot.Snapshot // the one at the beginning
	events   []placement.Event
	rows     map[int64]placement.ProviderRow // that were found, by id
	changed  []*changedInventories           // in the order in which they were first written
}

// changedInventories are the inventories of a provider before the transaction and by now.
type changedInventories struct {
	of            placement.ProviderRow
	before, after map[placement.ClassID]placement.Inventory
}

// add adds an event.
func (r *recorder) add(e placement.Event) { r.events = append(r.events, e) }

// about returns an event about a provider. Its root is read only where the snapshot does not have
// it.
func (t *tx) about(p placement.ProviderRow, what placement.EventKind) (placement.Event, error) {
	e := placement.Event{What: what, Provider: p.UUID, Name: p.Name, Root: p.UUID}
	if p.Root == p.ID {
		return e, nil
	}
	if known, tree := t.recorder.snapshot.Provider(p.UUID); known != nil && known.ID == p.ID && tree.Root().ID == p.Root {
		e.Root = tree.Root().UUID
		return e, nil
	}
	var err error
	e.Root, err = t.rootUUID(p.Root)
	return e, err
}

// sets adds events about what a provider was given and lost of what it has as a set.
func (t *tx) sets(p placement.ProviderRow, what placement.EventKind, added, removed []string) error {
	e, err := t.about(p, what)
	if err != nil {
		return err
	}
	for _, s := range removed {
		e.Subject, e.Before, e.After = s, s, ""
		t.recorder.add(e)
	}
	for _, s := range added {
		e.Subject, e.Before, e.After = s, "", s
		t.recorder.add(e)
	}
	return nil
}

// inventories returns what is noted of a provider whose inventories are about to be written. What
// it has before is in the snapshot when that is of the same generation, since each write of
// inventory raises it.
func (t *tx) inventories(provider int64) (*changedInventories, error) {
	for _, c := range t.recorder.changed {
		if c.of.ID == provider {
			return c, nil
		}
	}
	row := t.recorder.rows[provider]
	c := &changedInventories{of: row, before: make(map[placement.ClassID]placement.Inventory)}
	if p, _ := t.recorder.snapshot.Provider(row.UUID); p != nil && p.ID == row.ID && p.Generation == row.Generation {
		for i := range p.Inventories {
			c.before[p.Inventories[i].Class] = *p.Inventories[i].Inventory
		}
	} else {
		have, err := t.Inventories(provider)
		if err != nil {
			return nil, err
		}
		for _, row := range have {
			c.before[row.Class] = row.Inventory
		}
	}
	c.after = maps.Clone(c.before)
	t.recorder.changed = append(t.recorder.changed, c)
	return c, nil
}

// InsertInventory is that of the store, noted for watchers. So are the two after it.
func (t *tx) InsertInventory(provider int64, class placement.ClassID, inv placement.Inventory) error {
	c, err := t.inventories(provider)
	if err != nil {
		return err
	}
	if err := t.Writer.InsertInventory(provider, class, inv); err != nil {
		return err
	}
	c.after[class] = inv
	return nil
}

// UpdateInventory is that of the store.
func (t *tx) UpdateInventory(provider int64, class placement.ClassID, inv placement.Inventory) error {
	c, err := t.inventories(provider)
	if err != nil {
		return err
	}
	if err := t.Writer.UpdateInventory(provider, class, inv); err != nil {
		return err
	}
	c.after[class] = inv
	return nil
}

// DeleteInventories is that of the store.
func (t *tx) DeleteInventories(provider int64, classes ...placement.ClassID) (int, error) {
	c, err := t.inventories(provider)
	if err != nil {
		return 0, err
	}
	n, err := t.Writer.DeleteInventories(provider, classes...)
	if err == nil {
		for _, class := range classes {
			delete(c.after, class)
		}
	}
	return n, err
}

// collected returns all events of the transaction, those of inventories last.
func (t *tx) collected() ([]placement.Event, error) {
	for _, c := range t.recorder.changed {
		var ids []placement.ClassID
		for id, inv := range c.before {
			if after, ok := c.after[id]; !ok || after != inv {
				ids = append(ids, id)
			}
		}
		for id := range c.after {
			if _, ok := c.before[id]; !ok {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		names, err := t.namesOfClasses(ids)
		if err != nil {
			return nil, err
		}
		e, err := t.about(c.of, placement.EventInventory)
		if err != nil {
			return nil, err
		}
		for i, id := range ids {
			e.Subject, e.Before, e.After = names[i], "", ""
			if inv, ok := c.before[id]; ok {
				e.Before = inv.Text()
			}
			if inv, ok := c.after[id]; ok {
				e.After = inv.Text()
			}
			t.recorder.add(e)
		}
	}
	return t.recorder.events, nil
}

// namesOfClasses returns the name of each class. Those of custom classes are read: another service
// may have given the id to another class since the snapshot.
func (t *tx) namesOfClasses(ids []placement.ClassID) ([]string, error) {
	names := make([]string, len(ids))
	var byID map[placement.ClassID]string
	for i, id := range ids {
		if id < placement.FirstCustomClass {
			names[i] = t.recorder.snapshot.ClassName(id)
			continue
		}
		if byID == nil {
			list, err := t.Classes()
			if err != nil {
				return nil, err
			}
			byID = make(map[placement.ClassID]string, len(list))
			for _, c := range list {
				byID[placement.ClassID(c.ID)] = c.Name
			}
		}
		names[i] = byID[id]
	}
	return names, nil
}

// An amountChange is what a consumer has of a class on a provider, before and after a claim.
type amountChange struct {
	provider      *snapshot.Provider
	root          placement.UUID
	class         placement.ClassID
	name          string
	before, after int64
}

// amounts are those of one consumer. They are few, so that a list is searched.
type amounts []amountChange

// at returns the one of a provider and class.
func (a *amounts) at(p *snapshot.Provider, tree *snapshot.Tree, class placement.ClassID, name string) *amountChange {
	for i := range *a {
		if one := &(*a)[i]; one.class == class && one.provider.ID == p.ID {
			return one
		}
	}
	if *a == nil {
		*a = make(amounts, 0, 8)
	}
	*a = append(*a, amountChange{provider: p, root: tree.Root().UUID, class: class, name: name})
	return &(*a)[len(*a)-1]
}

// addHeld adds what a consumer has.
func (s *claimState) addHeld(a *amounts, who placement.ConsumerState) {
	for _, h := range who.Allocations {
		if h.ProviderUUID != "" {
			p, tree := s.provider(h.ProviderUUID)
			a.at(p, tree, h.Class, s.className(h.Class)).before += h.Used
		}
	}
}

// className returns the name of a class, or its number, where only a service that shares the store
// knows it yet.
func (s *claimState) className(id placement.ClassID) string {
	if name := s.snapshot.ClassName(id); name != "" {
		return name
	}
	return strconv.Itoa(int(id))
}

// addEvents adds the events of a consumer.
func (s *claimState) addEvents(consumer placement.UUID, a amounts) {
	s.events = slices.Grow(s.events, len(a))
	for i := range a {
		one := &a[i]
		if one.before == one.after {
			continue
		}
		s.events = append(s.events, placement.Event{
			What: placement.EventAllocation, Provider: one.provider.UUID, Name: one.provider.Name, Root: one.root,
			Consumer: consumer, Subject: one.name, Before: amountText(one.before), After: amountText(one.after),
		})
	}
}

// amountText writes an amount, 0 as nothing.
func amountText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
