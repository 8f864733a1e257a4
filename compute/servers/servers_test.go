package servers_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
)

// images are those that there are, by id.
type images map[compute.ID]compute.Image

func (i images) Image(_ context.Context, _ string, id compute.ID) (compute.Image, error) {
	image, ok := i[id]
	if !ok {
		return image, compute.ErrNoImage
	}
	return image, nil
}

// cirros is an image that can be used, golden one that requires a trait, pinned one that requires
// dedicated CPUs, encrypted one that requires encrypted memory, twoNodes one of two NUMA cells, old
// one that cannot be used.
var (
	cirros    = computetest.ID("cirros")
	golden    = computetest.ID("golden")
	pinned    = computetest.ID("pinned")
	encrypted = computetest.ID("sev")
	twoNodes  = computetest.ID("two-nodes")
	old       = computetest.ID("old")
	allImages = images{
		cirros: {
			Image: extraspecs.Image{ID: string(cirros), Name: "cirros", DiskFormat: "qcow2"}, Status: "active",
			MinMemoryMB: 64, Size: 1 << 20,
		},
		golden: {
			Image: extraspecs.Image{
				ID: string(golden), Name: "golden", DiskFormat: "qcow2",
				Properties: map[string]string{"trait:CUSTOM_GOLD": "required"},
			},
			Status: "active",
		},
		pinned: {
			Image: extraspecs.Image{
				ID: string(pinned), Name: "pinned", Properties: map[string]string{"hw_cpu_policy": "dedicated"},
			},
			Status: "active",
		},
		encrypted: {
			Image: extraspecs.Image{
				ID: string(encrypted), Name: "sev", Properties: map[string]string{
					"hw_machine_type": "q35", "hw_firmware_type": "uefi", "hw_mem_encryption": "true",
				},
			},
			Status: "active",
		},
		twoNodes: {
			Image: extraspecs.Image{
				ID: string(twoNodes), Name: "two-nodes", Properties: map[string]string{"hw_numa_nodes": "2"},
			},
			Status: "active",
		},
		old: {Image: extraspecs.Image{ID: string(old), Name: "old"}, Status: "deactivated"},
	}
)

var (
	ann  = compute.Caller{Project: computetest.Project, User: computetest.User, Request: "req-1"}
	root = compute.Caller{Project: "admins", User: "root", Admin: true}
)

// names are those of servers, in their order.
func names(all []servers.Server) string {
	var words []string
	for _, s := range all {
		words = append(words, s.Name)
	}
	return strings.Join(words, " ")
}

