package providertree_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A fake is a placement service with one tree. It records writes, and fails those in fail, each as
// often as it is listed.
type fake struct {
	tree  providertree.Tree
	calls []string
	fail  map[string][]error // by call
}

func (f *fake) call(format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	f.calls = append(f.calls, call)
	if errs := f.fail[call]; len(errs) > 0 {
		f.fail[call] = errs[1:]
		return errs[0]
	}
	return nil
}

func (f *fake) Tree(_ context.Context, root placement.UUID) (providertree.Tree, error) {
	t := f.tree
	t.Providers = slices.Clone(t.Providers)
	for i := range t.Providers {
		t.Providers[i].Used = nil
	}
	return t, f.call("read %s", root)
}

func (f *fake) Used(_ context.Context, id placement.UUID) (map[string]int64, error) {
	used := map[string]int64{}
	if p, _ := f.tree.Find(id); p.Used != nil {
		used = p.Used
	}
	return used, f.call("read usage of %s", id)
}

func (f *fake) EnsureNames(_ context.Context, classes, traits []string) error {
	return f.call("ensure %s", strings.Join(append(classes, traits...), " "))
}

func (f *fake) Create(_ context.Context, p providertree.Provider) (int64, error) {
	return 1, f.call("create %s", p.ID)
}

func (f *fake) Remove(_ context.Context, id placement.UUID) error { return f.call("remove %s", id) }

func (f *fake) SetInventories(_ context.Context, p providertree.Provider) (int64, error) {
	return p.Generation + 1, f.call("inventories of %s at %d", p.ID, p.Generation)
}

func (f *fake) SetTraits(_ context.Context, p providertree.Provider) (int64, error) {
	return p.Generation + 1, f.call("traits of %s at %d: %s", p.ID, p.Generation, strings.Join(p.Traits, " "))
}

func has(class string, total int64) map[string]placement.Inventory {
	return map[string]placement.Inventory{class: {Total: total, MinUnit: 1, MaxUnit: total, StepSize: 1, AllocationRatio: 1}}
}

// actual is a root with three children, of which "foreign" is not the owner's.
func actual() providertree.Tree {
	return providertree.Tree{Providers: []providertree.Provider{
		{ID: "root", Name: "root", Generation: 10, Inventories: has("VCPU", 8), Traits: []string{"B", "A"}},
		{ID: "same", Name: "same", Parent: "root", Generation: 20, Inventories: has("CUSTOM_NIC", 2), Traits: []string{"CUSTOM_FAST"}},
		{ID: "old", Name: "old", Parent: "root", Generation: 30, Inventories: has("CUSTOM_NIC", 1)},
		{ID: "foreign", Name: "foreign", Parent: "same", Generation: 40, Inventories: has("VGPU", 1), Traits: []string{"CUSTOM_THEIRS"}},
	}}
}

// desired grows the root, has a new provider, and has no "old" any more.
func desired(t providertree.Tree) (providertree.Plan, error) {
	old, _ := t.Find("old")
	return providertree.Compare(t, []providertree.Provider{
		{ID: "root", Name: "root", Inventories: has("VCPU", 16), Traits: []string{"A", "B"}},
		{ID: "same", Name: "same", Parent: "root", Inventories: has("CUSTOM_NIC", 2), Traits: []string{"CUSTOM_FAST"}},
		{ID: "new", Name: "new", Parent: "root", Inventories: has("CUSTOM_NIC", 4), Traits: []string{"CUSTOM_SLOW"}},
	}, []providertree.Provider{old}), nil
}

