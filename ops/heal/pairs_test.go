package heal_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthcloud/berth/internal/rotation"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
)

// mends heals a cloud until a plan is empty, and reports what is wrong: a request that is refused, more than two runs, or a finding that is neither mended nor in
// the last plan.
func mends(t *testing.T, fc *fakeCloud) {
	t.Helper()
	for run := 1; ; run++ {
		is := fc.read()
		plan := heal.New(index.New(is), all)
		for _, r := range fc.apply(plan, -1) {
			if r.Outcome != heal.Done {
				t.Errorf("run %d, step %d: %s: %s (%s %s)", run, r.Step, r.Outcome, r.Text, heal.Describe(plan.Steps[r.Step-1].Request), plan.Steps[r.Step-1].Request.Body)
			}
		}
		if len(plan.Steps) == 0 {
			for _, f := range audit.Check(index.New(is), audit.Options{}).Findings {
				if !slices.ContainsFunc(plan.Left, func(l heal.Left) bool { return l.Code == f.Code }) {
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
		was := seen[c.UUID]
		seen[c.UUID] = true
		return was
	})
}

// Two faults at a time are mended, each beside the other.
func TestTwoFaultsAreMended(t *testing.T) {
	var plants []audittest.Fault
	for _, p := range audittest.Faults {
		if heal.Heals(p.Code) {
			plants = append(plants, p)
		}
	}
	first, step := rotation.Every(2 * pairs)
	if step == 1 {
		step = pairs
	}
	planted := 0
	for i, one := range plants {
		for k, other := range plants[:i] {
			if (i*len(plants)+k)%step != first {
				continue
			}
			c := audittest.Copied(audittest.Whole().Done())
			if !one.InjectInto(c) || !other.InjectInto(c) || twice(c) {
				continue
			}
			planted++
			t.Run(string(one.Code+" and "+other.Code), func(t *testing.T) { mends(t, newFakeCloud(t, c)) })
		}
	}
	if planted < 300/step {
		t.Errorf("%d pairs of faults were planted", planted)
	}
}

// pairs is by how much pairs of faults are thinned out: all take minutes. A run of a rotation takes half as many, and other ones than the run before.
const pairs = 37

// Faults are mended in any cloud.
func TestFaultsAreMendedInAnyCloud(t *testing.T) {
	planted, seeds := 0, 0
	first, step := rotation.Every(2)
	for seed := first; seed < 40; seed += step {
		seeds++
		var c *cloud.Cloud
		for n := range audittest.Faults {
			p := audittest.Faults[(seed*7+n)%len(audittest.Faults)]
			c = audittest.Copied(audittest.Clouds.Example(seed))
			if heal.Heals(p.Code) && p.InjectInto(c) {
				planted++
				t.Run(fmt.Sprintf("%s/%d", p.Code, seed), func(t *testing.T) { mends(t, newFakeCloud(t, c)) })
				break
			}
		}
	}
	if planted < seeds/2 {
		t.Errorf("%d faults were planted", planted)
	}
}

// A port that cannot be mended keeps its share of what its server holds: the other ports have theirs after it.
func TestPortThatIsLeftKeepsItsShare(t *testing.T) {
	for _, code := range []audit.Code{audit.PortAmountSuperfluous, audit.PortAmountMissing} {
		t.Run(string(code), func(t *testing.T) {
			c := audittest.Copied(audittest.Whole().Done())
			for _, p := range audittest.Faults {
				if (p.Code == audit.KeyProviderLacksTrait || p.Code == code && p.Name == "") && !p.InjectInto(c) {
					t.Fatalf("the cloud has nothing to plant %s in", p.Code)
				}
			}
			mends(t, newFakeCloud(t, c))
		})
	}
}