func TestServersAreFilteredSortedAndPaged(t *testing.T) {
	c := newCloud(t)
	c.hosts("cn1", "cn2")
	for i, host := range []string{"cn1", "cn2", "cn1", ""} {
		s := computetest.Server(fmt.Sprint("vm", i), host)
		s.Number, s.CreatedAt, s.Tags = int64(i), s.CreatedAt.Add(time.Duration(i/2)*time.Second),
			[]string{"t", fmt.Sprint("t", i)}
		s.Metadata = map[string]string{"k": fmt.Sprint(i % 2)}
		s.UpdatedAt = s.CreatedAt
		c.Add(s)
		c.Add(&compute.PortRow{
			Port: computetest.ID(s.Name), Server: s.ID,
			Seen: []byte(fmt.Sprintf(`{"addresses": [{"ip": "10.0.0.%d"}, {"ip": "fd00::%d"}]}`, i, i)),
		})
	}
	for _, tc := range []struct {
		what   string
		filter servers.ServerFilter
		page   servers.Page
		want   string
	}{
		{"newest first", servers.ServerFilter{}, servers.Page{}, "vm3 vm2 vm1 vm0"},
		{"limit", servers.ServerFilter{}, servers.Page{Limit: 2}, "vm3 vm2"},
		{"marker", servers.ServerFilter{}, servers.Page{Marker: computetest.ID("vm2"), Limit: 1}, "vm1"},
		{"marker that is filtered", servers.ServerFilter{Host: "cn1"}, servers.Page{Marker: computetest.ID("vm1")}, "vm0"},
		{"name", servers.ServerFilter{Name: regexp.MustCompile("m[12]")}, servers.Page{}, "vm2 vm1"},
		{"host", servers.ServerFilter{Host: "cn1"}, servers.Page{}, "vm2 vm0"},
		{"state", servers.ServerFilter{States: []string{compute.Building}}, servers.Page{}, "vm3"},
		{"project", servers.ServerFilter{Project: "green"}, servers.Page{}, ""},
		{"ids", servers.ServerFilter{IDs: []compute.ID{computetest.ID("vm1"), "x"}}, servers.Page{}, "vm1"},
		{"no ids", servers.ServerFilter{IDs: []compute.ID{}}, servers.Page{}, ""},
		{"tags", servers.ServerFilter{Tags: []string{"t", "t1"}}, servers.Page{}, "vm1"},
		{"any tag", servers.ServerFilter{AnyTags: []string{"t0", "t3"}}, servers.Page{}, "vm3 vm0"},
		{"not all tags", servers.ServerFilter{NotTags: []string{"t", "t1"}}, servers.Page{}, "vm3 vm2 vm0"},
		{"none of the tags", servers.ServerFilter{NotAnyTags: []string{"t2", "t1"}}, servers.Page{}, "vm3 vm0"},
		{"metadata", servers.ServerFilter{Metadata: map[string]string{"k": "1"}}, servers.Page{}, "vm3 vm1"},
		{"address", servers.ServerFilter{IPv4: regexp.MustCompile(`\.0\.[01]$`)}, servers.Page{}, "vm1 vm0"},
		{
			"either address",
			servers.ServerFilter{IPv4: regexp.MustCompile(`\.0$`), IPv6: regexp.MustCompile(`::3$`)},
			servers.Page{},
			"vm3 vm0",
		},
		{"since", servers.ServerFilter{ChangedSince: computetest.Now.Add(time.Second)}, servers.Page{}, "vm3 vm2"},
		{"before", servers.ServerFilter{ChangedBefore: computetest.Now}, servers.Page{}, "vm1 vm0"},
		{
			"sorted",
			servers.ServerFilter{},
			servers.Page{Sort: []servers.SortKey{{Key: "host"}, {Key: "display_name", Descending: true}}},
			"vm3 vm2 vm0 vm1",
		},
		{"sorted by nothing", servers.ServerFilter{}, servers.Page{Sort: []servers.SortKey{{Key: "x"}}}, "vm0 vm1 vm2 vm3"},
	} {
		if got := names(must(c.Servers(ctx, tc.filter, tc.page))); got != tc.want {
			t.Errorf("%s: servers are %q, want %q", tc.what, got, tc.want)
		}
	}
	_, err := c.Servers(ctx, servers.ServerFilter{}, servers.Page{Marker: "x"})
	c.Refused("Servers", err, fault.NotFound, "MarkerNotFound", "Marker x could not be found.")
	one := must(c.Server(ctx, computetest.ID("vm0")))
	if one.In != "nova" || !one.Service.Up || len(one.Ports) != 1 || one.Ports[0].Shown.Addresses[1].Version() != 6 {
		t.Errorf("the server is %+v", one)
	}
}

