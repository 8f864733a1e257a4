package heal_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
)

// heals repairs a cloud until a plan is empty, and reports what is wrong: a request that is
// refused, more than two runs, or a finding that is neither repaired nor in the last plan.
func heals(t *testing.T, fc *fakeCloud) {
	t.Helper()
	for run := 1; ; run++ {
		before := fc.read()
		plan := heal.New(index.New(before), all)
		for _, r := range fc.apply(plan, -1) {
			if r.Outcome != heal.Done {
				t.Errorf("run %d, step %d: %s: %s (%s %s)", run, r.Step, r.Outcome, r.Text,
					heal.Describe(plan.Steps[r.Step-1].Request), plan.Steps[r.Step-1].Request.Body)
			}
		}
		if len(plan.Steps) == 0 {
			for _, f := range audit.Check(index.New(before), audit.Options{}).Findings {
				if !slices.ContainsFunc(plan.Unhealed, func(l heal.Unhealed) bool { return l.Code == f.Code }) {
					t.Errorf("after %d runs there is %+v", run, f)
				}
			}
			return
		}
		if run == 2 {
			t.Errorf("a second run has the steps %+v", plan.Steps)
			return
		}
	}
}

// twice reports whether records have a consumer twice, which both faults create.
func twice(c *cloud.Cloud) bool {
	seen := map[string]bool{}
	return slices.ContainsFunc(c.Placement.Consumers, func(c cloud.Consumer) bool {
		busy := seen[c.UUID]
		seen[c.UUID] = true
		return busy
	})
}

// Two faults at a time are repaired, each next to the other. All pairs take minutes; a sample has
// every 74th.
func TestTwoFaultsAreHealed(t *testing.T) {
	var faults []audittest.Fault
	for _, p := range audittest.Faults {
		if heal.Heals(p.Code) {
			faults = append(faults, p)
		}
	}
	first, step := sweep.Every(t, 74)
	injected := 0
	for i, fault := range faults {
		for k, other := range faults[:i] {
			if (i*len(faults)+k)%step != first {
				continue
			}
			c := audittest.Copied(audittest.Whole().Done())
			if !fault.InjectInto(c) || !other.InjectInto(c) || twice(c) {
				continue
			}
			injected++
			t.Run(string(fault.Code+" and "+other.Code), func(t *testing.T) { heals(t, newFakeCloud(t, c)) })
		}
	}
	if injected < 300/step {
		t.Errorf("%d pairs of faults were injected", injected)
	}
}

// Faults are repaired in any cloud. A sample has half of the clouds.
func TestFaultsAreHealedInAnyCloud(t *testing.T) {
	injected, seeds := 0, 0
	first, step := sweep.Every(t, 4)
	for seed := first; seed < 40; seed += step {
		seeds++
		var c *cloud.Cloud
		for n := range audittest.Faults {
			p := audittest.Faults[(seed*7+n)%len(audittest.Faults)]
			c = audittest.Copied(audittest.Clouds.Example(seed))
			if heal.Heals(p.Code) && p.InjectInto(c) {
				injected++
				t.Run(fmt.Sprintf("%s/%d", p.Code, seed), func(t *testing.T) { heals(t, newFakeCloud(t, c)) })
				break
			}
		}
	}
	if injected < seeds/2 {
		t.Errorf("%d faults were injected", injected)
	}
}

// A port that cannot be repaired keeps its share of what its server holds: the other ports have
// theirs after it.
func TestPortThatIsLeftKeepsItsShare(t *testing.T) {
	for _, code := range []audit.Code{audit.PortAmountSuperfluous, audit.PortAmountMissing} {
		t.Run(string(code), func(t *testing.T) {
			c := audittest.Copied(audittest.Whole().Done())
			for _, p := range audittest.Faults {
				if (p.Code == audit.KeyProviderLacksTrait || p.Code == code && p.Name == "") && !p.InjectInto(c) {
					t.Fatalf("the cloud has nothing to inject %s into", p.Code)
				}
			}
			heals(t, newFakeCloud(t, c))
		})
	}
}
