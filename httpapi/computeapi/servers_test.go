package computeapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
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

// A ports is a network service that has some ports, and no networks. What changes ports
// it is not requested.
type ports struct {
	compute.Network
	all []compute.Port
}

func (p ports) Networks(context.Context, string, ...compute.ID) ([]compute.ProjectNetwork, error) {
	return nil, nil
}

func (p ports) BindPort(_ context.Context, read compute.Port, b compute.Binding) (compute.Port, error) {
	for i := range p.all {
		if port := &p.all[i]; port.ID == read.ID {
			port.Server, port.Host, port.VIF, port.Status = string(b.Server), b.Host, "ovs", "ACTIVE"
			return *port, nil
		}
	}
	return compute.Port{}, compute.ErrNoPort
}

func (p ports) FreePorts(context.Context, string) (int64, error) { return -1, nil }

func (p ports) Port(_ context.Context, id compute.ID) (compute.Port, error) {
	for _, port := range p.all {
		if port.ID == id {
			return port, nil
		}
	}
	return compute.Port{}, compute.ErrNoPort
}

func (p ports) Ports(_ context.Context, ids ...compute.ID) (all []compute.Port, err error) {
	for _, port := range p.all {
		if slices.Contains(ids, port.ID) {
			all = append(all, port)
		}
	}
	return all, nil
}

func (p ports) ServerPorts(_ context.Context, servers ...compute.ID) (all []compute.Port, err error) {
	for _, port := range p.all {
		if slices.Contains(servers, compute.ID(port.Server)) {
			all = append(all, port)
		}
	}
	return all, nil
}

// The ids that the dialogues speak of.
const (
	image     compute.ID = "11111111-0000-4000-8000-000000000001"
	bandwidth compute.ID = "22222222-0000-4000-8000-000000000001" // a port that requests some
	plain     compute.ID = "22222222-0000-4000-8000-000000000002" // a port that does not
	used      compute.ID = "22222222-0000-4000-8000-000000000003" // a port of a server
)

func somePorts() ports {
	network := compute.ID("55555555-0000-4000-8000-000000000001")
	demo := nova.Projects()["demo"]
	port := func(id compute.ID) compute.Port {
		return compute.Port{
			ID: id, Network: network, NetworkName: "net0", Project: demo, MAC: "fa:16:3e:00:00:01", Status: "DOWN",
			Addresses: []compute.Address{{IP: "10.0.4.2", Subnet: "66666666-0000-4000-8000-000000000001"}},
		}
	}
	requests, free, inUse := port(bandwidth), port(plain), port(used)
	requests.ResourceRequest = request.Port{ID: string(bandwidth), Groups: []request.Group{{
		ID: "77777777-0000-4000-8000-000000000001", Resources: map[string]int64{"NET_BW_EGR_KILOBIT_PER_SEC": 1000},
	}}}
	inUse.Server, inUse.Status = "33333333-0000-4000-8000-000000000001", "ACTIVE"
	return ports{all: []compute.Port{requests, free, inUse}}
}

// A given is what a dialogue says of a server that it makes.
type given struct {
	ID, Flavor, Image   compute.ID
	Project, User, Host string
	State               string           `json:"vm_state"`
	Task                string           `json:"task_state"`
	Fault               *compute.Failure // nil for none
	Port                *struct {
		ID               compute.ID
		NetworkID        compute.ID `json:"network_id"`
		Network, MAC, IP string
	}
}

