package keystone

import (
	"time"

	"github.com/berthcloud/berth/fault"
)

// An Outcome is the result of a check of a token.
type Outcome string

// The outcomes.
const (
	Accepted    Outcome = "accepted"
	Refused     Outcome = "refused"
	Unavailable Outcome = "unavailable"
)

// Metrics are functions that are called on events. Nil functions are skipped; the others may be
// called concurrently, and delay the request.
type Metrics struct {
	Validated   func(Outcome)                       // a request was checked
	Cached      func()                              // a token was found in the cache
	Queries     func(took time.Duration, o Outcome) // Keystone has answered, or not, about a token
	Unavailable func(bool)                          // Keystone became unavailable, or recovered
}

func (m *Metrics) validated(o Outcome) {
	if m.Validated != nil {
		m.Validated(o)
	}
}

func (m *Metrics) cached() {
	if m.Cached != nil {
		m.Cached()
	}
}

func (m *Metrics) queried(took time.Duration, o Outcome) {
	if m.Queries != nil {
		m.Queries(took, o)
	}
}

func (m *Metrics) unavailable(available bool) {
	if m.Unavailable != nil {
		m.Unavailable(available)
	}
}

// outcomeOf returns the outcome for an error of a check: whatever is no refusal is Unavailable.
func outcomeOf(err error) Outcome {
	switch kind, _ := fault.Of(err); {
	case err == nil:
		return Accepted
	case kind == fault.Unauthentic:
		return Refused
	}
	return Unavailable
}
