package clients

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/allocationcandidates"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/allocations"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/traits"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/usages"

	"github.com/berthcloud/berth/internal/rest"
)

// The cloud of these tests: a host with a network interface, and another host.
var (
	gHost  = rest.UUID("60", 1)
	gNIC   = rest.UUID("60", 2)
	gOther = rest.UUID("60", 3)
	gFirst = rest.UUID("6c", 1)
	gNext  = rest.UUID("6c", 2)
)

// A gopher drives gophercloud at one microversion.
type gopher struct {
	t   *testing.T
	c   *gophercloud.ServiceClient
	ctx context.Context
}

func newGopher(t *testing.T, url, version string) *gopher {
	p := &gophercloud.ProviderClient{TokenID: "admin"}
	return &gopher{t: t, ctx: context.Background(), c: &gophercloud.ServiceClient{
		ProviderClient: p,
		Endpoint:       url + "/",
		Type:           "placement",
		Microversion:   version,
	}}
}

// ok ends the test unless a call succeeded.
func (g *gopher) ok(what string, err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatalf("%s at %s: %v", what, g.c.Microversion, err)
	}
}

// refused reports an error unless a call failed with the status want.
func (g *gopher) refused(what string, err error, want int) {
	g.t.Helper()
	if !gophercloud.ResponseCodeIs(err, want) {
		g.t.Errorf("%s at %s: %v, want status %d", what, g.c.Microversion, err, want)
	}
}

// same reports an error unless got equals want.
func (g *gopher) same(what string, want, got any) {
	g.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		g.t.Errorf("%s at %s (-want +got)\n%s", what, g.c.Microversion, d)
	}
}

// TestGophercloud makes every call of gophercloud's placement packages at several microversions.
// Creating a provider needs a body in the answer, so before 1.20 the cloud exists already.
func TestGophercloud(t *testing.T) {
	rest.Each(t, func(t *testing.T, url string) {
		c := rest.New(url, rest.Newest)
		defer c.Close()
		for _, version := range []string{"1.1", "1.10", "1.14", "1.20", "1.29", "1.37", "1.39"} {
			t.Run(version, func(t *testing.T) {
				c.Clear(t)
				g := newGopher(t, url, version)
				if g.before("1.20") {
					c.AddProvider(t, gHost, "", nil)
					c.AddProvider(t, gNIC, gHost, nil)
					c.AddProvider(t, gOther, "", nil)
				} else {
					g.create()
				}
				g.providers()
				g.inventories()
				g.aggregates()
				g.classes()
				g.traits()
				g.consumers(c)
				g.candidates()
				g.remove()
			})
		}
	})
}

// before compares the client's microversion; all of them have the same major.
func (g *gopher) before(version string) bool {
	return minor(g.t, g.c.Microversion) < minor(g.t, version)
}

func (g *gopher) create() {
	for _, o := range []resourceproviders.CreateOpts{
		{Name: "provider " + gHost, UUID: gHost},
		{Name: "provider " + gNIC, UUID: gNIC, ParentProviderUUID: gHost},
		{Name: "provider " + gOther, UUID: gOther},
	} {
		p, err := resourceproviders.Create(g.ctx, g.c, o).Extract()
		g.ok("create "+o.Name, err)
		g.same("created", o, resourceproviders.CreateOpts{
			Name: p.Name, UUID: p.UUID, ParentProviderUUID: p.ParentProviderUUID,
		})
	}
	again := resourceproviders.CreateOpts{Name: "provider " + gHost}
	_, err := resourceproviders.Create(g.ctx, g.c, again).Extract()
	g.refused("create a second "+again.Name, err, 409)
}

func (g *gopher) list(what string, o resourceproviders.ListOptsBuilder) []string {
	g.t.Helper()
	page, err := resourceproviders.List(g.c, o).AllPages(g.ctx)
	g.ok("list providers "+what, err)
	ps, err := resourceproviders.ExtractResourceProviders(page)
	g.ok("list providers "+what, err)
	var ids []string
	for _, p := range ps {
		ids = append(ids, p.UUID)
	}
	slices.Sort(ids)
	return ids
}

func (g *gopher) providers() {
	g.same("all providers", []string{gHost, gNIC, gOther}, g.list("", resourceproviders.ListOpts{}))
	g.same("by name", []string{gNIC}, g.list("by name", resourceproviders.ListOpts{Name: "provider " + gNIC}))
	g.same("by uuid", []string{gNIC}, g.list("by uuid", resourceproviders.ListOpts{UUID: gNIC}))

	p, err := resourceproviders.Get(g.ctx, g.c, gNIC).Extract()
	g.ok("get", err)
	g.same("name", "provider "+gNIC, p.Name)
	if !g.before("1.14") {
		g.same("root", gHost, p.RootProviderUUID)
		g.same("tree", []string{gHost, gNIC}, g.list("by tree", resourceproviders.ListOpts{InTree: gNIC}))
	}
	_, err = resourceproviders.Get(g.ctx, g.c, rest.UUID("dead", 1)).Extract()
	g.refused("get", err, 404)
	g.update()
}

