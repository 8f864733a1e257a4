package service_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

func TestProvidersAreCreated(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	create := func(uuid, name, parent placement.UUID) error {
		_, err := c.CreateProvider(ctx, placement.NewProvider{UUID: uuid, Name: string(name), Parent: parent})
		return err
	}
	c.provider("host", "")
	c.provider("numa", "host")
	c.provider("nic", "numa")
	p, tree := c.snapshot().Provider("nic")
	if info := tree.Info(p); info.Root != "host" || info.Parent != "numa" || info.Generation != 0 {
		t.Errorf("nic is %+v, want root host, parent numa, generation 0", info)
	}
	c.refuses("the UUID again", create("host", "other", ""), fault.Conflict, placement.CodeDuplicateName,
		"Conflicting resource provider uuid: host already exists.")
	c.refuses("the name again", create("other", "host", ""), fault.Conflict, placement.CodeDuplicateName,
		"Conflicting resource provider name: host already exists.")
	c.refuses("no such parent", create("x", "x", "nobody"), fault.Invalid, "",
		`Unable to create resource provider "x", x: Object action create failed because: parent provider UUID `+
			`does not exist.`)
	c.refuses("no name", create("x", "", "nobody"), fault.Invalid, "",
		`Unable to create resource provider "", x: Object action create failed because: name is required`)
	c.refuses("its own parent", create("x", "x", "x"), fault.Invalid, "",
		`Unable to create resource provider "x", x: Object action create failed because: `+
			`parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is no parent.`)
}

func (c *cloud) moves(uuid, parent placement.UUID, reparent bool) error {
	change := placement.ProviderChange{Name: string(uuid), SetParent: true, Parent: parent, Reparent: reparent}
	_, err := c.UpdateProvider(context.Background(), uuid, change)
	return err
}

// layout lists root and parent of each provider.
func (c *cloud) shape() map[placement.UUID]string {
	shape := make(map[placement.UUID]string)
	for tree := range c.snapshot().Trees() {
		for _, p := range tree.Providers {
			info := tree.Info(p)
			shape[p.UUID] = string(info.Root + " < " + info.Parent)
		}
	}
	return shape
}

func (c *cloud) wantShape(step string, want map[placement.UUID]string) {
	c.Helper()
	if diff := cmp.Diff(want, c.shape()); diff != "" {
		c.Errorf("%s (-want +got):\n%s", step, diff)
	}
}

func TestProvidersMoveWithTheirSubtrees(t *testing.T) {
	c := newCloud(t)
	c.provider("a", "")
	c.provider("b", "")
	c.provider("b1", "b")
	c.provider("b2", "b1")
	c.provider("leaf", "b2")
	c.rises("b", 0, "a first parent, before 1.37", func() error { return c.moves("b", "a", false) })
	c.wantShape("b under a", map[placement.UUID]string{
		"a": "a < ", "b": "a < a", "b1": "a < b", "b2": "a < b1", "leaf": "a < b2",
	})
	c.must(c.moves("b", "a", false)) // no change is no move
	const prefix = "Unable to save resource provider b1: Object action "
	c.refuses("another parent before 1.37", c.moves("b1", "a", false), fault.Invalid, "",
		prefix+"update failed because: re-parenting a provider is not currently allowed.")
	c.refuses("no parent before 1.37", c.moves("b1", "", false), fault.Invalid, "",
		prefix+"update failed because: un-parenting a provider is not currently allowed.")
	c.refuses("an unknown parent", c.moves("b1", "nobody", true), fault.Invalid, "",
		prefix+"create failed because: parent provider UUID does not exist.")
	for _, below := range []placement.UUID{"b1", "b2", "leaf"} {
		c.refuses("a parent below", c.moves("b1", below, true), fault.Invalid, "",
			prefix+"update failed because: creating loop in the provider tree is not allowed.")
	}
	c.must(c.moves("b1", "", true))
	c.wantShape("b1 alone", map[placement.UUID]string{
		"a": "a < ", "b": "a < a", "b1": "b1 < ", "b2": "b1 < b1", "leaf": "b1 < b2",
	})
	c.must(c.moves("b1", "a", true))
	c.must(c.moves("b2", "b", true))
	c.wantShape("b2 under b", map[placement.UUID]string{
		"a": "a < ", "b": "a < a", "b1": "a < a", "b2": "a < b", "leaf": "a < b2",
	})
}

