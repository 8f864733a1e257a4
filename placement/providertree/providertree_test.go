package providertree_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A fake is a placement service with one tree. It records writes, and fails those in fail, each as
// often as it is listed.
type fake struct {
	tree  providertree.Tree
	calls []string
	fail  map[string][]error // by call
	// unknown are the standard traits that are refused.
	unknown []string
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

func (f *fake) Named(context.Context, string) (providertree.Provider, error) {
	return providertree.Provider{}, errors.New("owners look their roots up")
}

func (f *fake) Tree(
	_ context.Context, root placement.UUID, contents func(providertree.Provider) bool,
) (providertree.Tree, error) {
	t := f.tree
	t.Providers, t.Allocations = slices.Clone(t.Providers), nil
	for i := range t.Providers {
		p := &t.Providers[i]
		p.Used = nil
		if contents != nil && !contents(*p) {
			p.Inventories, p.Traits = nil, nil
		}
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

func (f *fake) EnsureClass(_ context.Context, name string) error { return f.call("class %s", name) }

func (f *fake) EnsureTrait(_ context.Context, name string) error { return f.call("trait %s", name) }

func (f *fake) UnknownTraits(_ context.Context, names []string) (unknown []string, err error) {
	for _, name := range names {
		if slices.Contains(f.unknown, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown, f.call("read traits %s", strings.Join(names, " "))
}

func (f *fake) Update(_ context.Context, p providertree.Provider) (int64, error) {
	return 7, f.call("update %s: %s below %s", p.ID, p.Name, p.Parent)
}

func (f *fake) Create(_ context.Context, p providertree.Provider) (int64, error) {
	return 1, f.call("create %s", p.ID)
}

func (f *fake) Remove(_ context.Context, id placement.UUID) error { return f.call("remove %s", id) }

func (f *fake) SetInventories(_ context.Context, p providertree.Provider) (int64, error) {
	return p.Generation + 1, f.call("inventories of %s at %d", p.ID, p.Generation)
}

func (f *fake) SetTraits(_ context.Context, p providertree.Provider) (int64, error) {
	err := f.call("traits of %s at %d: %s", p.ID, p.Generation, strings.Join(p.Traits, " "))
	if err == nil && slices.ContainsFunc(p.Traits, func(name string) bool { return slices.Contains(f.unknown, name) }) {
		err = fault.New(fault.Invalid, "", "No such trait")
	}
	return p.Generation + 1, err
}

func (f *fake) Consumers(_ context.Context, id placement.UUID) (consumers []string, err error) {
	for consumer, c := range f.tree.Allocations {
		if len(c.Amounts[string(id)]) > 0 {
			consumers = append(consumers, consumer)
		}
	}
	slices.Sort(consumers)
	return consumers, f.call("read consumers of %s", id)
}

func (f *fake) Allocations(_ context.Context, consumer string) (allocations.Consumer, error) {
	return f.tree.Allocations[consumer], f.call("read allocations of %s", consumer)
}

// Reshape changes the tree of the fake, as its other methods do not.
func (f *fake) Reshape(
	_ context.Context, providers []providertree.Provider, consumers map[string]allocations.Consumer,
) error {
	call := "reshape"
	for _, p := range providers {
		call += fmt.Sprintf(" %s at %d: %v,", p.ID, p.Generation, slices.Sorted(maps.Keys(p.Inventories)))
	}
	for _, id := range slices.Sorted(maps.Keys(consumers)) {
		call += fmt.Sprintf(" %s: %v", id, consumers[id].Amounts)
	}
	err := f.call("%s", call)
	if err != nil {
		return err
	}
	for _, p := range providers {
		i := slices.IndexFunc(f.tree.Providers, func(cur providertree.Provider) bool { return cur.ID == p.ID })
		if i < 0 {
			p.Traits = nil
			f.tree.Providers = append(f.tree.Providers, p)
		} else {
			f.tree.Providers[i].Inventories = p.Inventories
		}
	}
	maps.Copy(f.tree.Allocations, consumers)
	return nil
}

func has(class string, total int64) map[string]placement.Inventory {
	return map[string]placement.Inventory{class: {
		Total: total, MinUnit: 1, MaxUnit: total, StepSize: 1, AllocationRatio: 1,
	}}
}

// actual is a root with three children, of which "foreign" is not the owner's.
func actual() providertree.Tree {
	return providertree.Tree{Providers: []providertree.Provider{
		{ID: "root", Name: "root", Generation: 10, Inventories: has("VCPU", 8), Traits: []string{"B", "A"}},
		{
			ID: "same", Name: "same", Parent: "root", Generation: 20, Inventories: has("CUSTOM_NIC", 2),
			Traits: []string{"CUSTOM_FAST"},
		},
		{ID: "old", Name: "old", Parent: "root", Generation: 30, Inventories: has("CUSTOM_NIC", 1)},
		{
			ID: "foreign", Name: "foreign", Parent: "same", Generation: 40, Inventories: has("VGPU", 1),
			Traits: []string{"CUSTOM_THEIRS"},
		},
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

func spec(plan func(providertree.Tree) (providertree.Plan, error)) providertree.Spec {
	return providertree.Spec{Root: "root", Plan: plan}
}

func TestSync(t *testing.T) {
	boom := errors.New("boom")
	const inventoriesOfNew, updateNew = "inventories of new at 1", "update new: new below root"
	begin := []string{"read root", "read usage of old"}
	names := append(begin[:2:2], "class CUSTOM_NIC", "trait CUSTOM_SLOW")
	created := append(names[:4:4], "create new")
	removed := append(created[:5:5], "remove old")
	whole := append(removed[:6:6], inventoriesOfNew, "inventories of root at 10", "traits of new at 2: CUSTOM_SLOW")
	for _, tc := range []struct {
		name string
		fail map[string][]error
		want []string
		err  string
	}{
		{name: "Steps", want: whole},
		{
			name: "OtherStepsAfterAFailure", fail: map[string][]error{inventoriesOfNew: {boom}},
			err:  "new: setting its inventories: boom",
			want: append(removed[:6:6], inventoriesOfNew, "inventories of root at 10", "traits of new at 1: CUSTOM_SLOW"),
		},
		{
			name: "NoStepsWithoutTheProvider", fail: map[string][]error{"create new": {boom}},
			err:  "new: creating the provider: boom",
			want: append(removed[:6:6], "inventories of root at 10"),
		},
		{
			name: "NoInventoriesWithoutTheClass", fail: map[string][]error{"class CUSTOM_NIC": {boom}},
			err:  "CUSTOM_NIC: creating the resource class: boom",
			want: append(removed[:6:6], "inventories of root at 10", "traits of new at 1: CUSTOM_SLOW"),
		},
		{
			name: "NoTraitsWithoutTheTrait", fail: map[string][]error{"trait CUSTOM_SLOW": {boom}},
			err:  "CUSTOM_SLOW: creating the trait: boom",
			want: append(removed[:6:6], inventoriesOfNew, "inventories of root at 10"),
		},
		{
			name: "AllFailuresAreReported", fail: map[string][]error{"class CUSTOM_NIC": {boom}, "remove old": {boom}},
			err:  "CUSTOM_NIC: creating the resource class: boom\nold: removing it: boom",
			want: append(removed[:6:6], "inventories of root at 10", "traits of new at 1: CUSTOM_SLOW"),
		},
		{
			name: "AgainAfterAConflict", fail: map[string][]error{"remove old": {allocations.ErrInUse}},
			want: append(removed[:6:6], whole...),
		},
		{
			name: "AgainAfterAConflictOfInventories", fail: map[string][]error{inventoriesOfNew: {allocations.ErrGeneration}},
			want: append(append(removed[:6:6], inventoriesOfNew), whole...),
		},
		{
			name: "MovedWhenItExists", fail: map[string][]error{"create new": {allocations.ErrGeneration}},
			want: append(append(created[:5:5], updateNew), whole...),
		},
		{
			name: "NotMoved", fail: map[string][]error{"create new": {allocations.ErrGeneration}, updateNew: {boom}},
			err:  "new: creating the provider: boom",
			want: append(created[:5:5], updateNew, "remove old", "inventories of root at 10"),
		},
		{
			name: "NothingWithoutTheTree", fail: map[string][]error{"read root": {boom}}, err: "reading its tree: boom",
			want: begin[:1],
		},
		{
			name: "NothingWithoutTheUsage", fail: map[string][]error{"read usage of old": {boom}},
			err: "reading what is in use on old: boom", want: begin,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fake{tree: actual(), fail: tc.fail}
			result, err := providertree.Sync(t.Context(), f, spec(desired))
			if err = errors.Join(err, result.Err()); tc.err != "" && (err == nil || err.Error() != tc.err) ||
				tc.err == "" && err != nil {
				t.Errorf("Sync = %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Standard traits that placement does not know are left out, and what is as it should be without
// them is not written again.
func TestUnknownTraits(t *testing.T) {
	boom := errors.New("boom")
	f := &fake{tree: actual(), unknown: []string{"NEW", "NEWER"}}
	sync := func() (providertree.Result, error) {
		f.calls = nil
		result, err := providertree.Sync(t.Context(), f, spec(func(cur providertree.Tree) (providertree.Plan, error) {
			root, same := cur.Providers[0].Clone(), cur.Providers[1].Clone()
			root.Traits = []string{"A", "B", "CUSTOM_C", "NEW"}
			same.Traits = []string{"CUSTOM_FAST", "NEW", "NEWER"}
			return providertree.Compare(cur, []providertree.Provider{root, same}, nil), nil
		}))
		return result, errors.Join(err, result.Err())
	}
	const (
		ofRoot, ofSame = "traits of root at 10: A B CUSTOM_C NEW", "traits of same at 20: CUSTOM_FAST NEW NEWER"
		withoutNew     = "traits of root at 10: A B CUSTOM_C"
	)
	begin := []string{"read root", "trait CUSTOM_C", "trait CUSTOM_FAST", ofSame, "read traits NEW NEWER"}
	whole := append(begin[:5:5], ofRoot, "read traits A B NEW", withoutNew)
	for _, tc := range []struct {
		name string
		fail map[string][]error
		want []string
		err  string
	}{
		{name: "LeftOut", want: whole},
		{
			name: "UnreadTraits", fail: map[string][]error{"read traits NEW NEWER": {boom}},
			err: "same: setting its traits: No such trait (and reading which traits placement knows: boom)", want: whole,
		},
		{
			name: "AgainAfterAConflict", fail: map[string][]error{withoutNew: {allocations.ErrGeneration}},
			want: append(whole[:8:8], whole...),
		},
	} {
		f.fail = tc.fail
		result, err := sync()
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || err.Error() != tc.err) {
			t.Errorf("%s: Sync = %v, want %q", tc.name, err, tc.err)
		}
		want := []string{"NEW", "NEWER"}
		if tc.err != "" {
			want = want[:1]
		}
		if diff := cmp.Diff(want, result.UnknownTraits()); diff != "" {
			t.Errorf("%s: unknown (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.want, f.calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", tc.name, diff)
		}
	}
	f.tree.Providers[0].Traits, f.fail = []string{"A", "B", "CUSTOM_C"}, nil
	if result, err := sync(); err != nil || len(result.Unknown) != 2 {
		t.Errorf("Sync of what has the others = %v, %v", result, err)
	}
	if diff := cmp.Diff(whole[:7], f.calls); diff != "" {
		t.Errorf("calls for what has the others (-want +got):\n%s", diff)
	}
	f.unknown = nil // placement was upgraded
	if result, err := sync(); err != nil || len(result.Unknown) != 0 {
		t.Errorf("Sync with what knows all of them = %v, %v", result, err)
	}
	f.fail = map[string][]error{ofRoot: {fault.New(fault.Invalid, "", "another reason")}}
	if _, err := sync(); err == nil || err.Error() != "root: setting its traits: another reason" {
		t.Errorf("Sync = %v, want the refusal", err)
	}
}

// What is below a provider that cannot be created is not created either; all else is.
func TestProvidersBelowAFailedOne(t *testing.T) {
	f := &fake{fail: map[string][]error{"create a": {errors.New("boom")}}}
	below := func(id, parent placement.UUID) providertree.Provider {
		return providertree.Provider{ID: id, Name: string(id), Parent: parent, Inventories: has("VCPU", 1)}
	}
	result := providertree.Apply(t.Context(), f, providertree.Compare(providertree.Tree{}, []providertree.Provider{
		below("root", ""), below("a", "root"), below("a1", "a"), below("a2", "a1"), below("b", "root"),
	}, nil))
	if err := result.Err(); err == nil || err.Error() != "a: creating the provider: boom" {
		t.Errorf("Apply = %v", err)
	}
	want := []string{"create root", "create a", "create b", "inventories of b at 1", "inventories of root at 1"}
	if diff := cmp.Diff(want, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Names and parents are corrected for owners who want that, before anything is set.
func TestMisplaced(t *testing.T) {
	f := &fake{tree: actual()}
	result, err := providertree.Sync(t.Context(), f, spec(func(cur providertree.Tree) (providertree.Plan, error) {
		all := []providertree.Provider{cur.Providers[1].Clone(), cur.Providers[2].Clone(), cur.Providers[3].Clone()}
		all[0].Traits, all[1].Name, all[2].Parent = nil, "new name", "root"
		all[1].Inventories = has("CUSTOM_NIC", 7)
		plan := providertree.Compare(cur, all, nil)
		plan.Update = providertree.Misplaced(cur, all)
		return plan, nil
	}))
	if err != nil || result.Err() != nil {
		t.Errorf("Sync = %v, %v", result, err)
	}
	want := []string{
		"read root", "class CUSTOM_NIC", "update old: new name below root", "update foreign: foreign below root",
		"inventories of old at 7", "traits of same at 20: ",
	}
	if diff := cmp.Diff(want, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Providers that are removed unless they are in use cost no request for their usage, and are
// reported once, also when the tree is read again.
func TestRemoveUnused(t *testing.T) {
	f := &fake{tree: actual(), fail: map[string][]error{
		"remove same": {allocations.ErrInUse, allocations.ErrInUse}, "traits of root at 10: A": {allocations.ErrGeneration},
	}}
	result, err := providertree.Sync(t.Context(), f, providertree.Spec{
		Root: "root", Contents: func(p providertree.Provider) bool { return p.ID == "root" },
		Plan: func(cur providertree.Tree) (providertree.Plan, error) {
			root := cur.Providers[0].Clone()
			root.Traits = []string{"A"}
			plan := providertree.Compare(cur, []providertree.Provider{root}, nil)
			for _, p := range cur.Providers[1:min(3, len(cur.Providers))] {
				if p.Inventories != nil {
					t.Errorf("the contents of %s were read", p.ID)
				}
				plan.RemoveUnused = append(plan.RemoveUnused, p)
			}
			f.tree.Providers = f.tree.Providers[:2] // "old" does not exist the next time
			return plan, nil
		},
	})
	if err != nil || result.Err() != nil {
		t.Errorf("Sync = %v, %v", result, err)
	}
	ids := func(all []providertree.Provider) (ids []placement.UUID) {
		for _, p := range all {
			ids = append(ids, p.ID)
		}
		return ids
	}
	if !slices.Equal(ids(result.Removed), []placement.UUID{"old"}) ||
		!slices.Equal(ids(result.InUse), []placement.UUID{"same"}) {
		t.Errorf("removed %v, in use %v", ids(result.Removed), ids(result.InUse))
	}
	const change = "traits of root at 10: A"
	if diff := cmp.Diff([]string{"read root", "remove same", "remove old", change, "read root", "remove same", change},
		f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A tree that others always change is given up after ten attempts, with the reason.
func TestSyncGivesUp(t *testing.T) {
	f := &fake{
		tree: actual(), fail: map[string][]error{"remove old": slices.Repeat([]error{allocations.ErrGeneration}, 100)},
	}
	result, err := providertree.Sync(t.Context(), f, spec(desired))
	if err != nil || !errors.Is(result.Err(), allocations.ErrGeneration) {
		t.Errorf("Sync = %v, %v, want %v", result, err, allocations.ErrGeneration)
	}
	if n := len(f.fail["remove old"]); n != 90 {
		t.Errorf("%d attempts, want 10", 100-n)
	}
}

// A tree that others change all the time is read again after pauses that grow, and not any more
// when the context ends.
func TestPausesOfSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []time.Duration
		began := time.Now()
		conflict := spec(func(providertree.Tree) (providertree.Plan, error) {
			looks = append(looks, time.Since(began))
			return providertree.Plan{}, allocations.ErrGeneration
		})
		_, err := providertree.Sync(t.Context(), &fake{tree: actual()}, conflict)
		if !errors.Is(err, allocations.ErrGeneration) || len(looks) != 10 {
			t.Fatalf("Sync = %v after looks at %v", err, looks)
		}
		for i, pause := 1, allocations.Pause; i < len(looks); i, pause = i+1, min(2*pause, 16*allocations.Pause) {
			if d := looks[i] - looks[i-1]; d < pause/2 || d > 2*pause {
				t.Errorf("the pause before look %d is %v, want about %v", i, d, pause)
			}
		}
		looks = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := providertree.Sync(ctx, &fake{tree: actual()}, conflict); len(looks) != 1 ||
			!errors.Is(err, allocations.ErrGeneration) {
			t.Errorf("after its end: Sync = %v after looks at %v", err, looks)
		}
		tries := 0
		err = providertree.Retry(ctx, func() error { tries++; return allocations.ErrInUse })
		if tries != 1 || !errors.Is(err, allocations.ErrInUse) {
			t.Errorf("after its end: Retry = %v after %d tries", err, tries)
		}
	})
}

// A tree that is as desired costs one read, and no usage.
func TestSyncOfWhatIsAsDesired(t *testing.T) {
	f := &fake{tree: actual()}
	result, err := providertree.Sync(t.Context(), f, spec(func(cur providertree.Tree) (providertree.Plan, error) {
		same := make([]providertree.Provider, len(cur.Providers))
		for i, p := range cur.Providers {
			same[i] = p.Clone()
		}
		plan := providertree.Compare(cur, same, nil)
		plan.Update = providertree.Misplaced(cur, same)
		return plan, nil
	}))
	if err != nil || result.Err() != nil || !slices.Equal(f.calls, []string{"read root"}) {
		t.Errorf("Sync = %v, %v after %q", result, err, f.calls)
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

// withUses is a tree whose root has VCPU and VGPU in use, one consumer also on a provider of
// another tree.
func withUses() providertree.Tree {
	t := actual()
	t.Providers[0].Inventories = map[string]placement.Inventory{
		"VCPU": has("VCPU", 8)["VCPU"], "VGPU": has("VGPU", 4)["VGPU"],
	}
	t.Providers[0].Used = map[string]int64{"VCPU": 3, "VGPU": 2}
	t.Allocations = map[string]allocations.Consumer{
		"server": {Amounts: allocations.Amounts{"root": {"VCPU": 2, "VGPU": 1}, "pool": {"DISK_GB": 7}}},
		"other":  {Amounts: allocations.Amounts{"root": {"VCPU": 1, "VGPU": 1}}},
	}
	return t
}

// toCard moves VGPU from the root to a new provider.
func toCard(cur providertree.Tree) (providertree.Plan, error) {
	want := []providertree.Provider{
		{ID: "root", Name: "root", Inventories: has("VCPU", 8), Traits: []string{"A", "B"}},
		{ID: "card", Name: "card", Parent: "root", Inventories: has("VGPU", 4), Traits: []string{"CUSTOM_FAST"}},
	}
	plan := providertree.Compare(cur, want, nil)
	if root, _ := cur.Find("root"); len(providertree.RemovedClasses(root, want[0])) == 0 {
		return plan, nil
	}
	if cur.Allocations == nil {
		plan.NeedsAllocations = true
		return plan, nil
	}
	var moves []providertree.Move
	for _, id := range slices.Sorted(maps.Keys(cur.Allocations)) {
		if n := cur.Allocations[id].Amounts["root"]["VGPU"]; n > 0 {
			moves = append(moves, providertree.Move{
				Consumer: id, From: "root", FromClass: "VGPU", To: "card", ToClass: "VGPU", Amount: n,
			})
		}
	}
	return plan, plan.Move(cur, moves)
}

// What moves is moved in one request, with the whole allocations of its consumers; what remains to
// be done is planned again.
func TestMoves(t *testing.T) {
	boom := errors.New("boom")
	before := []string{
		"read root", "read consumers of root", "read allocations of other",
		"read allocations of server", "read consumers of same", "read consumers of old", "read consumers of foreign",
		"trait CUSTOM_FAST", "create card",
	}
	const reshape = "reshape card at 1: [VGPU], root at 10: [VCPU], other: map[card:map[VGPU:1] root:map[VCPU:1]] " +
		"server: map[card:map[VGPU:1] pool:map[DISK_GB:7] root:map[VCPU:2]]"
	done := []string{reshape, "read root", "trait CUSTOM_FAST", "traits of card at 1: CUSTOM_FAST"}
	for _, tc := range []struct {
		name  string
		fail  map[string][]error
		err   string
		moves int
		want  []string
	}{
		{name: "Moved", moves: 2, want: append(before[:9:9], done...)},
		{
			name: "AgainAfterAConflict", fail: map[string][]error{reshape: {allocations.ErrGeneration}}, moves: 2,
			want: append(append(before[:9:9], reshape), append(before[:9:9], done...)...),
		},
		{
			name: "Refused", fail: map[string][]error{reshape: {boom}}, err: "its tree: moving allocations: boom",
			want: append(before[:9:9], reshape),
		},
		{
			name: "NotWithoutTheProvider", fail: map[string][]error{"create card": {boom}},
			err: "card: creating the provider: boom", want: before,
		},
		{
			name: "NotWithoutTheAllocations", fail: map[string][]error{"read allocations of other": {boom}},
			err: "reading the allocations of other: boom", want: before[:3],
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fake{tree: withUses(), fail: tc.fail}
			s := spec(toCard)
			s.Reshape = true
			result, err := providertree.Sync(t.Context(), f, s)
			if err = errors.Join(err, result.Err()); tc.err != "" && (err == nil || err.Error() != tc.err) ||
				tc.err == "" && err != nil {
				t.Errorf("Sync = %v, want %q", err, tc.err)
			}
			if len(result.Moves) != tc.moves {
				t.Errorf("moves: %v, want %d", result.Moves, tc.moves)
			}
			if diff := cmp.Diff(tc.want, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
	f := &fake{tree: withUses()}
	if _, err := providertree.Sync(t.Context(), f, spec(toCard)); !errors.Is(err, providertree.ErrMoves) {
		t.Errorf("Sync without Reshape = %v, want %v", err, providertree.ErrMoves)
	}
	if slices.ContainsFunc(f.calls, func(call string) bool { return !strings.HasPrefix(call, "read ") }) {
		t.Errorf("calls without Reshape: %q", f.calls)
	}
}

// More than a consumer has is not moved.
func TestMoveOfTooMuch(t *testing.T) {
	plan := providertree.Plan{}
	err := plan.Move(withUses(), []providertree.Move{
		{Consumer: "server", From: "root", FromClass: "VGPU", To: "card", ToClass: "VGPU", Amount: 1},
		{Consumer: "server", From: "root", FromClass: "VGPU", To: "card", ToClass: "VGPU", Amount: 1},
	})
	if shortage := (*allocations.Shortage)(nil); !errors.As(err, &shortage) || shortage.Held != 0 {
		t.Errorf("Move = %v, want a shortage", err)
	}
}