// makeServer makes the rows of a server, as if a host had built it.
func (s *side) makeServer(t testing.TB, a neutron.Agent) {
	t.Helper()
	g := given{Project: "demo", User: "member", State: compute.Active}
	text, err := json.Marshal(a.Configurations)
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	flavor, err := s.service.catalog.Flavor(ctx, compute.Viewer{Admin: true}, g.Flavor)
	if err != nil {
		t.Fatal(err)
	}
	now, demo := time.Now().UTC(), nova.Projects()[g.Project]
	row := computetest.Server(a.Host, g.Host)
	row.ID, row.Project, row.User, row.State, row.Task = g.ID, demo, g.User, g.State, g.Task
	row.Flavor, row.FlavorID, row.Image, row.Reservation = flavor.Keep(), flavor.ID, g.Image, "r-01234567"
	row.CreatedAt, row.UpdatedAt = now, now
	row.Number = int64(1 + len(computetest.Read[compute.ServerRow](t, s.store)))
	if g.Fault != nil {
		g.Fault.Created = now.Format(time.RFC3339)
		if row.Fault, err = json.Marshal(g.Fault); err != nil {
			t.Fatal(err)
		}
	}
	created := &compute.ActionRow{
		ID: computetest.ID(a.Host), Server: g.ID, Action: "create",
		Request: "req-" + string(computetest.ID(a.Host+" action")),
		Project: demo, User: g.User, StartedAt: now, UpdatedAt: now,
	}
	computetest.Add(t, s.store, row, created, &compute.EventRow{
		ID: computetest.ID(a.Host + " event"), Action: created.ID, Event: "compute__do_build_and_run_instance", Host: g.Host,
		StartedAt: now, FinishedAt: now, Result: "Success",
	})
	if g.Host != "" {
		computetest.Add(t, s.store, &compute.HostedRow{
			Server: g.ID, Host: g.Host, DesiredState: compute.DesiredRunning, CreatedAt: now,
		})
	}
	if p := g.Port; p != nil {
		seen, err := json.Marshal(compute.Port{
			ID: p.ID, Network: p.NetworkID, NetworkName: p.Network, MAC: p.MAC, Addresses: []compute.Address{{IP: p.IP}},
		})
		if err != nil {
			t.Fatal(err)
		}
		computetest.Add(t, s.store, &compute.PortRow{Port: p.ID, Server: g.ID, Network: p.NetworkID, Tag: "nic0", Seen: seen})
	}
}

// makeMigration makes a move of a server, as reference.py in conformance/nova does.
func (s *side) makeMigration(t testing.TB, a neutron.Agent) {
	t.Helper()
	g := struct {
		Server, Flavor                   compute.ID
		Type, Status, Source, Dest, User string
	}{User: "admin"}
	text, err := json.Marshal(a.Configurations)
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	computetest.Add(t, s.store, &compute.MigrationRow{
		ID: compute.ID(a.Host), Number: int64(1 + len(computetest.Read[compute.MigrationRow](t, s.store))), Server: g.Server,
		Project: nova.Projects()["demo"], User: g.User, Type: g.Type, Status: g.Status, Source: g.Source,
		SourceNode: g.Source,
		Dest:       g.Dest, DestNode: g.Dest, OldFlavor: g.Flavor, NewFlavor: g.Flavor, CreatedAt: time.Now().UTC(),
	})
}

// TestHostsAPI is about what hosts report and get, which is no API of Nova's: the answers are
// Berth's.
func TestHostsAPI(t *testing.T) {
	s := newSide(t)
	s.options = computetest.Options{Network: somePorts()}
	const file = "testdata/hosts.txt"
	if *updateDifferences {
		neutron.Record(t, s, file)
	} else {
		neutron.Play(t, s, file)
	}
}

