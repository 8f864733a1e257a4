package placementtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/placement"
)

// claims are the tests of placement.ClaimWriter, and of the questions about
// allocations that are one statement.
var claims = []storeTest{
	{"ConsumerStatesAreRead", readConsumerStates},
	{"ClaimsAreWrittenTogether", writeClaims},
	{"ReleaseOfLockedTrees", releaseOfLocked},
	{"ManyConsumersAreReleased", releaseMany},
	{"ClaimsThatMissAreNotWritten", missClaims},
	{"ClaimsOfAnUpdateAreOne", repeatClaims},
	{"AllocationsAreReadWithTheirConsumerAndProvider", readAllocations},
}

// twoHosts makes two providers, the second below the first, with inventory, a
// consumer that holds some of both and one that is not stored.
func twoHosts(c *storeCase) (one, two placement.ProviderRow, vm placement.ConsumerRow) {
	c.Helper()
	one = c.provider("cn1", nil)
	two = c.provider("cn2", &one)
	c.inventory(one.ID, 0, 8)
	vm = c.consumer("vm1", "INSTANCE")
	c.allocate(vm.UUID, one, 0, 2)
	c.allocate(vm.UUID, two, 1, 3)
	c.allocate(uuidOf("ghost"), one, 0, 1)
	return one, two, vm
}

func readConsumerStates(c *storeCase) {
	one, two, vm := twoHosts(c)
	c.update(later, func(w placement.Writer) error {
		got, err := w.ConsumerStates([]placement.ConsumerRow{
			{UUID: uuidOf("new"), Project: "blue", User: "ann", Type: "NEVER"},
			{UUID: vm.UUID, Project: "blue", User: "ann", Type: "INSTANCE"},
			{UUID: uuidOf("ghost"), Project: "red", User: "ann"},
		})
		want := []placement.ConsumerState{
			{UUID: uuidOf("new")},
			{ID: vm.ID, UUID: vm.UUID, Generation: 1, Allocations: []placement.AllocatedAmount{
				{Provider: one.ID, ProviderUUID: one.UUID, Root: one.ID, Class: 0, Used: 2},
				{Provider: two.ID, ProviderUUID: two.UUID, Root: one.ID, Class: 1, Used: 3},
			}},
			{UUID: uuidOf("ghost")},
		}
		c.same("ConsumerStates", got, want)
		return err
	})
}

// released are the allocations of vm of twoHosts.
func released(one, two placement.ProviderRow, vm placement.ConsumerRow) map[placement.UUID][]placement.AllocatedAmount {
	return map[placement.UUID][]placement.AllocatedAmount{vm.UUID: {
		{Provider: one.ID, ProviderUUID: one.UUID, Root: one.ID, Class: 0, Used: 2},
		{Provider: two.ID, ProviderUUID: two.UUID, Root: one.ID, Class: 1, Used: 3},
	}}
}

// claimed writes claims that hold in an Update and returns its error.
func claimed(c *storeCase, rows placement.ClaimRows) error {
	return c.store.Update(context.Background(), later, func(w placement.Writer) error {
		requested := append(append(append([]placement.ConsumerRow{}, rows.Inserts...), rows.Updates...), rows.Deletes...)
		if _, err := w.ConsumerStates(requested); err != nil {
			return err
		}
		if !w.Stamp().Equal(later) {
			return errors.New("the stamp is not the time of the update")
		}
		return w.WriteClaims(rows)
	})
}

