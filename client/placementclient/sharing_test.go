package placementclient_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	computerequest "github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

func testSharing(t *testing.T, service *clienttest.Proxy, c *placementclient.Compute) {
	const nfs, other, aggregate, consumer = "00000000-0000-4000-8000-0000000000c1", "00000000-0000-4000-8000-0000000000c2",
		"00000000-0000-4000-8000-0000000000c3", "00000000-0000-4000-8000-0000000000c4"
	ctx := t.Context()
	inventories := map[string]placement.Inventory{"DISK_GB": providertreetest.Offer(100)}
	clienttest.Must(t, "Set", providertreetest.Set(ctx, c,
		providertree.Provider{ID: nfs, Name: "nfs", Inventories: inventories, Traits: []string{placement.SharesViaAggregate}},
		providertree.Provider{ID: other, Name: "host two", Inventories: inventories}))
	clienttest.Must(t, "Group", c.Group(ctx, nfs, aggregate, true))
	allocated := allocations.Consumer{
		Amounts: allocations.Amounts{
			nfs: {"DISK_GB": 20}, other: {"DISK_GB": 1}, clienttest.DeviceID: {guarantee.EgressBandwidth: 1},
		},
		Project: "p", User: "u",
	}
	clienttest.Must(t, "SetAllocations", c.SetAllocations(ctx, consumer, allocated))
	defer func() { // the tests that follow create their own providers
		set, err := c.Allocations(ctx, consumer)
		clienttest.Must(t, "Allocations", err)
		set.Amounts = nil
		clienttest.Must(t, "SetAllocations of nothing", c.SetAllocations(ctx, consumer, set))
		clienttest.Must(t, "Remove", c.Remove(ctx, nfs))
		clienttest.Must(t, "Remove", c.Remove(ctx, other))
	}()
	got, err := c.Sharing(ctx, clienttest.RootID, allocated.Amounts)
	clienttest.Must(t, "Sharing", err)
	want := []computerequest.Shared{{
		Provider: nfs, Aggregates: []placement.UUID{aggregate}, Traits: []string{placement.SharesViaAggregate},
		Inventories: inventories, Used: map[string]int64{"DISK_GB": 20}, Amounts: map[string]int64{"DISK_GB": 20},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Sharing (-want +got):\n%s", diff)
	}
	service.Requests()
	got, err = c.Sharing(ctx, clienttest.RootID, allocations.Amounts{clienttest.RootID: {"VCPU": 1}})
	if n := len(service.Requests()); err != nil || len(got) > 0 || n > 0 {
		t.Errorf("Sharing of a server that has something of its host only = %v, %v, with %d requests", got, err, n)
	}
	for what, amounts := range map[string]allocations.Amounts{
		"what is below the host":   {clienttest.DeviceID: {guarantee.EgressBandwidth: 1}},
		"a provider that has gone": {clienttest.NoneID: {"DISK_GB": 1}},
	} {
		if got, err := c.Sharing(ctx, clienttest.RootID, amounts); err != nil || len(got) > 0 {
			t.Errorf("Sharing of %s = %v, %v", what, got, err)
		}
	}
	if got, err := c.Sharing(ctx, clienttest.NoneID, allocated.Amounts); err != nil || len(got) > 0 {
		t.Errorf("Sharing with an unknown host = %v, %v", got, err)
	}
}