func TestProvidersAreRenamed(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("a", "")
	c.provider("b", "")
	rename := func(uuid placement.UUID, to string) error {
		_, err := c.UpdateProvider(ctx, uuid, placement.ProviderChange{Name: to})
		return err
	}
	c.rises("a", 0, "a rename", func() error { return rename("a", "z") })
	c.must(rename("a", "z"))
	c.refuses("a taken name", rename("b", "z"), fault.Conflict, placement.CodeDuplicateName,
		"Conflicting resource provider z already exists.")
	c.refuses("an unknown provider", rename("x", "x"), fault.NotFound, "", "No resource provider with uuid x found")
	c.must(rename("b", "a"))
	if p, _ := c.snapshot().ProviderNamed("a"); p == nil || p.UUID != "b" {
		t.Errorf("ProviderNamed(a) = %v, want b", p)
	}
}

func TestProvidersAreDeleted(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("host", "")
	c.provider("nic", "host")
	c.offers("nic", offer("VCPU", 4))
	c.claims(claim("server", on("nic", "VCPU", 1)))
	c.refuses("a parent", c.DeleteProvider(ctx, "host"), fault.Conflict, placement.CodeCannotDeleteParent,
		"Unable to delete parent resource provider host: It has child resource providers.")
	c.refuses("one in use", c.DeleteProvider(ctx, "nic"), fault.Conflict, placement.CodeProviderInUse,
		"Unable to delete resource provider nic: Resource provider has allocations.")
	c.refuses("none", c.DeleteProvider(ctx, "x"), fault.NotFound, "", "No resource provider with uuid x found for delete")
	c.must(c.DeleteAllocations(ctx, "server"))
	c.must(c.DeleteProvider(ctx, "nic"))
	c.must(c.DeleteProvider(ctx, "host"))
	if n := c.snapshot().Len(); n != 0 {
		t.Errorf("%d providers are left", n)
	}
}

func TestTraitsAndAggregatesRaiseGenerations(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("host", "")
	set := func(names ...string) func() error {
		return func() error {
			_, err := c.SetTraits(ctx, "host", c.generation("host"), names)
			return err
		}
	}
	c.rises("host", 1, "traits", set("COMPUTE_NODE", "HW_CPU_X86_VMX"))
	c.rises("host", 0, "the same traits", set("HW_CPU_X86_VMX", "COMPUTE_NODE"))
	c.rises("host", 1, "fewer traits", set("COMPUTE_NODE"))
	c.rises("host", 1, "DELETE of traits", func() error { return c.DeleteTraits(ctx, "host") })
	join := func(seen bool) func() error {
		return func() error {
			g := c.generation("host")
			generation := &g
			if !seen {
				generation = nil
			}
			_, err := c.SetAggregates(ctx, "host", generation, []placement.UUID{"rack"})
			return err
		}
	}
	c.rises("host", 0, "aggregates before 1.19", join(false))
	c.rises("host", 1, "aggregates from 1.19", join(true))
	const changed = "Resource provider's generation already changed. Please update the generation and try again."
	_, err := c.SetTraits(ctx, "host", 77, nil)
	c.refuses("traits of another generation", err, fault.Conflict, placement.CodeConcurrentUpdate, changed)
	old := placement.Generation(77)
	_, err = c.SetAggregates(ctx, "host", &old, nil)
	c.refuses("aggregates of another generation", err, fault.Conflict, placement.CodeConcurrentUpdate, changed)
	_, err = c.SetTraits(ctx, "host", c.generation("host"), []string{"COMPUTE_NODE", "X", "Y"})
	c.refuses("unknown traits", err, fault.Invalid, "", "No such trait X, Y")
}

