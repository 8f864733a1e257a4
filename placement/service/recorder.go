package service

import (
	"maps"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// What transactions say in the change log of what they do, for watchers (decision 37).

// A recordingWriter is a store's Writer that records an event for each value that it changes, so
// that no operation can omit one. What claims write it does not see: claimState has the events of
// those.
type recordingWriter struct {
	placement.Writer
	snapshot *snapshot.Snapshot // the one at the beginning
	events   []placement.Event
	changed  []*changedInventories // in the order in which they were first written

	// What the transaction has read, by id: events name what the writes have the ids of only.
	found      map[int64]placement.ProviderRow // by Provider
	names      map[int64]string                // of providers, by ProvidersIn
	uuids      map[int64]placement.UUID        // so
	classes    map[placement.ClassID]string
	traits     map[placement.TraitID]string
	aggregates map[placement.AggregateID]placement.UUID
}

// changedInventories are the inventories of a provider before the transaction and by now.
type changedInventories struct {
	of            placement.ProviderRow
	before, after map[placement.ClassID]placement.Inventory
}

// newRecordingWriter returns a writer without events.
func newRecordingWriter(w placement.Writer, s *snapshot.Snapshot) *recordingWriter {
	return &recordingWriter{
		Writer: w, snapshot: s,
		found: make(map[int64]placement.ProviderRow),
	}
}

// add adds events.
func (w *recordingWriter) add(events ...placement.Event) { w.events = append(w.events, events...) }

// Provider is that of the store.
func (w *recordingWriter) Provider(uuid placement.UUID) (placement.ProviderRow, error) {
	p, err := w.Writer.Provider(uuid)
	if err == nil {
		w.found[p.ID] = p
	}
	return p, err
}

// ProvidersIn is that of the store.
func (w *recordingWriter) ProvidersIn(root int64) ([]placement.ProviderRow, error) {
	rows, err := w.Writer.ProvidersIn(root)
	if w.names == nil {
		w.names, w.uuids = make(map[int64]string, len(rows)), make(map[int64]placement.UUID, len(rows))
	}
	for _, row := range rows {
		w.names[row.ID], w.uuids[row.ID] = row.Name, row.UUID
	}
	return rows, err
}

// Classes is that of the store.
func (w *recordingWriter) Classes() ([]placement.Named, error) {
	list, err := w.Writer.Classes()
	w.classes = make(map[placement.ClassID]string, len(list))
	for _, c := range list {
		w.classes[placement.ClassID(c.ID)] = c.Name
	}
	return list, err
}

// Traits is that of the store.
func (w *recordingWriter) Traits() ([]placement.Named, error) {
	list, err := w.Writer.Traits()
	w.traits = make(map[placement.TraitID]string, len(list))
	for _, t := range list {
		w.traits[placement.TraitID(t.ID)] = t.Name
	}
	return list, err
}

// ProviderAggregates is that of the store.
func (w *recordingWriter) ProviderAggregates(provider int64) ([]placement.AggregateRow, error) {
	rows, err := w.Writer.ProviderAggregates(provider)
	if w.aggregates == nil {
		w.aggregates = make(map[placement.AggregateID]placement.UUID, len(rows))
	}
	for _, row := range rows {
		w.aggregates[row.ID] = row.UUID
	}
	return rows, err
}

// newEvent returns an event about a provider. Its root is read only where the snapshot does not
// have it.
func (w *recordingWriter) newEvent(p placement.ProviderRow, what placement.EventKind) (placement.Event, error) {
	e := placement.Event{What: what, Provider: p.UUID, Name: p.Name, Root: p.UUID}
	if p.Root == p.ID {
		return e, nil
	}
	if known, tree := w.snapshot.Provider(p.UUID); known != nil && known.ID == p.ID && tree.Root().ID == p.Root {
		e.Root = tree.Root().UUID
		return e, nil
	}
	if uuid, read := w.uuids[p.Root]; read {
		e.Root = uuid
		return e, nil
	}
	_, err := w.ProvidersIn(p.Root)
	e.Root = w.uuids[p.Root]
	return e, err
}

// addMembers adds events about what a provider was given, or lost, of what it has as a set.
func (w *recordingWriter) addMembers(provider int64, what placement.EventKind, added bool, names []string) error {
	if len(names) == 0 {
		return nil
	}
	e, err := w.newEvent(w.found[provider], what)
	if err != nil {
		return err
	}
	for _, name := range names {
		e.Subject, e.Before, e.After = name, name, ""
		if added {
			e.Before, e.After = "", name
		}
		w.add(e)
	}
	return nil
}

// InsertProvider is that of the store.
func (w *recordingWriter) InsertProvider(p placement.ProviderRow) (int64, error) {
	id, err := w.Writer.InsertProvider(p)
	if err != nil {
		return id, err
	}
	e := placement.Event{What: placement.EventProvider, Provider: p.UUID, Name: p.Name, Root: p.UUID, After: p.Name}
	if p.Parent == 0 {
		w.add(e)
		return id, nil
	}
	parent := w.found[p.Parent]
	ofParent, err := w.newEvent(parent, placement.EventProvider)
	if err != nil {
		return id, err
	}
	e.Root = ofParent.Root
	w.add(e)
	e.What, e.After = placement.EventParent, parent.Name
	w.add(e)
	return id, nil
}

// UpdateProvider is that of the store.
func (w *recordingWriter) UpdateProvider(p placement.ProviderRow) error {
	if err := w.Writer.UpdateProvider(p); err != nil {
		return err
	}
	before := w.found[p.ID]
	root := placement.Event{Root: p.UUID}
	if p.Root != p.ID {
		known := p // its root, or that of the new parent, where it is looked up
		if p.Parent != before.Parent {
			known = w.found[p.Parent]
		}
		var err error
		if root, err = w.newEvent(known, placement.EventParent); err != nil {
			return err
		}
	}
	e := placement.Event{Provider: p.UUID, Name: p.Name, Root: root.Root}
	if before.Root != p.Root {
		e.OldRoot = w.uuids[before.Root]
	}
	if before.Name != p.Name {
		e.What, e.Before, e.After = placement.EventName, before.Name, p.Name
		w.add(e)
	}
	if before.Parent != p.Parent {
		e.What, e.Before, e.After = placement.EventParent, w.names[before.Parent], w.found[p.Parent].Name
		w.add(e)
	}
	return nil
}

// DeleteProvider is that of the store.
func (w *recordingWriter) DeleteProvider(provider int64) error {
	e, err := w.newEvent(w.found[provider], placement.EventProvider)
	if err != nil {
		return err
	}
	e.Before = e.Name
	w.add(e)
	return w.Writer.DeleteProvider(provider)
}

// AddProviderTraits is that of the store, for traits that the provider does not have.
func (w *recordingWriter) AddProviderTraits(provider int64, traits ...placement.TraitID) error {
	return w.writeTraits(provider, true, traits, w.Writer.AddProviderTraits)
}

// RemoveProviderTraits is that of the store, for traits that the provider has.
func (w *recordingWriter) RemoveProviderTraits(provider int64, traits ...placement.TraitID) error {
	return w.writeTraits(provider, false, traits, w.Writer.RemoveProviderTraits)
}

func (w *recordingWriter) writeTraits(
	provider int64, added bool, traits []placement.TraitID, write func(int64, ...placement.TraitID) error,
) error {
	names, err := w.namesOfTraits(traits)
	if err != nil {
		return err
	}
	if err := w.addMembers(provider, placement.EventTrait, added, names); err != nil {
		return err
	}
	return write(provider, traits...)
}

// AddProviderAggregates is that of the store, for aggregates that the provider is not in.
func (w *recordingWriter) AddProviderAggregates(provider int64, aggregates ...placement.UUID) error {
	uuids := make([]string, len(aggregates))
	for i, aggregate := range aggregates {
		uuids[i] = string(aggregate)
	}
	if err := w.addMembers(provider, placement.EventAggregate, true, uuids); err != nil {
		return err
	}
	return w.Writer.AddProviderAggregates(provider, aggregates...)
}

// RemoveProviderAggregates is that of the store, for aggregates that ProviderAggregates returned.
func (w *recordingWriter) RemoveProviderAggregates(provider int64, aggregates ...placement.AggregateID) error {
	names := make([]string, len(aggregates))
	for i, id := range aggregates {
		names[i] = string(w.aggregates[id])
	}
	if err := w.addMembers(provider, placement.EventAggregate, false, names); err != nil {
		return err
	}
	return w.Writer.RemoveProviderAggregates(provider, aggregates...)
}

// InsertTrait is that of the store.
func (w *recordingWriter) InsertTrait(name string) (placement.TraitID, error) {
	id, err := w.Writer.InsertTrait(name)
	if err == nil {
		w.add(placement.Event{What: placement.EventTrait, Subject: name, After: name})
	}
	return id, err
}

// DeleteTrait is that of the store.
func (w *recordingWriter) DeleteTrait(id placement.TraitID) error {
	names, err := w.namesOfTraits([]placement.TraitID{id})
	if err != nil {
		return err
	}
	w.add(placement.Event{What: placement.EventTrait, Subject: names[0], Before: names[0]})
	return w.Writer.DeleteTrait(id)
}

// InsertClass is that of the store.
func (w *recordingWriter) InsertClass(id placement.ClassID, name string) error {
	err := w.Writer.InsertClass(id, name)
	if err == nil {
		w.add(placement.Event{What: placement.EventClass, Subject: name, After: name})
	}
	return err
}

// RenameClass is that of the store.
func (w *recordingWriter) RenameClass(id placement.ClassID, name string) error {
	names, err := w.namesOfClasses([]placement.ClassID{id})
	if err != nil {
		return err
	}
	if err := w.Writer.RenameClass(id, name); err != nil {
		return err
	}
	w.add(placement.Event{What: placement.EventClass, Subject: name, Before: names[0], After: name})
	return nil
}

// DeleteClass is that of the store.
func (w *recordingWriter) DeleteClass(id placement.ClassID) error {
	names, err := w.namesOfClasses([]placement.ClassID{id})
	if err != nil {
		return err
	}
	w.add(placement.Event{What: placement.EventClass, Subject: names[0], Before: names[0]})
	return w.Writer.DeleteClass(id)
}

// inventories returns what is recorded of a provider whose inventories are about to be written.
// What it has before is in the snapshot when that is of the same generation, since each write of
// inventory raises it.
func (w *recordingWriter) inventories(provider int64) (*changedInventories, error) {
	for _, c := range w.changed {
		if c.of.ID == provider {
			return c, nil
		}
	}
	row := w.found[provider]
	c := &changedInventories{of: row, before: make(map[placement.ClassID]placement.Inventory)}
	if p, _ := w.snapshot.Provider(row.UUID); p != nil && p.ID == row.ID && p.Generation == row.Generation {
		for i := range p.Inventories {
			c.before[p.Inventories[i].Class] = *p.Inventories[i].Inventory
		}
	} else {
		have, err := w.Inventories(provider)
		if err != nil {
			return nil, err
		}
		for _, row := range have {
			c.before[row.Class] = row.Inventory
		}
	}
	c.after = maps.Clone(c.before)
	w.changed = append(w.changed, c)
	return c, nil
}

// InsertInventory is that of the store, recorded for watchers. So are the two after it.
func (w *recordingWriter) InsertInventory(provider int64, class placement.ClassID, inv placement.Inventory) error {
	c, err := w.inventories(provider)
	if err != nil {
		return err
	}
	if err := w.Writer.InsertInventory(provider, class, inv); err != nil {
		return err
	}
	c.after[class] = inv
	return nil
}

// UpdateInventory is that of the store.
func (w *recordingWriter) UpdateInventory(provider int64, class placement.ClassID, inv placement.Inventory) error {
	c, err := w.inventories(provider)
	if err != nil {
		return err
	}
	if err := w.Writer.UpdateInventory(provider, class, inv); err != nil {
		return err
	}
	c.after[class] = inv
	return nil
}

// DeleteInventories is that of the store.
func (w *recordingWriter) DeleteInventories(provider int64, classes ...placement.ClassID) (int, error) {
	c, err := w.inventories(provider)
	if err != nil {
		return 0, err
	}
	n, err := w.Writer.DeleteInventories(provider, classes...)
	if err == nil {
		for _, class := range classes {
			delete(c.after, class)
		}
	}
	return n, err
}

// allEvents returns all events of the transaction, those of inventories last.
func (w *recordingWriter) allEvents() ([]placement.Event, error) {
	for _, c := range w.changed {
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
		names, err := w.namesOfClasses(ids)
		if err != nil {
			return nil, err
		}
		e, err := w.newEvent(c.of, placement.EventInventory)
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
			w.add(e)
		}
	}
	return w.events, nil
}

// namesOfClasses returns the name of each class. Those of custom classes are as the transaction has
// read them: another service may have given the id to another class since the snapshot.
func (w *recordingWriter) namesOfClasses(ids []placement.ClassID) ([]string, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		if id < placement.FirstCustomClass {
			names[i] = w.snapshot.ClassName(id)
			continue
		}
		if w.classes == nil {
			if _, err := w.Classes(); err != nil {
				return nil, err
			}
		}
		names[i] = w.classes[id]
	}
	return names, nil
}

// namesOfTraits returns the name of each trait. They are read when the snapshot lacks one.
func (w *recordingWriter) namesOfTraits(ids []placement.TraitID) ([]string, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		if names[i] = w.traits[id]; names[i] != "" {
			continue
		}
		if names[i] = w.snapshot.TraitName(id); names[i] != "" {
			continue
		}
		if w.traits == nil {
			if _, err := w.Traits(); err != nil {
				return nil, err
			}
		}
		names[i] = w.traits[id]
	}
	return names, nil
}