// A port comes to a server when its host has plugged it in, and goes.
func TestInterfacesComeAndGo(t *testing.T) {
	s := newSide(t)
	s.options = computetest.Options{Network: somePorts()}
	s.Reset(t)
	s.Heartbeat(t, neutron.Agent{Host: "cn1"})
	s.say(t, said{
		"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`,
	})
	const vm = "33333333-0000-4000-8000-000000000001"
	s.makeServer(t, neutron.Agent{
		Kind: nova.Server, Host: "vm0",
		Configurations: map[string]any{"id": vm, "flavor": "c1", "image": image, "host": "cn1"},
	})
	over := make(chan struct{})
	var host sync.WaitGroup
	host.Go(func() { s.plugs("cn1", over) })
	status, answer := s.say(t, said{
		"member", "POST", "/v2.1/servers/" + vm + "/os-interface", "compute 2.70",
		`{"interfaceAttachment": {"port_id": "` + string(plain) + `", "tag": "nic1"}}`,
	})
	close(over)
	host.Wait()
	const want = `"port_state": "ACTIVE", "fixed_ips": [{"subnet_id": "66666666-0000-4000-8000-000000000001", ` +
		`"ip_address": "10.0.4.2"}], "tag": "nic1"`
	if status != http.StatusOK || !strings.Contains(answer, want) {
		t.Errorf("the attachment is answered %d %s, want %s in it", status, answer, want)
	}
	status, answer = s.say(t, said{"member", "DELETE", "/v2.1/servers/" + vm + "/os-interface/" + string(plain), "", ""})
	if status != http.StatusAccepted || answer != "" {
		t.Errorf("the detachment is answered %d %s", status, answer)
	}
}

// plugs does what a host is requested until that is over.
func (s *side) plugs(host string, over <-chan struct{}) {
	ctx := context.Background()
	for {
		select {
		case <-over:
			return
		default:
		}
		revision := func(all []fleet.Wanted) (string, error) {
			if slices.ContainsFunc(all, func(w fleet.Wanted) bool { return w.Event != "" }) {
				return "busy", nil
			}
			return "idle", nil
		}
		all, err := s.service.fleet.AwaitWanted(ctx, host, "idle", time.Millisecond, revision)
		for _, w := range all {
			if err == nil && w.Event != "" {
				err = s.service.fleet.Done(ctx, host, []fleet.Result{{Server: w.ID, Event: w.Event}})
			}
		}
		if err != nil {
			return // the server stays as it is, which the test sees
		}
	}
}

// A flavor may say what Nova's may; a server that would not get it is refused, and so is one of an
// image that requests the same.
func TestSpecsThatNothingHonours(t *testing.T) {
	const plain, numa = "11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"
	s := newSide(t)
	s.options = computetest.Options{Images: images{
		plain: {Image: extraspecs.Image{ID: plain, Name: "plain"}, Status: "active"},
		numa: {
			Image:  extraspecs.Image{ID: numa, Name: "numa", Properties: map[string]string{"hw_numa_nodes": "2"}},
			Status: "active",
		},
	}}
	s.Reset(t)
	for _, c := range []struct {
		specs, image string
		want         int
		text         string
	}{
		{`{"hw:cpu_policy": "dedicated"}`, plain, 202, ""},
		{
			`{"pci_passthrough:alias": "gpu:1"}`, plain, 400,
			"pci_passthrough:alias=gpu:1, which nothing here honours: servers get PCI devices as ports only, without " +
				"[filter_scheduler] pci_in_placement.",
		},
		{`{"hw:numa_nodes": "2"}`, plain, 400, "hw:numa_nodes=2, which nothing here honours"},
		{`{"hw:numa_nodes": "3"}`, plain, 400, "cannot be evenly distributed across instance NUMA nodes"},
		{`{"hw:mem_page_size": "large"}`, plain, 400, "hw:mem_page_size=large, which nothing here honours"},
		{`{}`, numa, 400, "Image numa has the property hw_numa_nodes=2, which nothing here honours"},
	} {
		s.say(t, said{"admin", "DELETE", "/v2.1/flavors/c1", "", ""})
		s.say(t, said{
			"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 2, "disk": 1}}`,
		})
		if status, answer := s.say(t, said{
			"admin", "POST", "/v2.1/flavors/c1/os-extra_specs", "", `{"extra_specs": ` + c.specs + `}`,
		}); status != http.StatusOK {
			t.Errorf("a flavor with %s: %d %s", c.specs, status, answer)
		}
		status, answer := s.say(t, said{
			"member", "POST", "/v2.1/servers", "compute 2.72",
			`{"server": {"name": "vm", "imageRef": "` + c.image + `", "flavorRef": "c1", "networks": "none"}}`,
		})
		if status != c.want || !strings.Contains(answer, c.text) {
			t.Errorf("a server of a flavor with %s: %d %s, want %d %s", c.specs, status, answer, c.want, c.text)
		}
	}
}

