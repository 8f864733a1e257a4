package tc_test

import (
	"testing"

	"github.com/berthcloud/berth/agent/tc"
)

// seeing is a Kernel that shows some devices and takes no step.
type seeing struct {
	tc.Kernel
	actual tc.Actual
}

func (s seeing) Observe() (tc.Actual, error) { return s.actual, nil }

// What is another's is neither seen nor taken away.
func TestWithin(t *testing.T) {
	mine, others := tc.IFBName("eth0"), tc.IFBName("eth1")
	actual, err := tc.Within(seeing{actual: tc.Actual{
		"eth0": {}, "eth1": {Redirect: others}, mine: {IFB: true}, others: {IFB: true},
	}}, "eth0").Observe()
	if _, sees := actual["eth1"]; err != nil || sees || len(actual) != 2 {
		t.Fatalf("Observe = %v, %v", actual, err)
	}
	steps := tc.Plan(nil, actual)
	if len(steps) != 1 || steps[0] != (tc.Step{Op: tc.DelIFB, Device: mine}) {
		t.Errorf("the steps are %v, want the one that removes %s", steps, mine)
	}
}
