package tc_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/agent/tc"
)

// commandTime bounds every command that a test runs.
const commandTime = 30 * time.Second

// run runs a command and gives what it printed.
func run(tb testing.TB, command ...string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), commandTime)
	defer cancel()
	out, err := execute(ctx, command...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func execute(ctx context.Context, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, complaint.String())
	}
	return out.String(), nil
}

// needKernel skips a test where the kernel's traffic control cannot be used.
func needKernel(tb testing.TB, programs ...string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("skipping a test with the kernel's traffic control under -short")
	}
	if os.Geteuid() != 0 {
		tb.Skip("skipping: making network namespaces needs root")
	}
	for _, p := range append(programs, "ip", "tc") {
		if _, err := exec.LookPath(p); err != nil {
			tb.Skipf("skipping: %s is not installed (apt-get install iproute2 iperf3)", p)
		}
	}
}

// namespace makes a network namespace that goes with the test.
func namespace(tb testing.TB, name string) string {
	tb.Helper()
	name = fmt.Sprintf("berth-tc-%d-%s", os.Getpid(), name)
	run(tb, "ip", "netns", "add", name)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), commandTime)
		defer cancel()
		if _, err := execute(ctx, "ip", "netns", "del", name); err != nil {
			tb.Error(err)
		}
	})
	run(tb, "ip", "-n", name, "link", "set", "lo", "up")
	return name
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
			tb.Skipf("skipping: %v", f)
		}
		tb.Errorf("%v", f)
	}
	return r
}