func TestServersAreChanged(t *testing.T) {
	c := newCloud(t, func(s *compute.Settings) { s.Quotas[compute.MetadataItems] = 1 })
	vm := computetest.Server("vm", "cn1")
	c.Add(vm)
	one := must(c.UpdateServer(ctx, vm.ID, servers.ServerChange{Name: ptr("new"), Description: ptr("d")}))
	if one.Name != "new" || one.Description != "d" || one.Hostname != "vm" {
		t.Errorf("the server is %+v", one)
	}
	if err := c.Lock(ctx, ann, vm.ID, "mine"); err != nil {
		t.Fatal(err)
	}
	set := func(m map[string]string) (map[string]string, error) {
		m["a"] = "b"
		return m, nil
	}
	_, err := c.SetMetadata(ctx, ann, vm.ID, "update_metadata", set)
	c.Refused("SetMetadata", err, fault.Conflict, "InstanceIsLocked", fmt.Sprintf("Instance %s is locked", vm.ID))
	c.Refused("StopServer", c.StopServer(ctx, ann, vm.ID), fault.Conflict, "InstanceIsLocked",
		fmt.Sprintf("Instance %s is locked", vm.ID))
	if one = must(c.SetMetadata(ctx, root, vm.ID, "update_metadata", set)); one.Metadata["a"] != "b" ||
		one.Locked != "owner" || one.LockedReason != "mine" {
		t.Errorf("the server is %+v", one)
	}
	_, err = c.SetMetadata(ctx, root, vm.ID, "update_metadata", func(m map[string]string) (map[string]string, error) {
		m["c"] = "d"
		return m, nil
	})
	c.Refused("SetMetadata", err, fault.Denied, "MetadataLimitExceeded", "Maximum number of metadata items exceeds 1")
	if err := c.Unlock(ctx, ann, vm.ID); err != nil {
		t.Fatal(err)
	}
	one = must(c.SetTags(ctx, vm.ID, "update_tags", func([]string) ([]string, error) {
		return []string{"b", "a", "b"}, nil
	}))
	if strings.Join(one.Tags, " ") != "a b" || one.Locked != "" {
		t.Errorf("the server is %+v", one)
	}
	if err := c.ResetState(ctx, root, vm.ID, compute.Error); err != nil {
		t.Fatal(err)
	}
	_, err = c.SetTags(ctx, vm.ID, "update_tags", nil)
	c.Refused("SetTags", err, fault.Conflict, compute.InvalidState,
		fmt.Sprintf("Cannot 'update_tags' instance %s while it is in vm_state error", vm.ID))
	_, err = c.SetMetadata(ctx, ann, vm.ID, "update metadata", set)
	c.Refused("SetMetadata", err, fault.Conflict, compute.InvalidState,
		fmt.Sprintf("Cannot 'update metadata' instance %s while it is in vm_state error", vm.ID))
	var did []string
	for _, a := range must(c.Actions(ctx, vm.ID)) {
		did = append(did, a.Action)
	}
	if strings.Join(did, " ") != "resetState unlock lock" { // the newest first, all in the same second
		t.Errorf("actions are %v", did)
	}
	_, err = c.UpdateServer(ctx, "x", servers.ServerChange{})
	c.Refused("UpdateServer", err, fault.NotFound, "InstanceNotFound", "Instance x could not be found.")
}

// A server that never ran is no server to change, whatever an administrator says of its state.
func TestServersThatNeverRan(t *testing.T) {
	c := newCloud(t)
	early := computetest.Server("early", "")
	early.State, early.Task = compute.Error, ""
	c.Add(early)
	if err := c.ResetState(ctx, root, early.ID, compute.Active); err != nil {
		t.Fatal(err)
	}
	keep := func(m map[string]string) (map[string]string, error) { return m, nil }
	_, err := c.SetMetadata(ctx, ann, early.ID, "update metadata", keep)
	c.Refused("SetMetadata", err, fault.Conflict, compute.InvalidState,
		fmt.Sprintf("Instance %s is in an invalid state for 'update metadata'", early.ID))
	c.Refused("Detach", c.Detach(ctx, ann, early.ID, "p"), fault.Conflict, compute.InvalidState,
		fmt.Sprintf("Instance %s is in an invalid state for 'detach_interface'", early.ID))
}

