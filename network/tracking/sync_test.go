package tracking_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
)

const whole = `host
host:ovs below host
host:ovs:br-a below host:ovs +PHYSNET +VNIC BW=1000
host:ovs:br-b below host:ovs +PHYSNET +VNIC BW=1000`

func wantState(t *testing.T, f *fake, want string) {
	t.Helper()
	if diff := cmp.Diff(want, f.String()); diff != "" {
		t.Errorf("placement (-want +got):\n%s", diff)
	}
}

func TestOrderOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		d := run(t, f)
		begin := time.Now()
		r := tracking.Report{Agent: "a", Desired: desired("host", "br-a", "br-b")}
		got := d.report(t, r)
		if diff := cmp.Diff(tracking.Result{At: begin}, got); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		want := []string{
			"ProviderNamed host",
			"EnsureTrait PHYSNET", "EnsureTrait VNIC",
			"EnsureProvider host:ovs", "EnsureProvider host:ovs:br-a", "EnsureProvider host:ovs:br-b",
			"SetTraits host:ovs", "SetTraits host:ovs:br-a", "SetTraits host:ovs:br-b",
			"SetInventories host:ovs", "SetInventories host:ovs:br-a", "SetInventories host:ovs:br-b",
			"ProvidersBelow host",
		}
		if diff := cmp.Diff(want, f.taken()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		wantState(t, f, whole)

		d.report(t, r)
		if diff := cmp.Diff(append(want[:1:1], want[3:]...), f.taken()); diff != "" {
			t.Errorf("calls once the traits are known (-want +got):\n%s", diff)
		}
	})
}

// troubles are what may come of a call.
var troubles = map[string]func(context.Context) error{
	"Refused":  func(context.Context) error { return errors.New("placement cannot be asked: connection refused") },
	"Broken":   func(context.Context) error { return errors.New("placement answered 500") },
	"Conflict": func(context.Context) error { return fmt.Errorf("%w", network.ErrGeneration) },
	"Slow":     func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
}

// TestEveryCallMayFail has each call of a sync fail in turn, in each way. One more
// report makes all well.
func TestEveryCallMayFail(t *testing.T) {
	const calls = 14
	for name, trouble := range troubles {
		for number := range calls {
			t.Run(fmt.Sprintf("%s/%d", name, number), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testFailingCall(t, number, calls, trouble) })
			})
		}
	}
}

func testFailingCall(t *testing.T, number, calls int, trouble func(context.Context) error) {
	f := newFake("host")
	f.add(network.Provider{UUID: "old", Name: "host:ovs:br-old", Parent: "uuid of host"})
	f.trouble = func(ctx context.Context, n int) error {
		if n == number {
			return trouble(ctx)
		}
		return ctx.Err()
	}
	d := run(t, f)
	r := tracking.Report{Agent: "a", Desired: desired("host", "br-a", "br-b")}
	got := d.report(t, r)
	failed := f.taken()[number]
	_, about, _ := strings.Cut(failed, " ")
	about = strings.TrimPrefix(about, "uuid of ")
	if !strings.HasPrefix(got.Failure, about+": ") || strings.Contains(got.Failure, "\n") {
		t.Errorf("%s failed, and the result says %q", failed, got.Failure)
	}
	f.set(func() { f.trouble = nil })
	if again := d.report(t, r); again.Failure != "" || again.Kept != nil {
		t.Errorf("after %s failed, the next report ended with %+v", failed, again)
	}
	wantState(t, f, whole)
}

// TestCallsAreIndependent: what does not depend on a failed call is done.
func TestCallsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		f.trouble = func(_ context.Context, n int) error {
			if n == 4 { // EnsureProvider of br-a
				return errors.New("no")
			}
			return nil
		}
		got := run(t, f).report(t, tracking.Report{Agent: "a", Desired: desired("host", "br-a", "br-b")})
		want := "host:ovs:br-a: making the provider: no (and 2 more)"
		if got.Failure != want {
			t.Errorf("failure = %q, want %q", got.Failure, want)
		}
		wantState(t, f, strings.Replace(whole, "\nhost:ovs:br-a below host:ovs +PHYSNET +VNIC BW=1000", "", 1))
	})
}

