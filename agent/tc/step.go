package tc

import (
	"errors"
	"fmt"
)

// An Op is what a step does.
type Op string

// The ops, with the fields of Step that they use besides Device.
const (
	AddIFB      Op = "add ifb"      // make the device and bring it up
	DelIFB      Op = "del ifb"      // remove it, unless an interface is still led to it
	SetRoot     Op = "set root"     // the HTB qdisc; packets that no filter takes go to RestMinor
	DelRoot     Op = "del root"     // it, and all below it
	SetClass    Op = "set class"    // Minor, Class
	DelClass    Op = "del class"    // Minor
	SetLeaf     Op = "set leaf"     // Minor: a fair queue, or the best that there is
	SetFilter   Op = "set filter"   // Filter, in place of what has its priority
	DelFilter   Op = "del filter"   // Filter.Pref: all filters of that priority
	SetRedirect Op = "set redirect" // To: what Device receives goes through that device first
	DelRedirect Op = "del redirect"
)

// FairQueue is the kind of queue that classes should have.
const FairQueue = "fq_codel"

// A Step is one change of what the kernel does.
type Step struct {
	Op     Op
	Device string
	Minor  Minor
	Class  Class
	Filter Filter
	To     string
}

// String gives the step in one line.
func (s Step) String() string {
	text := s.Device + ": " + string(s.Op)
	switch s.Op {
	case SetClass:
		c := s.Class
		return fmt.Sprintf("%s %x:%x rate %d ceil %d burst %v/%v quantum %d",
			text, Major, uint16(s.Minor), c.Rate, c.Ceil, c.Burst, c.CeilBurst, c.Quantum)
	case DelClass, SetLeaf:
		return fmt.Sprintf("%s %x:%x", text, Major, uint16(s.Minor))
	case SetFilter:
		return fmt.Sprintf("%s %s %s to %x:%x", text, s.Filter.Address, s.Filter.MAC, Major, uint16(s.Filter.Class))
	case DelFilter:
		return fmt.Sprintf("%s pref %d", text, s.Filter.Pref)
	case SetRedirect:
		return text + " to " + s.To
	}
	return text
}

// A Kernel does traffic control. Its methods are called by one goroutine at a
// time.
type Kernel interface {
	// Observe says what is there. The caller may keep it.
	Observe() (Actual, error)

	// Do carries out one step, which may have been carried out before: then it
	// changes nothing. It wraps ErrUnsupported if the kernel cannot do such a
	// thing at all, and touches nothing that is not this package's.
	Do(Step) error
}

// ErrUnsupported is what a step fails with that neither kernel nor driver can
// do. Trying again does not help.
var ErrUnsupported = errors.New("not supported")

// A Failure is a step that did not work.
type Failure struct {
	Step Step
	Err  error
}

// Apply carries out all the steps in their order, whatever becomes of each, and
// gives those that failed.
func Apply(k Kernel, steps []Step) []Failure {
	var failed []Failure
	for _, s := range steps {
		if err := k.Do(s); err != nil {
			failed = append(failed, Failure{s, err})
		}
	}
	return failed
}

// A Report is what a round of Enforce did and could not do.
type Report struct {
	Steps    []Step
	Failed   []Failure // of Steps
	Findings []Finding // after the steps
}

// Enforce is one round: observe, plan, apply, and observe again for the report.
// It fails only if nothing can be observed. If all links are as they should be
// it changes nothing.
func Enforce(k Kernel, links []Link) (Report, error) {
	before, err := k.Observe()
	if err != nil {
		return Report{}, fmt.Errorf("observing traffic control: %w", err)
	}
	r := Report{Steps: Plan(links, before)}
	if len(r.Steps) == 0 {
		r.Findings = Check(links, before)
		return r, nil
	}
	r.Failed = Apply(k, r.Steps)
	after, err := k.Observe()
	if err != nil {
		return r, fmt.Errorf("observing traffic control: %w", err)
	}
	r.Findings = Check(links, after)
	return r, nil
}