// update renames a provider and, where that is possible, moves it to another
// tree and back.
func (g *gopher) update() {
	name := "renamed"
	p, err := resourceproviders.Update(g.ctx, g.c, gOther, resourceproviders.UpdateOpts{Name: &name}).Extract()
	g.ok("rename", err)
	g.same("renamed", name, p.Name)
	if g.before("1.37") {
		return
	}
	for _, parent := range []string{gHost, gNIC, ""} {
		p, err := resourceproviders.Update(g.ctx, g.c, gOther,
			resourceproviders.UpdateOpts{Name: &name, ParentProviderUUID: &parent}).Extract()
		g.ok("move below "+parent, err)
		g.same("parent", parent, p.ParentProviderUUID)
	}
	_, err = resourceproviders.Update(g.ctx, g.c, gHost,
		resourceproviders.UpdateOpts{Name: &name, ParentProviderUUID: &gNIC}).Extract()
	g.refused("move below itself", err, 400)
}

func (g *gopher) generation(uuid string) int {
	g.t.Helper()
	p, err := resourceproviders.Get(g.ctx, g.c, uuid).Extract()
	g.ok("get", err)
	return p.Generation
}

// stock returns an inventory with upstream's defaults.
func stock(total int) resourceproviders.Inventory {
	return resourceproviders.Inventory{AllocationRatio: 1, MinUnit: 1, MaxUnit: total, StepSize: 1, Total: total}
}

func (g *gopher) inventories() {
	want := map[string]resourceproviders.Inventory{"VCPU": stock(8), "MEMORY_MB": stock(1024)}
	for _, uuid := range []string{gHost, gOther} {
		set, err := resourceproviders.UpdateInventories(g.ctx, g.c, uuid, resourceproviders.UpdateInventoriesOpts{
			ResourceProviderGeneration: g.generation(uuid), Inventories: want,
		}).Extract()
		g.ok("set inventories", err)
		g.same("set inventories", want, set.Inventories)
	}
	_, err := resourceproviders.UpdateInventories(g.ctx, g.c, gHost, resourceproviders.UpdateInventoriesOpts{
		ResourceProviderGeneration: 99, Inventories: want,
	}).Extract()
	g.refused("set inventories of another generation", err, 409)

	got, err := resourceproviders.GetInventories(g.ctx, g.c, gHost).Extract()
	g.ok("get inventories", err)
	g.same("inventories", want, got.Inventories)
	g.oneInventory(got.ResourceProviderGeneration)
}

func (g *gopher) oneInventory(generation int) {
	set, err := resourceproviders.UpdateInventory(g.ctx, g.c, gHost, "VCPU", resourceproviders.UpdateInventoryOpts{
		ResourceProviderGeneration: generation, Inventory: stock(16),
	}).Extract()
	g.ok("set one inventory", err)
	g.same("set one inventory", resourceproviders.ResourceProviderInventory{
		ResourceProviderGeneration: generation + 1, Inventory: stock(16),
	}, *set)
	got, err := resourceproviders.GetInventory(g.ctx, g.c, gHost, "VCPU").Extract()
	g.ok("get one inventory", err)
	g.same("one inventory", stock(16), got.Inventory)
	_, err = resourceproviders.GetInventory(g.ctx, g.c, gHost, "DISK_GB").Extract()
	g.refused("get no inventory", err, 404)
}

func (g *gopher) aggregates() {
	opts := resourceproviders.UpdateAggregatesOpts{Aggregates: []string{rest.UUID("6a", 1), rest.UUID("6a", 2)}}
	if !g.before("1.19") {
		n := g.generation(gHost)
		opts.ResourceProviderGeneration = &n
	}
	set, err := resourceproviders.UpdateAggregates(g.ctx, g.c, gHost, opts).Extract()
	g.ok("set aggregates", err)
	g.same("set aggregates", opts.Aggregates, set.Aggregates)
	got, err := resourceproviders.GetAggregates(g.ctx, g.c, gHost).Extract()
	g.ok("get aggregates", err)
	g.same("aggregates", opts.Aggregates, slices.Sorted(slices.Values(got.Aggregates)))
	if !g.before("1.3") {
		g.same("members", []string{gHost},
			g.list("by aggregate", resourceproviders.ListOpts{MemberOf: "in:" + rest.UUID("6a", 2)}))
	}
}