func TestTraitsComeAndGo(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	for _, want := range []bool{true, false} {
		if created, err := c.EnsureTrait(ctx, "CUSTOM_GOLD"); err != nil || created != want {
			t.Errorf("EnsureTrait(CUSTOM_GOLD) = %t, %v, want %t", created, err, want)
		}
	}
	c.provider("host", "")
	_, err := c.SetTraits(ctx, "host", 0, []string{"CUSTOM_GOLD"})
	c.must(err)
	c.refuses("a trait in use", c.DeleteTrait(ctx, "CUSTOM_GOLD"), fault.Conflict, "",
		"The trait CUSTOM_GOLD is in use by a resource provider.")
	c.refuses("a standard trait", c.DeleteTrait(ctx, "COMPUTE_NODE"), fault.Invalid, "",
		"Cannot delete standard trait COMPUTE_NODE.")
	c.refuses("no trait", c.DeleteTrait(ctx, "CUSTOM_X"), fault.NotFound, "", "No such trait(s): CUSTOM_X.")
	c.must(c.DeleteTraits(ctx, "host"))
	c.must(c.DeleteTrait(ctx, "CUSTOM_GOLD"))
	if _, ok := c.snapshot().Trait("CUSTOM_GOLD"); ok {
		t.Error("the deleted trait is in the snapshot")
	}
}

func TestClassesComeAndGo(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	if n := len(c.snapshot().Classes().List()); n != 21 {
		t.Errorf("there are %d standard classes, want 21", n)
	}
	c.must(c.CreateClass(ctx, "CUSTOM_A"))
	if id, _ := c.snapshot().Class("CUSTOM_A"); id != placement.FirstCustomClass {
		t.Errorf("the first custom class has the id %d, want %d", id, placement.FirstCustomClass)
	}
	c.must(c.CreateClass(ctx, "CUSTOM_B"))
	c.refuses("a class again", c.CreateClass(ctx, "CUSTOM_A"), fault.Conflict, "",
		"Conflicting resource class already exists: CUSTOM_A")
	c.refuses("a taken name", c.RenameClass(ctx, "CUSTOM_A", "CUSTOM_B"), fault.Conflict, "",
		"Resource class already exists: CUSTOM_B")
	c.refuses("a standard class", c.RenameClass(ctx, "VCPU", "CUSTOM_C"), fault.Invalid, "",
		"Cannot update standard resource class VCPU")
	c.refuses("no class", c.RenameClass(ctx, "CUSTOM_X", "CUSTOM_C"), fault.NotFound, "",
		"No such resource class CUSTOM_X.")
	c.must(c.RenameClass(ctx, "CUSTOM_A", "CUSTOM_C"))
	c.provider("host", "")
	c.offers("host", offer("CUSTOM_C", 1))
	c.refuses("deleting one in use", c.DeleteClass(ctx, "CUSTOM_C"), fault.Conflict, "",
		"Error in delete resource class: Cannot delete resource class CUSTOM_C. Class is in use in inventory.")
	c.refuses("deleting a standard one", c.DeleteClass(ctx, "VCPU"), fault.Invalid, "",
		"Error in delete resource class: Cannot delete standard resource class VCPU.")
	c.refuses("deleting none", c.DeleteClass(ctx, "CUSTOM_A"), fault.NotFound, "", "No such resource class CUSTOM_A.")
	c.offers("host")
	c.must(c.DeleteClass(ctx, "CUSTOM_C"))
	if created, err := c.EnsureClass(ctx, "CUSTOM_B"); created || err != nil {
		t.Errorf("EnsureClass(CUSTOM_B) = %t, %v, want false", created, err)
	}
}