func TestSync(t *testing.T) {
	boom := errors.New("boom")
	const inventoriesOfNew = "inventories of new at 1"
	for _, tc := range []struct {
		name string
		fail map[string][]error
		want []string
		err  error
	}{
		{name: "Steps", want: []string{
			"read root", "read usage of old", "ensure CUSTOM_NIC CUSTOM_SLOW", "create new", "remove old",
			inventoriesOfNew, "inventories of root at 10", "traits of new at 2: CUSTOM_SLOW",
		}},
		{name: "OtherStepsAfterAFailure", fail: map[string][]error{inventoriesOfNew: {boom}}, err: boom, want: []string{
			"read root", "read usage of old", "ensure CUSTOM_NIC CUSTOM_SLOW", "create new", "remove old",
			inventoriesOfNew, "inventories of root at 10", "traits of new at 1: CUSTOM_SLOW",
		}},
		{name: "NoStepsWithoutTheProvider", fail: map[string][]error{"create new": {boom}}, err: boom, want: []string{
			"read root", "read usage of old", "ensure CUSTOM_NIC CUSTOM_SLOW", "create new",
		}},
		{name: "AgainAfterAConflict", fail: map[string][]error{"remove old": {allocations.ErrInUse}}, want: []string{
			"read root", "read usage of old", "ensure CUSTOM_NIC CUSTOM_SLOW", "create new", "remove old",
			"read root", "read usage of old", "ensure CUSTOM_NIC CUSTOM_SLOW", "create new", "remove old",
			inventoriesOfNew, "inventories of root at 10", "traits of new at 2: CUSTOM_SLOW",
		}},
		{name: "NothingWithoutTheTree", fail: map[string][]error{"read root": {boom}}, err: boom, want: []string{"read root"}},
		{name: "NothingWithoutTheUsage", fail: map[string][]error{"read usage of old": {boom}}, err: boom, want: []string{"read root", "read usage of old"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fake{tree: actual(), fail: tc.fail}
			if err := providertree.Sync(t.Context(), f, "root", desired); !errors.Is(err, tc.err) {
				t.Errorf("Sync = %v, want %v", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// A tree that others always change is given up after ten attempts, with the reason.
func TestSyncGivesUp(t *testing.T) {
	f := &fake{tree: actual(), fail: map[string][]error{"create new": slices.Repeat([]error{allocations.ErrGeneration}, 100)}}
	if err := providertree.Sync(t.Context(), f, "root", desired); !errors.Is(err, allocations.ErrGeneration) {
		t.Errorf("Sync = %v, want %v", err, allocations.ErrGeneration)
	}
	if n := len(f.fail["create new"]); n != 90 {
		t.Errorf("%d attempts, want 10", 100-n)
	}
}

// A tree that is as desired costs one read, and no usage.
func TestSyncOfWhatIsAsDesired(t *testing.T) {
	f := &fake{tree: actual()}
	err := providertree.Sync(t.Context(), f, "root", func(cur providertree.Tree) (providertree.Plan, error) {
		same := make([]providertree.Provider, len(cur.Providers))
		for i, p := range cur.Providers {
			same[i] = p.Clone()
		}
		return providertree.Compare(cur, same, nil), nil
	})
	if err != nil || !slices.Equal(f.calls, []string{"read root"}) {
		t.Errorf("Sync = %v after %q", err, f.calls)
	}
}

// A class that is not desired any more is removed only after its usage is known.
func TestUnread(t *testing.T) {
	cur := actual()
	want := cur.Providers[1].Clone()
	want.Inventories = has("VGPU", 1)
	plan := providertree.Compare(cur, []providertree.Provider{want}, nil)
	if got := plan.Unread(cur); !slices.Equal(got, []placement.UUID{"same"}) {
		t.Errorf("Unread = %v", got)
	}
	cur.Providers[1].Used = map[string]int64{"CUSTOM_NIC": 1}
	if got := plan.Unread(cur); len(got) != 0 {
		t.Errorf("Unread = %v of usages that were read", got)
	}
	if got := providertree.RemovedClasses(cur.Providers[1], want); !slices.Equal(got, []string{"CUSTOM_NIC"}) {
		t.Errorf("RemovedClasses = %v", got)
	}
}

func TestRemoveAll(t *testing.T) {
	f := &fake{tree: actual(), fail: map[string][]error{"remove root": {allocations.ErrInUse}}}
	if err := providertree.RemoveAll(t.Context(), f, "root"); !errors.Is(err, allocations.ErrInUse) {
		t.Errorf("RemoveAll = %v", err)
	}
	want := []string{"read root", "remove foreign", "remove old", "remove same", "remove root"}
	if diff := cmp.Diff(want, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
