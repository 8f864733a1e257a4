// Package traffictest sends traffic between network namespaces of the running kernel for tests and
// measures what arrives, with ip and iperf3. Open vSwitch is in package ovstest.
package traffictest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/ovstest"
)

// commandTime bounds every command that a test runs.
const commandTime = 30 * time.Second

// Need ends a test where namespaces, or these programs besides ip, cannot be used; see
// ovstest.NeedRoot.
func Need(tb testing.TB, programs ...string) {
	tb.Helper()
	ovstest.NeedRoot(tb, "iproute2 iperf3 util-linux", append(programs, "ip")...)
}

// Run runs a command that must succeed and returns its output.
func Run(tb testing.TB, command ...string) string {
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

// Namespace creates a network namespace that is removed at the end of the test, in which "lo" is
// up, and returns its name, which begins with prefix.
func Namespace(tb testing.TB, prefix, name string) string {
	tb.Helper()
	name = fmt.Sprintf("%s-%d-%s", prefix, os.Getpid(), name)
	Run(tb, "ip", "netns", "add", name)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), commandTime)
		defer cancel()
		if _, err := execute(ctx, "ip", "netns", "del", name); err != nil {
			tb.Error(err)
		}
	})
	Run(tb, "ip", "-n", name, "link", "set", "lo", "up")
	return name
}
