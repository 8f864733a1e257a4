package placementtest

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/berthcloud/berth/placement"
)

// A Subject is what an event is about.
type Subject struct {
	What     placement.EventKind
	Provider placement.UUID
	Consumer placement.UUID
	Subject  string
}

// A State is all values that events are about.
type State map[Subject]string

// StateOf reads the state of a store.
func StateOf(r placement.Reader) (State, error) {
	s := make(State)
	classes, err := r.Classes()
	if err != nil {
		return nil, err
	}
	className := make(map[placement.ClassID]string)
	for _, c := range classes {
		className[placement.ClassID(c.ID)] = c.Name
		s[Subject{What: placement.EventClass, Subject: c.Name}] = c.Name
	}
	traits, err := r.Traits()
	if err != nil {
		return nil, err
	}
	traitName := make(map[placement.TraitID]string)
	for _, t := range traits {
		traitName[placement.TraitID(t.ID)] = t.Name
		s[Subject{What: placement.EventTrait, Subject: t.Name}] = t.Name
	}
	rows, err := r.TreeRows(nil)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]placement.ProviderRow)
	for _, p := range rows.Providers {
		byID[p.ID] = p
	}
	for _, p := range rows.Providers {
		s[Subject{What: placement.EventProvider, Provider: p.UUID}] = p.Name
		if p.Parent != 0 {
			s[Subject{What: placement.EventParent, Provider: p.UUID}] = byID[p.Parent].Name
		}
		allocations, _, err := r.AllocationsOn(p.UUID)
		if err != nil {
			return nil, err
		}
		for _, a := range allocations {
			s[Subject{placement.EventAllocation, p.UUID, a.Consumer, className[a.Class]}] = strconv.FormatInt(a.Used, 10)
		}
	}
	for _, i := range rows.Inventories {
		s[Subject{
			What: placement.EventInventory, Provider: byID[i.Provider].UUID, Subject: className[i.Class],
		}] = i.Inventory.Text()
	}
	for _, t := range rows.Traits {
		s[Subject{
			What: placement.EventTrait, Provider: byID[t.Provider].UUID, Subject: traitName[t.Trait],
		}] = traitName[t.Trait]
	}
	for _, a := range rows.Aggregates {
		s[Subject{What: placement.EventAggregate, Provider: byID[a.Provider].UUID, Subject: string(a.UUID)}] = string(a.UUID)
	}
	return s, nil
}

// Apply changes the state by an event. It fails when the event does not fit: another value was
// there before.
func (s State) Apply(e placement.Event) error {
	at := Subject{e.What, e.Provider, e.Consumer, e.Subject}
	switch e.What {
	case placement.EventName:
		at.What = placement.EventProvider
		for key, value := range s {
			if key.What == placement.EventParent && value == e.Before {
				s[key] = e.After
			}
		}
	case placement.EventClass:
		if e.Before != "" && e.After != "" {
			for key, value := range maps.Clone(s) {
				if key.Subject != e.Before || key.What == placement.EventTrait || key.What == placement.EventAggregate {
					continue
				}
				delete(s, key)
				key.Subject = e.After
				s[key] = value
			}
			at.Subject = e.After
		}
	}
	if s[at] != e.Before || e.Before == e.After {
		return fmt.Errorf("%+v does not fit: there is %q", e, s[at])
	}
	s[at] = e.After
	if e.After == "" {
		delete(s, at)
		if e.What == placement.EventProvider {
			maps.DeleteFunc(s, func(key Subject, _ string) bool { return key.Provider == e.Provider })
		}
	}
	return nil
}
