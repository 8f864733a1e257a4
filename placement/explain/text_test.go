package explain

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
)

// A reason is one line in the words of the whole text: each constraint with what it drops is a line
// there.
func TestReason(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("a").Inventory("VCPU", 4)
	b.Provider("b").Inventory("MEMORY_MB", 4)
	b.Trait("CUSTOM_FAST")
	vcpu := placement.ClassAmount{Class: "VCPU", Amount: 1}
	for name, c := range map[string]struct {
		group      placement.RequestGroup
		constraint candidates.Constraint
		want       string
	}{
		"capacity": {
			placement.RequestGroup{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 5}}},
			candidates.NoCapacity,
			"VCPU: no host remains; 1 host (1 provider) dropped: no inventory of VCPU; " +
				"1 host (1 provider) dropped: no free capacity for VCPU:5",
		},
		"a group with suffix": {
			placement.RequestGroup{
				Suffix: "_p", Resources: []placement.ClassAmount{vcpu}, Required: [][]string{{"CUSTOM_FAST"}},
			},
			candidates.RequiredTraits,
			"group _p: no host remains; 1 host (1 provider) dropped: no inventory of VCPU; " +
				"1 host (1 provider) dropped: required traits CUSTOM_FAST",
		},
		"different trees": {
			placement.RequestGroup{Resources: []placement.ClassAmount{vcpu, {Class: "MEMORY_MB", Amount: 1}}},
			candidates.OneTree,
			"2 hosts with 2 providers; VCPU: 1 host (1 provider) remaining; " +
				"1 host (1 provider) dropped: no inventory of VCPU; " +
				"MEMORY_MB: 1 host (1 provider) remaining; 1 host (1 provider) dropped: no inventory of MEMORY_MB; " +
				"no host can serve each group by itself, and 0 all of them together",
		},
		"traits between them": {
			placement.RequestGroup{Resources: []placement.ClassAmount{vcpu}, Required: [][]string{{"CUSTOM_FAST"}}},
			candidates.RequiredTraits,
			"2 hosts with 2 providers; VCPU: 1 host (1 provider) remaining; " +
				"1 host (1 provider) dropped: no inventory of VCPU; " +
				"1 host can serve each group by itself, 1 of which lack a required trait, and 0 all of them together",
		},
	} {
		q := placement.Query{Groups: []placement.RequestGroup{c.group}}
		e, err := Count(t.Context(), b.Snapshot(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Reason(); got != c.want || e.Constraint != c.constraint {
			t.Errorf("%s: the reason is %s, %q, want %s, %q", name, e.Constraint, got, c.constraint, c.want)
		}
		whole, err := Explain(t.Context(), b.Snapshot(), q, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := whole.Write(&text, nil); err != nil {
			t.Fatal(err)
		}
		for _, g := range e.Groups {
			for _, d := range g.Drops {
				if !strings.Contains(text.String(), "\n  "+d.String()+"\n") {
					t.Errorf("%s: the text has no line %q:\n%s", name, d, text.String())
				}
			}
		}
	}
}

// Every answer without candidates has a reason, whose counts are those of the whole explanation.
func TestCountIsPartOfExplain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), question(rt, b)
		whole, err := Explain(t.Context(), w, q, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		e, err := Count(t.Context(), w, q)
		if (err != nil) != (whole.Refused != "") {
			rt.Fatalf("refused with %v, and explained as %q", err, whole.Refused)
		}
		if err != nil || whole.Fitting > 0 {
			return
		}
		if e.Constraint != whole.Constraint || e.Reason() != whole.Reason() || e.Reason() == "" {
			rt.Errorf("%s: %s, and in the whole explanation %s: %s", e.Constraint, e.Reason(), whole.Constraint, whole.Reason())
		}
	})
}

// What is counted until the context ends is returned.
func TestCountEndsWithItsContext(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("a").Inventory("VCPU", 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, err := Count(ctx, b.Snapshot(), placement.Query{
		Groups: []placement.RequestGroup{{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 5}}}},
	})
	if err != nil || e.Constraint != candidates.UnknownConstraint || e.Providers != 1 {
		t.Errorf("Count = %+v, %v", e, err)
	}
}