// The topology of a server is its cells; where they are on the host is for administrators.
func TestTopology(t *testing.T) {
	s := newSide(t)
	s.Reset(t)
	row := computetest.Server("vm", "cn1")
	row.Project = nova.Projects()["demo"]
	cells := `{"cells": [{"node": 1, "vcpus": [0, 1, 2], "siblings": [[0, 2]], "cpus": {"0": 5, "2": 13}, "shared": [4],
		"memory_mb": 512, "page_kb": 2048}]}`
	computetest.Add(t, s.store, row, &compute.HostedRow{
		Server: row.ID, Host: "cn1", DesiredState: compute.DesiredRunning, Assignment: []byte(cells),
	})
	const seen = `{"nodes": [{"vcpu_set": [0,1,2], "memory_mb": 512, "siblings": [[0,2]]`
	for who, want := range map[string]string{
		"member": seen + `}], "pagesize_kb": 2048}`,
		"admin":  seen + `, "host_node": 1, "cpu_pinning": {"0":5,"2":13}}], "pagesize_kb": 2048}`,
	} {
		status, answer := s.say(t, said{who, "GET", "/v2.1/servers/" + string(row.ID) + "/topology", "compute 2.78", ""})
		if status != http.StatusOK || strings.TrimSpace(answer) != want {
			t.Errorf("for %s the topology is %d %s, want %s", who, status, answer, want)
		}
	}
}

// Servers have no volumes, files or certificates, which Nova's may have.
func TestNoVolumes(t *testing.T) {
	s := newSide(t)
	s.options = computetest.Options{
		Images: images{image: {Image: extraspecs.Image{ID: string(image), Name: "plain"}, Status: "active"}},
	}
	s.Reset(t)
	s.say(t, said{
		"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`,
	})
	for more, want := range map[string]string{
		`"block_device_mapping_v2": [{"source_type": "volume", "destination_type": "volume", "uuid": "v"}]`: "Block Device " +
			"Mapping is Invalid: servers have no volumes here.",
		`"trusted_image_certificates": ["c"]`: "Signatures of images are not checked here.",
	} {
		status, answer := s.say(t, said{
			"member", "POST", "/v2.1/servers", "compute 2.72",
			`{"server": {"name": "vm", "imageRef": "` + string(image) + `", "flavorRef": "c1", "networks": "none", ` + more +
				`}}`,
		})
		if status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("a server with %s: %d %s, want 400 %s", more, status, answer, want)
		}
	}
}