func writeClaims(c *storeCase) {
	one, two, vm := twoHosts(c)
	leaver := c.consumer("vm2", "")
	c.allocate(leaver.UUID, two, 1, 4)
	// owners that are not there
	made := placement.ConsumerRow{UUID: uuidOf("new"), Project: "red", User: "bob", Type: "NEW"}
	// of the type it has
	kept := placement.ConsumerRow{ID: vm.ID, UUID: vm.UUID, Project: "blue", User: "ann", Generation: 1}
	frees := released(one, two, vm)
	frees[leaver.UUID] = []placement.AllocatedAmount{
		{Provider: two.ID, ProviderUUID: two.UUID, Root: one.ID, Class: 1, Used: 4},
	}
	rows := placement.ClaimRows{
		Bumps: []placement.ProviderBump{
			{ID: two.ID, Root: one.ID, From: 0, By: 1}, {ID: one.ID, Root: one.ID, From: 0, By: 3},
		},
		Inserts:  []placement.ConsumerRow{made},
		Updates:  []placement.ConsumerRow{kept},
		Deletes:  []placement.ConsumerRow{leaver},
		Released: frees,
		Allocations: []placement.AllocationRow{
			{Provider: one.ID, Consumer: made.UUID, Class: 0, Used: 5},
			{Provider: two.ID, Consumer: vm.UUID, Class: 0, Used: 6},
		},
	}
	if err := claimed(c, rows); err != nil {
		c.Fatalf("Update() = %v, want nil", err)
	}
	c.view(func(r placement.Reader) error {
		p1, err1 := r.Provider(one.UUID)
		p2, err2 := r.Provider(two.UUID)
		c.same("the providers", []placement.ProviderRow{p1, p2}, []placement.ProviderRow{
			{ID: one.ID, UUID: one.UUID, Name: "cn1", Generation: 3, Root: one.ID, Modified: later, Updated: true},
			{
				ID: two.ID, UUID: two.UUID, Name: "cn2", Generation: 1, Parent: one.ID, Root: one.ID, Modified: later,
				Updated: true,
			},
		})
		got, err3 := r.Consumer(made.UUID)
		made.ID, made.Generation = got.ID, 1
		c.same("the consumer that was made", got, made)
		got, err4 := r.Consumer(vm.UUID)
		vm.Generation = 2
		c.same("the consumer that was kept", got, vm)
		_, deleted := r.Consumer(leaver.UUID)
		allocated, err5 := r.AllocationsOf(vm.UUID)
		c.same("what it holds", allocated.Allocations, []placement.AllocationRow{{
			Provider: two.ID, ProviderUUID: two.UUID, ProviderGeneration: 1, Consumer: vm.UUID, ConsumerGeneration: 2, Used: 6,
			Modified: later,
		}})
		allocated, err6 := r.AllocationsOf(leaver.UUID)
		c.same("what is left of the one that is gone", len(allocated.Allocations), 0)
		return errors.Join(err1, err2, err3, err4, err5, err6, wants("Consumer(gone)", deleted, placement.ErrNoRow))
	})
}

// releaseOfLocked releases a consumer whose trees the Update has locked before: none of its
// allocations requests a check of its tree, and no provider rises.
func releaseOfLocked(c *storeCase) {
	one, two, vm := twoHosts(c)
	frees := released(one, two, vm)
	for i := range frees[vm.UUID] {
		frees[vm.UUID][i].Root = 0
	}
	c.update(later, func(w placement.Writer) error {
		if _, err := w.LockProviders(one.UUID, two.UUID); err != nil {
			return err
		}
		return w.WriteClaims(placement.ClaimRows{Deletes: []placement.ConsumerRow{vm}, Released: frees})
	})
	c.view(func(r placement.Reader) error {
		_, deleted := r.Consumer(vm.UUID)
		remaining, err := r.AllocationsOf(vm.UUID)
		c.same("allocations that are left", len(remaining.Allocations), 0)
		return errors.Join(err, wants("Consumer(released)", deleted, placement.ErrNoRow))
	})
}

// releaseMany deletes more consumers, with their allocations, than one statement names.
func releaseMany(c *storeCase) {
	const many = 1100
	host := c.provider("cn1", nil)
	c.inventory(host.ID, 0, many)
	claims := placement.ClaimRows{Bumps: []placement.ProviderBump{{ID: host.ID, Root: host.ID, From: 0, By: many}}}
	for i := range many {
		vm := placement.ConsumerRow{UUID: uuidOf(fmt.Sprint("vm", i)), Project: "red", User: "bob"}
		claims.Inserts = append(claims.Inserts, vm)
		claims.Allocations = append(claims.Allocations, placement.AllocationRow{
			Provider: host.ID, Consumer: vm.UUID, Class: 0, Used: 1,
		})
	}
	if err := claimed(c, claims); err != nil {
		c.Fatalf("claiming = %v, want nil", err)
	}
	release := placement.ClaimRows{Released: map[placement.UUID][]placement.AllocatedAmount{}}
	c.view(func(r placement.Reader) error {
		for _, vm := range claims.Inserts {
			row, err := r.Consumer(vm.UUID)
			if err != nil {
				return err
			}
			release.Deletes = append(release.Deletes, row)
			release.Released[row.UUID] = []placement.AllocatedAmount{
				{Provider: host.ID, ProviderUUID: host.UUID, Root: host.ID, Class: 0, Used: 1},
			}
		}
		return nil
	})
	if err := claimed(c, release); err != nil {
		c.Fatalf("releasing = %v, want nil", err)
	}
	c.view(func(r placement.Reader) error {
		for _, vm := range claims.Inserts {
			remaining, err := r.AllocationsOf(vm.UUID)
			if err != nil {
				return err
			}
			c.same("what a released consumer has", len(remaining.Allocations), 0)
		}
		return nil
	})
}

