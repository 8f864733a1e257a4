package tracking_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// device is what a device of an agent on the host "host" has.
const device = " below host:Open vSwitch agent +CUSTOM_PHYSNET_X +CUSTOM_VNIC_TYPE_NORMAL " +
	"NET_BW_EGR_KILOBIT_PER_SEC=1000"

const whole = `host
host:Open vSwitch agent below host
host:Open vSwitch agent:br-a` + device + `
host:Open vSwitch agent:br-b` + device

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
		r := tracking.Report{Agent: "a", State: desired("host", "br-a", "br-b")}
		got := d.report(t, r)
		if diff := cmp.Diff(network.SyncResult{State: r.State}, got); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		const agent = "host:Open vSwitch agent"
		want := []string{
			"Named host", "Tree host", "EnsureTrait CUSTOM_PHYSNET_X", "EnsureTrait CUSTOM_VNIC_TYPE_NORMAL",
			"Create " + agent, "Create " + agent + ":br-a", "Create " + agent + ":br-b",
			"SetInventories " + agent + ":br-b", "SetInventories " + agent + ":br-a", "SetTraits " + agent + ":br-b",
			"SetTraits " + agent + ":br-a",
		}
		if diff := cmp.Diff(want, f.taken()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		wantState(t, f, whole)

		d.report(t, r)
		if diff := cmp.Diff(want[:2], f.taken()); diff != "" {
			t.Errorf("calls once all is there (-want +got):\n%s", diff)
		}
		r.State = desired("host", "br-a", "br-b", "br-c")
		d.report(t, r)
		want = append(want[:2:2], "Create "+agent+":br-c", "SetInventories "+agent+":br-c", "SetTraits "+agent+":br-c")
		if diff := cmp.Diff(want, f.taken()); diff != "" {
			t.Errorf("calls for a further device (-want +got):\n%s", diff)
		}
	})
}

// troubles are what may come of a call.
var troubles = map[string]func(context.Context) error{
	"Refused":  func(context.Context) error { return errors.New("placement is unavailable: connection refused") },
	"Broken":   func(context.Context) error { return errors.New("placement answered 500") },
	"Conflict": func(context.Context) error { return fmt.Errorf("%w", allocations.ErrGeneration) },
	"Slow":     func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
}

// TestEveryCallMayFail has each call of a sync fail in turn, in each way. One more report makes all
// well; after a conflict the tree is read again at once.
func TestEveryCallMayFail(t *testing.T) {
	const calls = 16
	for name, trouble := range troubles {
		for number := range calls {
			t.Run(fmt.Sprintf("%s/%d", name, number), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testFailingCall(t, number, name == "Conflict", trouble) })
			})
		}
	}
}

func testFailingCall(t *testing.T, number int, conflict bool, trouble func(context.Context) error) {
	f := newFake("host", "old")
	f.add(providertree.Provider{ID: "old", Name: "host:Open vSwitch agent:br-old", Parent: uuid("host")})
	for _, p := range tracking.Desired(desired("old", "br-a"), "old", uuid("old")) {
		p.Parent = uuid("old")
		f.add(p)
	}
	f.trouble = func(ctx context.Context, n int) error {
		if n == number {
			return trouble(ctx)
		}
		return ctx.Err()
	}
	d := run(t, f)
	r := tracking.Report{Agent: "a", State: desired("host", "br-a", "br-b"), Hypervisors: []string{"host", "old"}}
	got := d.report(t, r)
	failed := f.taken()[number]
	_, about, _ := strings.Cut(failed, " ")
	about = strings.TrimPrefix(about, "uuid of ")
	if conflict && !strings.HasPrefix(failed, "Named") {
		if got.Failure != "" {
			t.Errorf("%s conflicted once, and the result says %q", failed, got.Failure)
		}
	} else if !strings.HasPrefix(got.Failure, about+": ") || strings.Contains(got.Failure, "\n") {
		t.Errorf("%s failed, and the result says %q", failed, got.Failure)
	}
	f.set(func() { f.trouble = nil })
	if again := d.report(t, r); again.Failure != "" || again.Kept != nil {
		t.Errorf("after %s failed, the next report ended with %+v", failed, again)
	}
	wantState(t, f, whole+"\nold")
}

// TestCallsAreIndependent: what does not depend on a failed call is done.
func TestCallsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		f.trouble = func(_ context.Context, n int) error {
			if n == 5 { // Create of br-a
				return errors.New("no")
			}
			return nil
		}
		got := run(t, f).report(t, tracking.Report{Agent: "a", State: desired("host", "br-a", "br-b")})
		want := "host:Open vSwitch agent:br-a: creating the provider: no"
		if got.Failure != want {
			t.Errorf("failure = %q, want %q", got.Failure, want)
		}
		wantState(t, f, strings.Replace(whole, "\nhost:Open vSwitch agent:br-a"+device, "", 1))
	})
}