// What a request may request is bounded, with quotas off too.
func TestRequestsForServersAreBounded(t *testing.T) {
	const plain = "11111111-0000-4000-8000-000000000001"
	s := newSide(t)
	s.options = computetest.Options{
		Images: images{plain: {Image: extraspecs.Image{ID: plain, Name: "plain"}, Status: "active"}},
	}
	s.Reset(t)
	s.say(t, said{
		"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`,
	})
	s.say(t, said{
		"admin", "PUT", "/v2.1/os-quota-sets/" + nova.Projects()["demo"], "",
		`{"quota_set": {"instances": -1, "cores": -1, "ram": -1}}`,
	})
	some := func(n int, form string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(form, i)
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	const (
		network = `{"uuid": "55555555-0000-4000-8000-%012d"}`
		group   = `{"name": "g%d"}`
		event   = `{"name": "network-changed", "server_uuid": "55555555-0000-4000-8000-%012d"}`
	)
	server := func(more, hints string) string {
		return `{"server": {"name": "vm", "imageRef": "` + plain + `", "flavorRef": "c1"` + more + `}` + hints + `}`
	}
	for what, c := range map[string]struct {
		who, path, body string
		want            int
		text            string
	}{
		"1001 servers at least": {
			"member", "/v2.1/servers", server(`, "networks": "none", "min_count": 1001, "max_count": 2147483647`, ""),
			400, "min_count must be at most 1000, which is how many servers a request can make",
		},
		"129 networks": {
			"member", "/v2.1/servers", server(`, "networks": `+some(129, network), ""), 400,
			"a request can have at most 128 networks, not 129",
		},
		"20000 networks": {
			"member", "/v2.1/servers", server(`, "networks": `+some(20000, network), ""), 400,
			"a request can have at most 128 networks, not 20000",
		},
		"129 security groups": {
			"member", "/v2.1/servers", server(`, "networks": "none", "security_groups": `+some(129, group), ""),
			400, "a request can have at most 128 security groups, not 129",
		},
		"64 KiB of hints and more": {
			"member", "/v2.1/servers",
			server(`, "networks": "none"`, `, "os:scheduler_hints": {"a": "`+strings.Repeat("x", 64<<10)+`"}`),
			400, "a request can have at most 65536 bytes of scheduler hints",
		},
		"4097 events": {
			"admin", "/v2.1/os-server-external-events", `{"events": ` + some(4097, event) + `}`, 400, "is too long",
		},
		"as many servers as there may be": {
			"member", "/v2.1/servers", server(`, "networks": "none", "min_count": 1000, "max_count": 2147483647`, ""), 202,
			`"id"`,
		},
	} {
		if status, answer := s.say(t, said{c.who, "POST", c.path, "compute 2.72", c.body}); status != c.want ||
			!strings.Contains(answer, c.text) {
			t.Errorf("%s: %d %.300s, want %d %s", what, status, answer, c.want, c.text)
		}
	}
	_, answer := s.say(t, said{"member", "GET", "/v2.1/servers", "", ""})
	if n := strings.Count(answer, `"name": "vm-`); n != servers.MaxServers {
		t.Errorf("max_count of 2147483647 makes %d servers, want %d", n, servers.MaxServers)
	}
}

// Addresses are kept and shown in their usual form, whatever form they came in.
func TestAddressesAreCanonical(t *testing.T) {
	s := newAccessSide(t, policy.Options{})
	s.seed(t)
	status, answer := s.say(t, said{
		"member", "POST", "/v2.1/servers", "compute 2.72", `{"server": {"name": "vm", "imageRef": "` + string(image) + `", "flavorRef": "c1", "networks": "none",
			"accessIPv4": "192.0.2.1", "accessIPv6": "2001:DB8:0:0:0::00A"}}`,
	})
	var made struct{ Server struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &made); err != nil || status != http.StatusAccepted {
		t.Fatalf("%d %s", status, answer)
	}
	if _, answer := s.say(t, said{"member", "GET", "/v2.1/servers/" +
		made.Server.ID, "", ""}); !strings.Contains(answer, `"accessIPv4": "192.0.2.1", "accessIPv6": "2001:db8::a"`) {
		t.Errorf("a new server is shown as %s", answer)
	}
	if _, answer := s.say(t, said{
		"member", "PUT", ownServer, "", `{"server": {"accessIPv6": "FE80:0::1"}}`,
	}); !strings.Contains(
		answer, `"accessIPv6": "fe80::1"`) {
		t.Errorf("a changed server is shown as %s", answer)
	}
	network := "55555555-0000-4000-8000-000000000001"
	_, answer = s.say(t, said{
		"member", "POST", "/v2.1/servers", "compute 2.72", `{"server": {"name": "vm", "imageRef": "` + string(image) + `", "flavorRef": "c1",
			"min_count": 1, "networks": [{"port": "` + network + `", "fixed_ip": "2001:DB8::00A"}]}}`,
	})
	if !strings.Contains(answer, "Specified Fixed IP '2001:db8::a'") {
		t.Errorf("an address in addition to a port is refused with %s", answer)
	}
}