func (g *gopher) traits() {
	if g.before("1.6") {
		return
	}
	g.ok("create trait", traits.Create(g.ctx, g.c, "CUSTOM_GOPHER").ExtractErr())
	g.ok("create it again", traits.Create(g.ctx, g.c, "CUSTOM_GOPHER").ExtractErr())
	g.refused("create a bad trait", traits.Create(g.ctx, g.c, "GOPHER").ExtractErr(), 400)
	g.ok("get trait", traits.Get(g.ctx, g.c, "CUSTOM_GOPHER").ExtractErr())
	g.refused("get no trait", traits.Get(g.ctx, g.c, "CUSTOM_NONE").ExtractErr(), 404)

	want := []string{"CUSTOM_GOPHER", "HW_CPU_X86_AVX"}
	set, err := resourceproviders.UpdateTraits(g.ctx, g.c, gHost, resourceproviders.UpdateTraitsOpts{
		ResourceProviderGeneration: g.generation(gHost), Traits: want,
	}).Extract()
	g.ok("set traits", err)
	g.same("set traits", want, slices.Sorted(slices.Values(set.Traits)))
	got, err := resourceproviders.GetTraits(g.ctx, g.c, gHost).Extract()
	g.ok("get traits", err)
	g.same("traits", want, slices.Sorted(slices.Values(got.Traits)))
	g.listTraits()
	g.refused("delete a trait in use", traits.Delete(g.ctx, g.c, "CUSTOM_GOPHER").ExtractErr(), 409)
}

func (g *gopher) listTraits() {
	yes := true
	for _, c := range []struct {
		opts traits.ListOpts
		want []string
	}{
		{traits.ListOpts{Name: "startswith:CUSTOM_"}, []string{"CUSTOM_GOPHER"}},
		{traits.ListOpts{Name: "in:CUSTOM_GOPHER,HW_CPU_X86_SSE"}, []string{"CUSTOM_GOPHER", "HW_CPU_X86_SSE"}},
		{traits.ListOpts{Associated: &yes}, []string{"CUSTOM_GOPHER", "HW_CPU_X86_AVX"}},
	} {
		page, err := traits.List(g.c, c.opts).AllPages(g.ctx)
		g.ok("list traits", err)
		got, err := traits.ExtractTraits(page)
		g.ok("list traits", err)
		g.same("traits", c.want, slices.Sorted(slices.Values(got)))
	}
	if !g.before("1.18") {
		g.same("with trait", []string{gHost}, g.list("by trait", resourceproviders.ListOpts{Required: "CUSTOM_GOPHER"}))
	}
	if !g.before("1.39") {
		o := resourceproviders.ListOpts139{Required: []string{"in:CUSTOM_GOPHER,HW_CPU_X86_SSE", "HW_CPU_X86_AVX"}}
		g.same("with any trait", []string{gHost}, g.list("by any trait", o))
	}
}

// consumers claims with the calls of the allocations package from 1.28, and
// prepares the same before.
func (g *gopher) consumers(c *rest.Client) {
	per := map[string]allocations.ProviderAllocationsOpts{gHost: {Resources: map[string]int{"VCPU": 2, "MEMORY_MB": 512}}}
	opts := allocations.UpdateOpts{Allocations: per, ProjectID: "project", UserID: "user"}
	if !g.before("1.38") {
		opts.ConsumerType = "INSTANCE"
	}
	if g.before("1.28") {
		c.Must(g.t, 204, "PUT", "/allocations/"+gFirst,
			rest.Claim(nil, map[string]rest.Resources{gHost: per[gHost].Resources}))
	} else {
		g.ok("claim", allocations.Update(g.ctx, g.c, gFirst, opts).ExtractErr())
		g.refused("claim as if new", allocations.Update(g.ctx, g.c, gFirst, opts).ExtractErr(), 409)
		g.manage(opts)
	}
	g.usages()
	if !g.before("1.12") {
		got, err := allocations.Get(g.ctx, g.c, gFirst).Extract()
		g.ok("get allocations", err)
		g.same("allocations", per[gHost].Resources, got.Allocations[gHost].Resources)
		g.same("project", "project", *got.ProjectID)
	}
}

// manage allocates to and removes from a second consumer in one request with the first one, whose
// allocations are unchanged.
func (g *gopher) manage(opts allocations.UpdateOpts) {
	first, err := allocations.Get(g.ctx, g.c, gFirst).Extract()
	g.ok("get allocations", err)
	opts.ConsumerGeneration = first.ConsumerGeneration
	next := opts
	next.ConsumerGeneration = nil
	both := allocations.ManageOpts{gFirst: opts, gNext: next}
	g.ok("manage", allocations.Manage(g.ctx, g.c, both).ExtractErr())
	g.refused("manage again", allocations.Manage(g.ctx, g.c, both).ExtractErr(), 409)
	g.ok("delete allocations", allocations.Delete(g.ctx, g.c, gNext).ExtractErr())
	g.refused("delete no allocations", allocations.Delete(g.ctx, g.c, gNext).ExtractErr(), 404)
}

