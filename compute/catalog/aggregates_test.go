package catalog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/fault"
)

func ptr[T any](v T) *T { return &v }

func TestAggregates(t *testing.T) {
	c := newCloud(t)
	ssd := must(c.CreateAggregate(ctx, " ssd ", ""))
	az := must(c.CreateAggregate(ctx, "rack1", " az1 "))
	if ssd.Number != 1 || ssd.Name != "ssd" || ssd.Zone() != "" || az.Number != 2 || az.Zone() != "az1" {
		t.Errorf("the aggregates are %+v and %+v", ssd, az)
	}
	_, err := c.CreateAggregate(ctx, "ssd", "")
	c.Refused("CreateAggregate", err, fault.Conflict, "AggregateNameExists", "Aggregate ssd already exists.")
	_, err = c.UpdateAggregate(ctx, 2, ptr("ssd"), nil)
	c.Refused("UpdateAggregate", err, fault.Conflict, "AggregateNameExists", "Aggregate ssd already exists.")
	_, err = c.UpdateAggregate(ctx, 9, ptr("x"), nil)
	c.Refused("UpdateAggregate", err, fault.NotFound, "AggregateNotFound", "Aggregate 9 could not be found.")
	_, err = c.UpdateAggregate(ctx, 2, nil, ptr(""))
	c.Refused("UpdateAggregate", err, fault.Invalid, "InvalidAggregateActionUpdate",
		"Cannot update aggregate 2. Reason: Aggregate rack1 does not support empty named availability zone.")
	must(c.SetAggregateMetadata(ctx, 1, map[string]*string{"ssd": ptr("true"), "x": ptr("y")}))
	got := must(c.SetAggregateMetadata(ctx, 1, map[string]*string{"x": nil}))
	if diff := cmp.Diff(map[string]string{"ssd": "true"}, got.Metadata); diff != "" || got.UpdatedAt.IsZero() {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, must(c.Aggregate(ctx, 1))); diff != "" {
		t.Errorf("it was kept otherwise:\n%s", diff)
	}
	if err := c.DeleteAggregate(ctx, 1); err != nil {
		t.Error(err)
	}
	c.Refused("DeleteAggregate", c.DeleteAggregate(ctx, 1), fault.NotFound, "AggregateNotFound",
		"Aggregate 1 could not be found.")
	if again := must(c.CreateAggregate(ctx, "ssd", "")); again.Number != 3 {
		t.Errorf("the number %d was given before", again.Number)
	}
}

func TestHostsOfAggregates(t *testing.T) {
	c := newCloud(t)
	c.hosts("cn1", "cn2")
	must(c.CreateAggregate(ctx, "rack1", "az1"))
	must(c.CreateAggregate(ctx, "rack2", "az2"))
	must(c.AddHost(ctx, 1, "cn2"))
	a := must(c.AddHost(ctx, 1, "cn1"))
	if diff := cmp.Diff([]string{"cn1", "cn2"}, a.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		number int64
		host   string
		kind   fault.Kind
		code   fault.Code
		text   string
	}{
		{1, "nobody", fault.NotFound, "ComputeHostNotFound", "Compute host nobody could not be found."},
		{9, "nobody", fault.NotFound, "ComputeHostNotFound", "Compute host nobody could not be found."},
		{9, "cn1", fault.NotFound, "AggregateNotFound", "Aggregate 9 could not be found."},
		{1, "cn1", fault.Conflict, "AggregateHostExists", "Aggregate 1 already has host cn1."},
		{
			2, "cn1", fault.Conflict, "InvalidAggregateActionAdd",
			"Cannot add host to aggregate 2. Reason: One or more hosts already in availability zone(s) ['az1'].",
		},
	} {
		_, err := c.AddHost(ctx, test.number, test.host)
		c.Refused(fmt.Sprintf("AddHost(%d, %s)", test.number, test.host), err, test.kind, test.code, test.text)
	}
	c.Refused("DeleteAggregate", c.DeleteAggregate(ctx, 1), fault.Invalid, "InvalidAggregateActionDelete",
		"Cannot remove host from aggregate 1. Reason: Host aggregate is not empty.")
	must(c.RemoveHost(ctx, 1, "cn1"))
	_, err := c.RemoveHost(ctx, 1, "cn1")
	c.Refused("RemoveHost", err, fault.NotFound, "AggregateHostNotFound", "Aggregate 1 has no host cn1.")
	mirrors := map[string]bool{}
	for _, m := range computetest.Read[compute.MirrorRow](t, c.Store) {
		if m.Aggregate == a.ID {
			mirrors[m.Host] = m.Member
		}
	}
	if diff := cmp.Diff(map[string]bool{"cn1": false, "cn2": true}, mirrors); diff != "" {
		t.Errorf("what is to be reported to placement (-want +got):\n%s", diff)
	}
}

// A zone does not change under servers, and a host is in one only.
func TestZonesDoNotChangeUnderServers(t *testing.T) {
	c := newCloud(t)
	c.hosts("cn1")
	must(c.CreateAggregate(ctx, "rack1", ""))
	must(c.CreateAggregate(ctx, "rack2", "az2"))
	must(c.AddHost(ctx, 1, "cn1"))
	must(c.UpdateAggregate(ctx, 1, nil, ptr("az1")))
	c.Add(computetest.Server("vm", "cn1"))
	_, err := c.UpdateAggregate(ctx, 1, nil, ptr("az9"))
	c.Refused("UpdateAggregate", err, fault.Invalid, "InvalidAggregateActionUpdate",
		"Cannot update aggregate 1. Reason: One or more hosts contain instances in this zone.")
	_, err = c.SetAggregateMetadata(ctx, 1, map[string]*string{"availability_zone": ptr("az9")})
	c.Refused("SetAggregateMetadata", err, fault.Invalid, "InvalidAggregateActionUpdateMeta",
		"Cannot update metadata of aggregate 1. Reason: One or more hosts contain instances in this zone.")
	_, err = c.SetAggregateMetadata(ctx, 1, map[string]*string{"availability_zone": nil})
	c.Refused("SetAggregateMetadata", err, fault.Invalid, "InvalidAggregateActionUpdateMeta",
		"Cannot update metadata of aggregate 1. Reason: Aggregate rack1 does not support empty named availability zone.")
	must(c.UpdateAggregate(ctx, 1, ptr("row1"), ptr("az1"))) // the same zone
}
