package placement

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
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

// An Entry is a transaction in the change log, as far as its events go.
type Entry struct {
	Writer, Seq int64
	Time        time.Time // of the database, just before the commit
	Requests    []RequestEvents
	// Unlisted says that the transaction changed more than an entry lists, or was written by a program
	// that lists nothing.
	Unlisted bool
}

// Len is how many events the entry has.
func (e *Entry) Len() (n int) {
	for _, d := range e.Requests {
		n += len(d.Events)
	}
	return n
}

// A Mark is a position in the change log: the number of the newest entry that is known of each
// writer. It means the same at every store on the database. Nil is no position.
type Mark map[int64]int64

// Has reports whether the mark has an entry of that number behind it.
func (m Mark) Has(writer, seq int64) bool { return seq <= m[writer] }

// Reaches reports whether the mark has all that is behind another one.
func (m Mark) Reaches(other Mark) bool {
	for writer, seq := range other {
		if !m.Has(writer, seq) {
			return false
		}
	}
	return true
}

// String writes the mark as ParseMark reads it: writers and numbers to the base of 36.
func (m Mark) String() string {
	var b strings.Builder
	for i, writer := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte('-')
		}
		b.WriteString(strconv.FormatInt(writer, 36))
		b.WriteByte('.')
		b.WriteString(strconv.FormatInt(m[writer], 36))
	}
	return b.String()
}

// maxMarkWriters bounds a mark that a client sends. A writer that ended is kept for an hour.
const maxMarkWriters = 4096

// ParseMark reads a mark. The empty text is the mark of a log without writers.
func ParseMark(text string) (Mark, error) {
	m := make(Mark)
	if text == "" {
		return m, nil
	}
	for word := range strings.SplitSeq(text, "-") {
		writer, seq, _ := strings.Cut(word, ".")
		w, err := strconv.ParseInt(writer, 36, 64)
		n, err2 := strconv.ParseInt(seq, 36, 64)
		if err := cmp.Or(err, err2); err != nil || w <= 0 || n < 0 || len(m) == maxMarkWriters {
			return nil, errors.New("not a position in the change log")
		}
		m[w] = n
	}
	return m, nil
}

// A LogPage is a part of the change log.
type LogPage struct {
	Entries []Entry
	// At is the position behind the entries.
	At Mark
	// More says that there are more entries already.
	More bool
	// Lost says that entries before these are not in the log any more.
	Lost bool
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