func (g *gopher) usages() {
	want := map[string]int{"VCPU": 2, "MEMORY_MB": 512}
	used, err := resourceproviders.GetUsages(g.ctx, g.c, gHost).Extract()
	g.ok("get usages", err)
	g.same("usages", want, used.Usages)
	allocated, err := resourceproviders.GetAllocations(g.ctx, g.c, gHost).Extract()
	g.ok("get the provider's allocations", err)
	g.same("the provider's allocations", map[string]resourceproviders.Allocation{gFirst: {Resources: want}},
		allocated.Allocations)
	if g.before("1.9") {
		return
	}
	opts := usages.GetOpts{ProjectID: "project", UserID: "user"}
	if g.before("1.38") {
		got, err := usages.Get(g.ctx, g.c, opts).ExtractPre138()
		g.ok("get the project's usages", err)
		g.same("the project's usages", want, got.Usages)
		return
	}
	opts.ConsumerType = "INSTANCE"
	got, err := usages.Get(g.ctx, g.c, opts).Extract()
	g.ok("get the project's usages", err)
	want = maps.Clone(want)
	want["consumer_count"] = 1
	g.same("the project's usages", map[string]usages.ConsumerTypeUsage{"INSTANCE": want}, got.Usages)
}

func (g *gopher) candidates() {
	if g.before("1.10") {
		return
	}
	g.offers("plain", allocationcandidates.ListOpts{Resources: "VCPU:2,MEMORY_MB:512"}, gHost, gOther)
	if g.before("1.25") {
		return
	}
	g.offers("with a trait", allocationcandidates.ListOpts{
		Resources: "VCPU:2", Required: []string{"CUSTOM_GOPHER"},
	}, gHost)
	g.offers("in a group", allocationcandidates.ListOpts{
		ResourceGroups: map[string]allocationcandidates.ResourceGroup{
			"1": {Resources: "VCPU:2", Required: []string{"!CUSTOM_GOPHER"}},
		},
	}, gOther)
	if g.before("1.36") {
		return
	}
	g.offers("in groups", allocationcandidates.ListOpts{
		Resources: "MEMORY_MB:16", GroupPolicy: "none", Limit: 10, RootRequired: "CUSTOM_GOPHER",
		SameSubtree: []string{"_A,_B"}, InTree: gHost,
		ResourceGroups: map[string]allocationcandidates.ResourceGroup{
			"_A": {Resources: "VCPU:1", MemberOf: "in:" + rest.UUID("6a", 1)},
			"_B": {Resources: "VCPU:1", InTree: gNIC},
		},
	}, gHost)
}

// offers reports an error unless the candidates are the given providers, one each.
func (g *gopher) offers(what string, opts allocationcandidates.ListOpts, want ...string) {
	g.t.Helper()
	page, err := allocationcandidates.List(g.c, opts).AllPages(g.ctx)
	g.ok("candidates "+what, err)
	var got []string
	if g.before("1.12") {
		all, err := allocationcandidates.ExtractAllocationCandidates110(page)
		g.ok("candidates "+what, err)
		for _, r := range all.AllocationRequests {
			for _, a := range r.Allocations {
				got = append(got, a.ResourceProvider.UUID)
			}
		}
		slices.Sort(got)
		g.same("candidates "+what, want, got)
		return
	}
	all, err := allocationcandidates.ExtractAllocationCandidates(page)
	g.ok("candidates "+what, err)
	for _, r := range all.AllocationRequests {
		got = slices.AppendSeq(got, maps.Keys(r.Allocations))
	}
	slices.Sort(got)
	g.same("candidates "+what, want, got)
}

// remove removes the objects of the calls before.
func (g *gopher) remove() {
	err := resourceproviders.Delete(g.ctx, g.c, gHost).ExtractErr()
	g.refused("delete a provider in use", err, 409)
	g.ok("delete allocations", allocations.Delete(g.ctx, g.c, gFirst).ExtractErr())
	if !g.before("1.6") {
		g.ok("delete traits", resourceproviders.DeleteTraits(g.ctx, g.c, gHost).ExtractErr())
		g.ok("delete trait", traits.Delete(g.ctx, g.c, "CUSTOM_GOPHER").ExtractErr())
	}
	g.ok("delete one inventory", resourceproviders.DeleteInventory(g.ctx, g.c, gHost, "VCPU").ExtractErr())
	if !g.before("1.5") {
		g.ok("delete inventories", resourceproviders.DeleteInventories(g.ctx, g.c, gHost).ExtractErr())
	}
	for _, uuid := range []string{gNIC, gHost, gOther} {
		g.ok("delete provider", resourceproviders.Delete(g.ctx, g.c, uuid).ExtractErr())
	}
}