func missClaims(c *storeCase) {
	one, two, vm := twoHosts(c)
	kept := placement.ConsumerRow{ID: vm.ID, UUID: vm.UUID, Project: "blue", User: "ann", Generation: 1}
	stale, deleted, other := kept, kept, kept
	stale.Generation, deleted.ID, other.UUID = 7, 1<<30, uuidOf("other")
	all := released(one, two, vm)
	more, fewer, moved := released(one, two, vm), released(one, two, vm), released(one, two, vm)
	more[vm.UUID] = append(more[vm.UUID], more[vm.UUID][1])
	fewer[vm.UUID] = fewer[vm.UUID][:1]
	moved[vm.UUID][1].Root = two.ID
	before := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(nil) })
	cases := map[string]placement.ClaimRows{
		"another generation": {Bumps: []placement.ProviderBump{{ID: one.ID, Root: one.ID, From: 4, By: 1}}},
		"another tree":       {Bumps: []placement.ProviderBump{{ID: two.ID, Root: two.ID, From: 0, By: 1}}},
		"no such provider":   {Bumps: []placement.ProviderBump{{ID: 1 << 30, Root: one.ID, From: 0, By: 1}}},
		"one of two": {
			Bumps: []placement.ProviderBump{
				{ID: one.ID, Root: one.ID, From: 0, By: 1}, {ID: two.ID, Root: one.ID, From: 1, By: 1},
			},
		},
		"a consumer that is there": {Inserts: []placement.ConsumerRow{{UUID: vm.UUID, Project: "blue", User: "ann"}}},
		"allocations of no consumer": {
			Inserts: []placement.ConsumerRow{{UUID: uuidOf("ghost"), Project: "blue", User: "ann"}},
		},
		"another consumer generation": {Updates: []placement.ConsumerRow{stale}, Released: all},
		"no such consumer":            {Deletes: []placement.ConsumerRow{deleted}, Released: all},
		"an id of another consumer": {
			Deletes:  []placement.ConsumerRow{other},
			Released: map[placement.UUID][]placement.AllocatedAmount{other.UUID: all[vm.UUID]},
		},
		"one kept that is another": {
			Updates:  []placement.ConsumerRow{other},
			Released: map[placement.UUID][]placement.AllocatedAmount{other.UUID: all[vm.UUID]},
		},
		"more allocations":  {Updates: []placement.ConsumerRow{kept}, Released: more},
		"fewer allocations": {Deletes: []placement.ConsumerRow{vm}, Released: fewer},
	}
	if c.store.Shared() {
		cases["allocations of another tree"] = placement.ClaimRows{Deletes: []placement.ConsumerRow{vm}, Released: moved}
	}
	for what, rows := range cases {
		if err := claimed(c, rows); !errors.Is(err, placement.ErrStale) {
			c.Errorf("%s: %v, want %v", what, err, placement.ErrStale)
		}
	}
	after := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(nil) })
	c.same("the snapshot", after, before)
	c.same("the consumer", read(c, func(r placement.Reader) (placement.ConsumerRow, error) {
		return r.Consumer(vm.UUID)
	}), vm)
}

