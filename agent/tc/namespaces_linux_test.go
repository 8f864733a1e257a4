package tc_test

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/internal/traffictest"
)

// needKernel ends a test where the kernel's traffic control cannot be used.
func needKernel(tb testing.TB, programs ...string) {
	tb.Helper()
	traffictest.Need(tb, append(programs, "tc")...)
}

// namespace makes a network namespace that goes with the test.
func namespace(tb testing.TB, name string) string {
	tb.Helper()
	return traffictest.Namespace(tb, "berth-tc", name)
}

// openIn gives the traffic control of a namespace.
func openIn(tb testing.TB, ns string) *tc.Linux {
	tb.Helper()
	k, err := tc.Open(ns)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(k.Close)
	return k
}

// enforce runs a round that must work. It skips the test if this kernel lacks
// something without which nothing works.
func enforce(tb testing.TB, k tc.Kernel, links ...tc.Link) tc.Report {
	tb.Helper()
	r, err := tc.Enforce(k, links)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range r.Failed {
		if strings.Contains(f.Err.Error(), "this kernel has no") {
			tb.Skipf("NOT TESTED on this kernel: %v", f)
		}
		tb.Errorf("%v", f)
	}
	return r
}