func TestServersArePoweredOneAtATime(t *testing.T) {
	c := newCloud(t)
	vm, down, early := computetest.Server("vm", "cn1"), computetest.Server("down", "cn1"), computetest.Server("early", "")
	down.State = compute.Stopped
	c.Add(vm, down, early)
	c.Refused("StartServer", c.StartServer(ctx, ann, vm.ID), fault.Conflict, compute.InvalidState,
		fmt.Sprintf("Cannot 'start' instance %s while it is in vm_state active", vm.ID))
	c.Refused("StopServer", c.StopServer(ctx, ann, early.ID), fault.Conflict, "InstanceNotReady",
		fmt.Sprintf("Instance %s is not ready", early.ID))
	for _, err := range []error{c.RebootServer(ctx, ann, vm.ID, false), c.StartServer(ctx, ann, down.ID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if one := must(c.Server(ctx, vm.ID)); one.Task != compute.Rebooting {
		t.Errorf("the server is %+v", one)
	}
	c.Refused("StopServer", c.StopServer(ctx, ann, vm.ID), fault.Conflict, compute.InvalidState,
		fmt.Sprintf("Cannot 'stop' instance %s while it is in task_state rebooting", vm.ID))
	if err := c.DeleteServer(ctx, ann, vm.ID); err != nil {
		t.Fatal(err)
	}
	if one := must(c.Server(ctx, vm.ID)); one.Task != compute.Deleting {
		t.Errorf("the server is %+v", one)
	}
	a := must(c.Action(ctx, down.ID, "req-1"))
	if a.Action != "start" || len(a.Events) != 1 || a.Events[0].Event != "compute_start_instance" ||
		a.Events[0].Host != "cn1" {
		t.Errorf("the action is %+v", a)
	}
	_, err := c.Action(ctx, down.ID, "req-2")
	c.Refused("Action", err, fault.NotFound, "ActionNotFound", "Action req-2 not found")
}

func TestCreateServersRefuses(t *testing.T) {
	c := newCloud(t, func(s *compute.Settings) { s.Quotas[compute.Cores] = 5 })
	c.hosts("cn1")
	c.Add(computetest.Flavor("m1", 2, 128, 1), computetest.Flavor("tiny", 1, 32, 0))
	c.Add(&compute.QuotaRow{Project: computetest.Project, User: computetest.User, Resource: compute.Instances, Limit: 3})
	spec := func(change func(*servers.ServerSpec)) servers.ServerSpec {
		s := servers.ServerSpec{Name: "vm", Flavor: "m1", Image: cirros}
		change(&s)
		return s
	}
	for _, tc := range []struct {
		change func(*servers.ServerSpec)
		kind   fault.Kind
		code   fault.Code
		text   string
	}{
		{func(s *servers.ServerSpec) { s.Flavor = "x" }, fault.Invalid, "FlavorNotFound", "Flavor x could not be found."},
		{func(s *servers.ServerSpec) { s.Image = "x" }, fault.Invalid, "ImageNotFound", "Can not find requested image"},
		{
			func(s *servers.ServerSpec) { s.Image = old }, fault.Invalid, "ImageNotActive",
			"Image " + string(old) + " is not active.",
		},
		{
			func(s *servers.ServerSpec) { s.Flavor = "tiny" }, fault.Invalid, "FlavorMemoryTooSmall",
			"Flavor's memory is too small for requested image.",
		},
		{
			func(s *servers.ServerSpec) { s.Zone = "mars" }, fault.Invalid, "InvalidRequest",
			"The requested availability zone is not available",
		},
		{
			func(s *servers.ServerSpec) { s.ForcedHost = "cn9" }, fault.Invalid, "ComputeHostNotFound",
			"Compute host cn9 could not be found.",
		},
		{func(s *servers.ServerSpec) { s.KeyName = "k" }, fault.Invalid, "KeypairNotFound", "Invalid key_name provided."},
		{
			func(s *servers.ServerSpec) { s.Hints = []byte(`{"group": "g"}`) }, fault.Invalid, "InstanceGroupNotFound",
			"Instance group g could not be found.",
		},
		{
			func(s *servers.ServerSpec) { s.Hostname, s.Max = "h", 2 },
			fault.Invalid, "AmbiguousHostnameForMultipleInstances", "Unable to allocate a single hostname to multiple instances",
		},
		{
			func(s *servers.ServerSpec) { s.Min, s.Max = 3, 4 },
			fault.Denied, "TooManyInstances",
			"Quota exceeded for cores, instances: Requested 8, 3-4, but already used 0, 0 of 5, 3 cores, instances",
		},
	} {
		_, err := c.CreateServers(ctx, ann, spec(tc.change))
		c.Refused("CreateServers", err, tc.kind, tc.code, tc.text)
	}
	if n := len(must(c.Servers(ctx, servers.ServerFilter{}, servers.Page{}))); n != 0 {
		t.Errorf("%d servers were made", n)
	}
	made := must(c.CreateServers(ctx, ann,
		spec(func(s *servers.ServerSpec) { s.Name, s.Min, s.Max, s.Tags = "Web farm", 1, 4, []string{"b", "a"} })))
	if names(made) != "Web farm-1 Web farm-2" || made[1].Hostname != "web-farm-2" ||
		made[0].Reservation != made[1].Reservation {
		t.Errorf("the servers are %+v", made)
	}
	if s := made[0]; s.State != compute.Building || s.Task != compute.Scheduling || s.Made.VCPUs != 2 ||
		s.Tags[0] != "a" || c.InstanceName(s.ServerRow) != "instance-00000001" {
		t.Errorf("the server is %+v", s)
	}
}

// Servers are called by their hypervisors what the template makes of them.
func TestInstanceNames(t *testing.T) {
	row := compute.ServerRow{ID: "a-b", Number: 31, Name: "Web", Hostname: "web", Project: "blue", User: "ann"}
	for template, want := range map[string]string{
		"vm-%08x":    "vm-0000001f",
		"%d":         "31",
		"%s!":        "31!",
		"%-4d|%+d":   "31  |+31",
		"i-%(id)04X": "i-001F",
		"%(uuid)s %(hostname)s %(display_name)s %(project_id)s %(user_id)s %(id)o": "a-b web Web blue ann 37",
		"100%%-%(uuid)s": "100%-a-b",
	} {
		c := newCloud(t, func(s *compute.Settings) { s.NameTemplate = template })
		if got := c.InstanceName(row); got != want {
			t.Errorf("%s makes %q, want %q", template, got, want)
		}
	}
	c := newCloud(t, func(s *compute.Settings) { s.NameTemplate = "vm-%(hostname)s" })
	c.hosts("cn1")
	c.Add(computetest.Server("vm", "cn1"), &compute.HostedRow{
		Server: computetest.ID("vm"), Host: "cn1", DesiredState: compute.DesiredRunning,
	})
	if listed := must(c.Wanted(ctx, "cn1")); len(listed) != 1 || listed[0].Name != "vm-vm" {
		t.Errorf("the host is to have %+v", listed)
	}
}

// Where names have to be the only ones of their kind, hostnames are, whatever their case.
func TestUniqueNames(t *testing.T) {
	for scope, want := range map[string][2]bool{
		"": {false, false}, compute.UniqueInProject: {true, false}, compute.UniqueEverywhere: {true, true},
	} {
		c := newCloud(t, func(s *compute.Settings) { s.UniqueNames = scope })
		c.hosts("cn1")
		c.Add(computetest.Flavor("m1", 1, 128, 1))
		other := ann
		other.Project = "green"
		create := func(by compute.Caller, n int) error {
			_, err := c.CreateServers(ctx, by, servers.ServerSpec{Name: "My VM", Flavor: "m1", Image: cirros, Min: n})
			return err
		}
		if err := create(ann, 1); err != nil {
			t.Fatal(err)
		}
		for i, by := range []compute.Caller{ann, other} {
			if err := create(by, 1); want[i] {
				c.Refused("CreateServers", err, fault.Conflict, "InstanceExists", "Instance my-vm already exists.")
			} else if err != nil {
				t.Errorf("scope %q, project %s: %v", scope, by.Project, err)
			}
		}
		if err := create(ann, 2); err != nil { // which are called otherwise
			t.Errorf("scope %q: %v", scope, err)
		}
		last := must(c.Servers(ctx, servers.ServerFilter{Project: ann.Project}, servers.Page{}))[0]
		for name, taken := range map[string]bool{"MY-VM": want[0], strings.ToUpper(last.Hostname): false, "another": false} {
			_, err := c.UpdateServer(ctx, last.ID, servers.ServerChange{Hostname: &name})
			if taken {
				c.Refused("UpdateServer", err, fault.Conflict, "InstanceExists", "Instance my-vm already exists.")
			} else if err != nil {
				t.Errorf("scope %q, host name %s: %v", scope, name, err)
			}
		}
	}
}

// A service that lacks a peer service says so.
func TestWithoutPeers(t *testing.T) {
	c := newCloud(t)
	vm := computetest.Server("vm", "cn1")
	c.Add(vm, computetest.Flavor("m1", 2, 128, 1), &compute.PortRow{Server: vm.ID, Port: "p", Seen: []byte(`{}`)})
	places := placementclient.NewCompute(options(t, unusedURL))
	c.cloudService = newService(c.DB, computetest.Options{Placement: places, Images: allImages})
	_, create := c.CreateServers(ctx, ann, servers.ServerSpec{Flavor: "m1", AnyNetwork: true})
	_, createWithout := c.CreateServers(ctx, ann, servers.ServerSpec{Flavor: "m1"})
	_, attach := c.Attach(ctx, ann, vm.ID, compute.NetworkSpec{Port: "p"})
	_, list := c.Interfaces(ctx, vm.ID)
	_, show := c.Interface(ctx, ann, vm.ID, "p")
	for _, err := range []error{
		create, createWithout, attach, list, show, c.Detach(ctx, ann, vm.ID, "p"), c.StopServer(ctx, ann, vm.ID),
		c.DeleteServer(ctx, ann, vm.ID),
	} {
		c.Refused("it", err, fault.Unavailable, "ServiceUnavailable", "The network service is not configured.")
	}
	if left, err := c.Recover(ctx); err != nil || left != 0 {
		t.Errorf("Recover = %d, %v, want that no operation waits", left, err)
	}
	c.cloudService = newService(c.DB, computetest.Options{Images: allImages})
	_, create = c.CreateServers(ctx, ann, servers.ServerSpec{Flavor: "m1"})
	c.Refused("a server", create, fault.Unavailable, "ServiceUnavailable", "The placement service is not configured.")
}

func TestReceive(t *testing.T) {
	c := newCloud(t)
	vm, early := computetest.Server("vm", "cn1"), computetest.Server("early", "")
	c.Add(vm, early, &compute.PortRow{Port: computetest.ID("p"), Server: vm.ID, Seen: []byte(`{}`)})
	got := must(c.Receive(ctx, []servers.ExternalEvent{
		{Name: "network-vif-deleted", Server: "x", Tag: "t"},
		{Name: "network-vif-deleted", Server: vm.ID},
		{Name: "network-vif-deleted", Server: early.ID, Tag: "t"},
		{Name: "power-update", Server: vm.ID},
		{Name: "power-update", Server: vm.ID, Tag: "POWER_OFF", By: ann},
		{Name: "power-update", Server: vm.ID, Tag: "POWER_ON", By: ann},
		{Name: "power-update", Server: vm.ID, Tag: "COLOUR", By: ann},
	}))
	if fmt.Sprint(got) != fmt.Sprint([]servers.Receipt{
		servers.NoServer, servers.NoTag, servers.NoHost, servers.NoTag, servers.Accepted, servers.Accepted, servers.Accepted,
	}) {
		t.Errorf("receipts are %v", got)
	}
	var noted []string
	for _, a := range must(c.Actions(ctx, vm.ID)) {
		noted = append(noted, a.Action+" "+a.Message)
	}
	if fmt.Sprint(noted) != "[start  stop Error]" { // it runs already, and no host lets its power be changed by others
		t.Errorf("actions are %q", noted)
	}
}