// TestWithoutItsRoot nothing is attempted.
func TestWithoutItsRoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("other")
		two := desired("host", "br-a")
		two.Providers = append(two.Providers, desired("other", "br-b").Providers...)
		got := run(t, f).report(t, tracking.Report{Agent: "a", State: two})
		if !strings.HasPrefix(got.Failure, "host: placement has no resource provider of this name") {
			t.Errorf("failure = %q", got.Failure)
		}
		if diff := cmp.Diff([]string{"Named host"}, f.taken()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestWrongParents of old trees are put right.
func TestWrongParents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		f.add(providertree.Provider{
			ID: uuid("host:Open vSwitch agent:br-a"), Name: "host:Open vSwitch agent:br-a", Parent: uuid("host"),
		})
		f.add(providertree.Provider{ID: uuid("host:Open vSwitch agent:br-b"), Name: "renamed"}) // in a tree of its own
		run(t, f).report(t, tracking.Report{Agent: "a", State: desired("host", "br-a", "br-b")})
		wantState(t, f, whole)
	})
}

// TestTraitsThatAreRemoved are made again after they were missed.
func TestTraitsThatAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		d := run(t, f)
		r := tracking.Report{Agent: "a", State: desired("host", "br-a", "br-b")}
		d.report(t, r)
		f.set(func() {
			clear(f.traits)
			f.providers[uuid("host:Open vSwitch agent:br-a")].Traits = nil
		})
		if got := d.report(t, r); !strings.Contains(got.Failure, "no such trait") {
			t.Errorf("failure = %q", got.Failure)
		}
		if got := d.report(t, r); got.Failure != "" {
			t.Errorf("failure = %q", got.Failure)
		}
	})
}

// TestConflictsThatDoNotEnd are given up, and the other hypervisor is synced all the same.
func TestConflictsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host", "other")
		f.trouble = func(_ context.Context, n int) error {
			if strings.HasPrefix(f.calls[n], "SetInventories host:") {
				return allocations.ErrGeneration
			}
			return nil
		}
		two := desired("host", "br-a")
		two.Providers = append(two.Providers, desired("other", "br-b").Providers...)
		got := run(t, f).report(t, tracking.Report{Agent: "a", State: two})
		if want := "host:Open vSwitch agent:br-a: setting its inventories: " +
			allocations.ErrGeneration.Error(); got.Failure != want {
			t.Errorf("failure = %q, want %q", got.Failure, want)
		}
		calls := strings.Join(f.taken(), "\n")
		if n := strings.Count(calls, "SetInventories host:"); n != 10 {
			t.Errorf("%d attempts, want 10", n)
		}
		if n := strings.Count(calls, "SetInventories other:"); n != 1 {
			t.Errorf("the other hypervisor's device was written %d times", n)
		}
	})
}

// TestClassesInUse stay, and that is reported until they are not in use any more.
func TestClassesInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		d := run(t, f)
		r := tracking.Report{Agent: "a", State: desired("host", "br-a", "br-b")}
		d.report(t, r)
		device := f.providers[uuid("host:Open vSwitch agent:br-a")]
		f.set(func() {
			device.used = guarantee.IngressBandwidth
			device.Inventories = maps.Clone(device.Inventories)
			device.Inventories[device.used] = placement.Inventory{Total: 7}
		})
		before := f.String()
		f.taken()
		want := "host:Open vSwitch agent:br-a: setting its inventories: " + guarantee.IngressBandwidth +
			" is allocated and cannot be removed"
		if got := d.report(t, r); got.Failure != want {
			t.Errorf("failure = %q, want %q", got.Failure, want)
		}
		if diff := cmp.Diff([]string{"Named host", "Tree host", "Used host:Open vSwitch agent:br-a"}, f.taken()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		wantState(t, f, before)
		f.set(func() { device.used = "" })
		if got := d.report(t, r); got.Failure != "" {
			t.Errorf("failure = %q once it is not in use", got.Failure)
		}
		wantState(t, f, whole)
	})
}

// TestFailuresAreShort whatever placement says.
func TestFailuresAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		f.trouble = func(context.Context, int) error { return errors.New(strings.Repeat("é\n\xff", 900)) }
		got := run(t, f).report(t, tracking.Report{Agent: "a", State: desired("host")})
		if len(got.Failure) > 500 || !utf8.ValidString(got.Failure) || strings.Contains(got.Failure, "\n") ||
			!strings.HasPrefix(got.Failure, "host: é") {
			t.Errorf("failure of %d bytes: %q", len(got.Failure), got.Failure)
		}
	})
}
