package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/fault"
)

// serviceOf returns the service of a host.
func (c *cloud) serviceOf(host string) compute.HostService {
	c.Helper()
	for _, s := range must(c.Services(ctx)) {
		if s.Host == host {
			return s
		}
	}
	c.Fatalf("there is no host %s", host)
	return compute.HostService{}
}

func TestReportsMakeHosts(t *testing.T) {
	c := newCloud(t)
	c.hosts("cn1", "cn2")
	s := c.serviceOf("cn1")
	if !s.Up || s.Number != 1 || s.Zone != "nova" || s.Binary != "nova-compute" || s.Disabled {
		t.Errorf("the service is %+v", s)
	}
	c.Clock = c.Clock.Add(time.Minute + time.Second)
	if c.serviceOf("cn1").Up {
		t.Error("a host that is silent for too long is up")
	}
	_, node := computetest.Host("cn1", 0)
	node.VCPUs, node.Failed = 16, 7
	if err := c.Report(ctx, compute.Report{Host: "cn1", Version: 67, Node: *node}); err != nil {
		t.Fatal(err)
	}
	if s := c.serviceOf("cn1"); !s.Up || s.Version != 67 || c.serviceOf("cn2").Up {
		t.Errorf("the service is %+v", s)
	}
	all := must(c.Hypervisors(ctx))
	if len(all) != 2 || all[0].VCPUs != 16 || all[0].Failed != 0 || all[0].Number != 1 {
		t.Errorf("the hypervisors are %+v", all)
	}
	for _, other := range []compute.NodeRow{
		{ID: computetest.ID("cn1"), Name: "cn9"}, {ID: computetest.ID("cn9"), Name: "cn1"},
	} {
		err := c.Report(ctx, compute.Report{Host: "cn9", Node: other})
		c.Refused("Report", err, fault.Conflict, "NodeTaken",
			fmt.Sprintf("The hypervisor %s (%s) is another host's.", other.Name, other.ID))
	}
	if n := len(must(c.Services(ctx))); n != 2 {
		t.Errorf("%d services, want 2", n)
	}
}

func TestChangeService(t *testing.T) {
	c := newCloud(t)
	c.hosts("cn1")
	id := c.serviceOf("cn1").ID
	s := must(c.ChangeService(ctx, id, fleet.ServiceChange{Disabled: ptr(true), Reason: ptr("broken")}))
	if !s.Disabled || s.Reason != "broken" {
		t.Errorf("the service is %+v", s)
	}
	s = must(c.ChangeService(ctx, id, fleet.ServiceChange{ForcedDown: ptr(true)}))
	if s.Up || s.Reason != "broken" {
		t.Errorf("the service is %+v", s)
	}
	s = must(c.ChangeService(ctx, id, fleet.ServiceChange{Disabled: ptr(false), ForcedDown: ptr(false)}))
	if !s.Up || s.Reason != "" || s.Disabled {
		t.Errorf("the service is %+v", s)
	}
	_, err := c.ChangeService(ctx, "x", fleet.ServiceChange{})
	c.Refused("ChangeService", err, fault.NotFound, "ServiceNotFound", "Service x could not be found.")
}

func TestDeleteService(t *testing.T) {
	c := newCloud(t)
	c.hosts("cn1", "cn2")
	must(c.CreateAggregate(ctx, "rack1", ""))
	must(c.AddHost(ctx, 1, "cn1"))
	id := c.serviceOf("cn1").ID
	vm := computetest.Server("vm", "cn1")
	c.Add(vm, &compute.MigrationRow{ID: computetest.ID("m"), Source: "cn2", Dest: "cn1", Status: "migrating"})
	c.Refused("DeleteService", c.DeleteService(ctx, id), fault.Conflict, "HTTPConflict",
		"Unable to delete compute service that is hosting instances. Migrate or delete the instances first.")
	c.remove(&compute.ServerRow{}, vm.ID)
	c.Refused("DeleteService", c.DeleteService(ctx, id), fault.Conflict, "HTTPConflict",
		"Unable to delete compute service that has in-progress migrations. Complete the migrations or delete the "+
			"instances first.")
	c.remove(&compute.MigrationRow{}, computetest.ID("m"))
	c.Add(&compute.MigrationRow{ID: computetest.ID("old"), Source: "cn1", Dest: "cn2", Status: "confirmed"})
	revision := func([]fleet.Wanted) (string, error) { return "empty", nil }
	must(c.AwaitWanted(ctx, "cn1", "", 0, revision))
	if err := c.DeleteService(ctx, id); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := c.AwaitWanted(soon, "cn1", "empty", time.Hour, revision)
	c.Refused("AwaitWanted", err, fault.NotFound, "ComputeHostNotFound", "Compute host cn1 could not be found.")
	if a := must(c.Aggregate(ctx, 1)); len(a.Hosts) != 0 {
		t.Errorf("the aggregate has %v", a.Hosts)
	}
	if all := must(c.Hypervisors(ctx)); len(all) != 1 || all[0].Host != "cn2" {
		t.Errorf("the hypervisors are %+v", all)
	}
	if m := computetest.Read[compute.MirrorRow](t, c.Store); len(m) != 1 || m[0].Member {
		t.Errorf("placement is to get %+v", m)
	}
	c.Refused("DeleteService", c.DeleteService(ctx, id), fault.NotFound, "ServiceNotFound",
		fmt.Sprintf("Service %s not found.", id))
}

// remove removes a row.
func (c *cloud) remove(row any, id compute.ID) {
	c.Helper()
	err := c.Store.Update(ctx, c.Clock, func(w compute.Writer) error {
		_, err := w.Remove(row, compute.Where(compute.ByID, id))
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
}

func TestHypervisorsCountTheirServers(t *testing.T) {
	c := newCloud(t)
	c.hosts("cn1", "cn2")
	for i, host := range []string{"cn1", "cn1", "cn2", ""} {
		s := computetest.Server(fmt.Sprint("vm", i), host)
		s.Flavor = computetest.Flavor("f", 2, 512, 3).Keep()
		c.Add(s)
	}
	var got []string
	for _, h := range must(c.Hypervisors(ctx)) {
		got = append(got, fmt.Sprintf("%s %d %+v %v", h.Name, len(h.Servers), h.Used, h.Service.Up))
	}
	want := []string{"cn1 2 {VCPUs:4 MemoryMB:1024 DiskGB:6} true", "cn2 1 {VCPUs:2 MemoryMB:512 DiskGB:3} true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hypervisors (-want +got):\n%s", diff)
	}
}

func TestZones(t *testing.T) {
	c := newCloud(t)
	c.hosts("cn1", "cn2", "cn3")
	must(c.CreateAggregate(ctx, "rack1", "az1"))
	must(c.CreateAggregate(ctx, "rack2", "az2"))
	must(c.AddHost(ctx, 1, "cn1"))
	must(c.AddHost(ctx, 2, "cn2"))
	must(c.ChangeService(ctx, c.serviceOf("cn1").ID, fleet.ServiceChange{Disabled: ptr(true)}))
	var got []string
	for _, z := range must(c.Zones(ctx)) {
		got = append(got, fmt.Sprint(z.Name, " ", z.Available, " ", len(z.Services)))
	}
	if want := "az2 true 1, nova true 1, az1 false 0"; strings.Join(got, ", ") != want {
		t.Errorf("zones are %v, want %s", got, want)
	}
}

func ptr[T any](v T) *T { return &v }
