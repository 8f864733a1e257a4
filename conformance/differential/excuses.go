package differential

import (
	"slices"
	"sort"
)

// An Exchange is one request and the two answers to it.
type Exchange struct {
	Request     Request // as it was sent, generations filled in
	A, B        Answer
	Differences []Difference

	pair *Pair // for excuses that have to send further requests
}

// only reports whether the answers differ in exactly these fields.
func (x *Exchange) only(fields ...string) bool {
	for _, d := range x.Differences {
		if !slices.Contains(fields, d.Field) {
			return false
		}
	}
	return true
}

// An Excuse is a known difference that is not an error of side B.
type Excuse struct {
	Name   string
	Reason string

	// Diverges means that the services have different data afterwards, so that the rest of a
	// sequence proves nothing.
	Diverges bool

	// Match reports whether the excuse explains all differences of an exchange.
	Match func(x *Exchange) bool
}

// Hits counts how often each excuse explained a difference.
type Hits map[string]int

// Names returns the excuses that were needed, in order.
func (h Hits) Names() []string {
	names := make([]string, 0, len(h))
	for n := range h {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
