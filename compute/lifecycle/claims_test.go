package lifecycle

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/scheduler"
)

// A ledger is a placement service with the allocations of one consumer.
type ledger struct {
	compute.Placement
	consumer allocations.Consumer
	refuse   error
	writes   int
}

func (l *ledger) Allocations(context.Context, string) (allocations.Consumer, error) {
	return l.consumer, nil
}

func (l *ledger) SetAllocations(_ context.Context, _ string, c allocations.Consumer) error {
	l.writes++
	if l.refuse == nil {
		l.consumer = c
	}
	return l.refuse
}

// A claim is written for a server without allocations only, once, and says when another candidate
// should be tried.
func TestClaimReplacesNothing(t *testing.T) {
	some, others := allocations.Amounts{"rp1": {"VCPU": 1}}, allocations.Amounts{"rp2": {"VCPU": 1}}
	for name, c := range map[string]struct {
		before allocations.Amounts
		refuse error
		want   allocations.Amounts
		writes int
		err    error
	}{
		"none":          {nil, nil, some, 1, nil},
		"the same":      {some, nil, some, 0, nil},
		"others":        {others, nil, others, 0, scheduler.ErrNotTaken},
		"no capacity":   {nil, allocations.ErrCapacity, nil, 1, scheduler.ErrNotTaken},
		"unknown cause": {nil, compute.Invalid("placement.undefined_code", "an unknown class"), nil, 1, &compute.Failure{}},
	} {
		l := &ledger{consumer: allocations.Consumer{Amounts: c.before}, refuse: c.refuse}
		err := claims{placement: l}.claim(t.Context(), compute.ServerRow{ID: "vm"}, some)
		failure, final := err.(*compute.Failure)
		if _, wantFinal := c.err.(*compute.Failure); final != wantFinal || !final && !errors.Is(err, c.err) {
			t.Errorf("%s: the claim is %v (final %+v), want %v", name, err, failure, c.err)
		}
		if diff := cmp.Diff(c.want, l.consumer.Amounts); diff != "" || l.writes != c.writes {
			t.Errorf("%s: %d writes, want %d; allocations (-want +got):\n%s", name, l.writes, c.writes, diff)
		}
	}
	l := &ledger{consumer: allocations.Consumer{Amounts: others}}
	if err := (claims{placement: l}).set(t.Context(), compute.ServerRow{ID: "vm", Project: "p"},
		nil); err != nil || len(l.consumer.Amounts) > 0 || l.writes != 1 {
		t.Errorf("the allocations are %v after %d writes, %v, want none after one", l.consumer.Amounts, l.writes, err)
	}
	if err := (claims{placement: l}).set(t.Context(), compute.ServerRow{ID: "vm"}, nil); err != nil || l.writes != 1 {
		t.Errorf("what is so already is written: %d writes, %v", l.writes, err)
	}
}