// repeatClaims writes claims twice in an Update, and reads in between: all of it is
// written or nothing.
func repeatClaims(c *storeCase) {
	one, two, vm := twoHosts(c)
	made := func(name string) placement.ClaimRows {
		return placement.ClaimRows{
			Bumps:       []placement.ProviderBump{{ID: two.ID, Root: one.ID, From: 0, By: 1}},
			Inserts:     []placement.ConsumerRow{{UUID: uuidOf(name), Project: "blue", User: "ann"}},
			Allocations: []placement.AllocationRow{{Provider: two.ID, Consumer: uuidOf(name), Class: 0, Used: 1}},
		}
	}
	deleted := placement.ClaimRows{Deletes: []placement.ConsumerRow{vm}, Released: released(one, two, vm)}
	stale := placement.ClaimRows{Bumps: []placement.ProviderBump{{ID: one.ID, Root: one.ID, From: 4, By: 1}}}
	ours := errors.New("the test's own")
	update := func(outcome error, all ...placement.ClaimRows) error {
		return c.store.Update(context.Background(), later, func(w placement.Writer) error {
			for i, rows := range all {
				if i > 0 { // what it says of vm is what all of this rests on
					found, err := w.ConsumerStates([]placement.ConsumerRow{{UUID: vm.UUID}})
					if err != nil || len(found[0].Allocations) != 2 {
						return fmt.Errorf("what it holds: %v, %w", found, err)
					}
				}
				if err := w.WriteClaims(rows); err != nil {
					return err
				}
			}
			return outcome
		})
	}
	remaining := func(what string, want int, owner ...placement.UUID) {
		c.Helper()
		c.view(func(r placement.Reader) error {
			n := 0
			for _, uuid := range owner {
				allocated, err := r.AllocationsOf(uuid)
				if n += len(allocated.Allocations); err != nil {
					return err
				}
			}
			c.same(what, n, want)
			return nil
		})
	}
	all := []placement.UUID{vm.UUID, uuidOf("a"), uuidOf("b")}
	for what, err := range map[string]error{
		"one, and a failure": update(ours, made("a")),
		"two, and a failure": update(ours, made("a"), deleted),
	} {
		if !errors.Is(err, ours) {
			c.Errorf("%s: %v, want %v", what, err, ours)
		}
	}
	for what, err := range map[string]error{
		"one that does not hold":            update(nil, stale),
		"two, of which the second does not": update(nil, made("a"), stale),
		"two, of which the first does not":  update(nil, stale, made("a")),
	} {
		if !errors.Is(err, placement.ErrStale) {
			c.Errorf("%s: %v, want %v", what, err, placement.ErrStale)
		}
	}
	remaining("after those that failed", 2, all...)
	if err := update(nil, made("a"), deleted); err != nil {
		c.Fatalf("two that hold: %v", err)
	}
	remaining("after two that hold", 1, all...)
	big := placement.ClaimRows{Inserts: []placement.ConsumerRow{{UUID: uuidOf("b"), Project: "blue", User: "ann"}}}
	for range 600 {
		big.Allocations = append(big.Allocations, placement.AllocationRow{
			Provider: two.ID, Consumer: uuidOf("b"), Class: 0, Used: 1,
		})
	}
	if err := update(nil, big); err != nil {
		c.Fatalf("a big one: %v", err)
	}
	remaining("after a big one", 601, all...)
}

func readAllocations(c *storeCase) {
	one, two, vm := twoHosts(c)
	c.consumer("idle", "")
	empty := c.provider("cn3", nil)
	c.view(func(r placement.Reader) error {
		owner, err1 := r.AllocationsOf(vm.UUID)
		first := placement.AllocationRow{
			Provider: one.ID, ProviderUUID: one.UUID, Consumer: vm.UUID, ConsumerGeneration: 1, Class: 0, Used: 2,
			Modified: early,
		}
		second := placement.AllocationRow{
			Provider: two.ID, ProviderUUID: two.UUID, Consumer: vm.UUID, ConsumerGeneration: 1, Class: 1, Used: 3,
			Modified: early,
		}
		c.same("AllocationsOf(vm1)", owner, placement.ConsumerAllocations{
			Consumer: vm, Allocations: []placement.AllocationRow{first, second},
		})
		none, err2 := r.AllocationsOf(uuidOf("idle"))
		c.same("AllocationsOf(idle)", none, placement.ConsumerAllocations{})
		ghost, err3 := r.AllocationsOf(uuidOf("ghost"))
		orphan := placement.AllocationRow{
			Provider: one.ID, ProviderUUID: one.UUID, Consumer: uuidOf("ghost"), Class: 0, Used: 1, Modified: early,
		}
		c.same("AllocationsOf(ghost)", ghost, placement.ConsumerAllocations{
			Consumer: placement.ConsumerRow{UUID: uuidOf("ghost")}, Allocations: []placement.AllocationRow{orphan},
		})
		on, g, err4 := r.AllocationsOn(one.UUID)
		c.same("AllocationsOn(cn1)", on, []placement.AllocationRow{first, orphan})
		c.same("the generation of cn1", g, placement.Generation(0))
		on, _, err5 := r.AllocationsOn(empty.UUID)
		c.same("AllocationsOn(cn3)", len(on), 0)
		_, _, unknown := r.AllocationsOn(uuidOf("cn9"))
		return errors.Join(err1, err2, err3, err4, err5, wants("AllocationsOn(unknown)", unknown, placement.ErrNoRow))
	})
}