// TestWithoutItsRoot nothing is attempted.
func TestWithoutItsRoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("other")
		two := desired("host", "br-a")
		two.Providers = append(two.Providers, desired("other", "br-b").Providers...)
		got := run(t, f).report(t, tracking.Report{Agent: "a", Desired: two})
		if !strings.HasPrefix(got.Failure, "host: placement has no resource provider of this name") {
			t.Errorf("failure = %q", got.Failure)
		}
		if diff := cmp.Diff([]string{"ProviderNamed host"}, f.taken()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestDevicesThatAreGone are removed, unless they are in use, another agent's, or
// nothing of this agent's.
func TestDevicesThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host", "other")
		for name, parent := range map[string]string{
			"host:ovs":             "uuid of host",
			"host:ovs:br-gone":     "uuid of host:ovs",
			"host:ovs:br-old-tree": "uuid of host",
			"host:ovs:br-used":     "uuid of host:ovs",
			"host:ovs:br-shared":   "uuid of host:ovs",
			"host:sriov":           "uuid of host",
			"host:sriov:eth0":      "uuid of host:sriov",
			"host:numa0":           "uuid of host",
			"host:ovs2:br-a":       "uuid of host",
			"other:ovs:br-a":       "uuid of other",
		} {
			f.add(network.Provider{UUID: "uuid of " + name, Name: name, Parent: parent})
		}
		f.providers["uuid of host:ovs:br-used"].used = true
		var refused error
		d := run(t, f, func(o *tracking.Options) {
			o.Shared = func(_ context.Context, agent network.ID, provider string) (bool, error) {
				if agent != "a" {
					t.Errorf("Shared was asked for %q", agent)
				}
				return provider == "uuid of host:ovs:br-shared", refused
			}
		})
		r := tracking.Report{Agent: "a", Desired: desired("host", "br-a")}
		got := d.report(t, r)
		if diff := cmp.Diff(tracking.Result{Kept: []string{"host:ovs:br-used"}, At: time.Now()}, got); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		wantState(t, f, `host
host:numa0 below host
host:ovs below host
host:ovs2:br-a below host
host:ovs:br-a below host:ovs +PHYSNET +VNIC BW=1000
host:ovs:br-shared below host:ovs
host:ovs:br-used below host:ovs
host:sriov below host
host:sriov:eth0 below host:sriov
other
other:ovs:br-a below other`)

		f.set(func() { f.providers["uuid of host:ovs:br-used"].used = false })
		refused = errors.New("the database is away")
		if got := d.report(t, r); !strings.Contains(got.Failure, "the database is away") {
			t.Errorf("failure = %q", got.Failure)
		}
		refused = nil
		if got := d.report(t, r); got.Failure != "" || got.Kept != nil {
			t.Errorf("result = %+v", got)
		}
		if strings.Contains(f.String(), "br-used") {
			t.Error("what is not used any more is still there")
		}
	})
}

// TestWrongParents of old trees are put right.
func TestWrongParents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		f.add(network.Provider{UUID: "uuid of host:ovs:br-a", Name: "host:ovs:br-a", Parent: "uuid of host"})
		f.add(network.Provider{UUID: "uuid of host:ovs:br-b", Name: "renamed"})
		run(t, f).report(t, tracking.Report{Agent: "a", Desired: desired("host", "br-a", "br-b")})
		wantState(t, f, whole)
	})
}

// TestTraitsThatAreRemoved are made again after they were missed.
func TestTraitsThatAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		d := run(t, f)
		r := tracking.Report{Agent: "a", Desired: desired("host", "br-a", "br-b")}
		d.report(t, r)
		f.set(func() { clear(f.traits) })
		if got := d.report(t, r); !strings.Contains(got.Failure, "no such trait") {
			t.Errorf("failure = %q", got.Failure)
		}
		if got := d.report(t, r); got.Failure != "" {
			t.Errorf("failure = %q", got.Failure)
		}
	})
}

// TestFailuresAreShort whatever placement says.
func TestFailuresAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		f.trouble = func(context.Context, int) error { return errors.New(strings.Repeat("é\n\xff", 900)) }
		got := run(t, f).report(t, tracking.Report{Agent: "a", Desired: desired("host")})
		if len(got.Failure) > 500 || !utf8.ValidString(got.Failure) || strings.Contains(got.Failure, "\n") || !strings.HasPrefix(got.Failure, "host: é") {
			t.Errorf("failure of %d bytes: %q", len(got.Failure), got.Failure)
		}
	})
}
