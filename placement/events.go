package placement

import (
	"fmt"
	"strings"
)

// An Event is one value that a transaction changed. Before and After are texts, as ops/records has
// them; the empty text is a value that is not there, so that an event with only one of them added
// or removed it.
type Event struct {
	What     EventKind
	Provider UUID   // of what belongs to a provider
	Name     string // of the provider, after the change
	Root     UUID   // of its tree, after the change
	OldRoot  UUID   // of its tree before, where that is another one
	Consumer UUID   // of an allocation
	Subject  string // the class, trait or aggregate
	Before   string
	After    string
}

// An EventKind is the kind of a value that changed.
type EventKind string

// The kinds of events. EventTrait and EventClass without a provider are those of the catalogs.
const (
	EventProvider   EventKind = "provider"   // there is one or not; the values are its name
	EventName       EventKind = "name"       // of a provider
	EventParent     EventKind = "parent"     // of a provider; the values are the parents' names
	EventInventory  EventKind = "inventory"  // of a class; the values are as Inventory.Text has them
	EventTrait      EventKind = "trait"      // the values are its name
	EventAggregate  EventKind = "aggregate"  // a membership; the values are its UUID
	EventAllocation EventKind = "allocation" // of a consumer, of a class; the values are amounts
	EventClass      EventKind = "resource_class"
)

// Change is what the event did to its value: added, removed or changed.
func (e *Event) Change() string {
	switch {
	case e.Before == "":
		return "added"
	case e.After == "":
		return "removed"
	}
	return "changed"
}

// A Cause is the request that changed something. What is not known is empty.
type Cause struct {
	RequestID string
	GlobalID  string // the id of the calling service's own request
	User      string
	Project   string
	Operation string // the method and path of the request
}

// RequestEvents are what one request changed.
type RequestEvents struct {
	Cause  Cause
	Events []Event
}

// Text describes the inventory for people: what has the default of the API is left out.
func (i Inventory) Text() string {
	parts := []string{fmt.Sprint("total ", i.Total)}
	for _, p := range []struct {
		name           string
		value, usually int64
	}{
		{"reserved", i.Reserved, 0},
		{"min_unit", i.MinUnit, 1},
		{"max_unit", i.MaxUnit, MaxInt},
		{"step_size", i.StepSize, 1},
	} {
		if p.value != p.usually {
			parts = append(parts, fmt.Sprint(p.name, " ", p.value))
		}
	}
	if i.AllocationRatio != 1 {
		parts = append(parts, fmt.Sprint("allocation_ratio ", i.AllocationRatio))
	}
	return strings.Join(parts, ", ")
}
