// Package ovstest starts Debian's Open vSwitch and OVN databases for tests, privately, and stops
// them: ovsdb-server with the schema of the southbound database, clusters of it, and a whole switch
// with the datapath of ovs-vswitchd (datapath_type=netdev) in a network namespace of its own. Files
// outside a temporary directory are unchanged. Fakes are in the tests that need them.
//
// A test is skipped under -short and, where it needs a switch, without root privileges. Without the
// Debian packages openvswitch-switch and ovn-central it fails, or is skipped when
// BERTH_TEST_NO_SWITCHES=1 is set.
package ovstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const patience = 20 * time.Second // for a program to start, to work or to end

// Need ends a test when one of these files or programs, from these Debian packages, is missing: it
// fails, unless BERTH_TEST_NO_SWITCHES=1 is set to skip it. Under -short it skips every test.
func Need(t testing.TB, packages string, files ...string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("needs %s: not under -short", packages)
	}
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			continue
		}
		if _, err := exec.LookPath(f); err == nil {
			continue
		}
		if os.Getenv("BERTH_TEST_NO_SWITCHES") == "1" {
			t.Skipf("NOT TESTED: %s is missing and BERTH_TEST_NO_SWITCHES=1 is set", f)
		}
		t.Fatalf("%s is missing: apt-get install --no-install-recommends %s (or set BERTH_TEST_NO_SWITCHES=1 to go without)",
			f, packages)
	}
}

// NeedRoot skips a test without root privileges, and then checks what Need checks.
func NeedRoot(t testing.TB, packages string, files ...string) {
	t.Helper()
	Need(t, packages, files...)
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: network namespaces need root's rights")
	}
}

// directory creates one with a short name: the path of a socket has 107 bytes at most.
func directory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ovs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// run runs a program until it ends and returns its output.
func run(dir, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environment(dir)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// environment separates Open vSwitch's programs from the machine's own switch.
func environment(dir string) []string {
	return []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
		"OVS_RUNDIR=" + dir, "OVS_LOGDIR=" + dir, "OVS_DBDIR=" + dir, "OVS_SYSCONFDIR=" + dir,
	}
}

// Await waits until the claim is true, and fails the test when it does not become true in time.
func Await(t testing.TB, what string, claim func() bool) {
	t.Helper()
	if err := await(func() error {
		if claim() {
			return nil
		}
		return errors.New("it is not so")
	}); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func await(claim func() error) error {
	end := time.Now().Add(patience)
	for {
		err := claim()
		if err == nil || time.Now().After(end) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// lastWords returns the end of a log.
func lastWords(dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name+".log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
