package computetest

import (
	"time"

	"github.com/berthcloud/berth/compute"
)

// A fixture is one row of each type.
type fixture struct {
	flavor    compute.FlavorRow
	access    compute.FlavorAccessRow
	keypair   compute.KeypairRow
	group     compute.GroupRow
	aggregate compute.AggregateRow
	member    compute.MemberRow
	mirror    compute.MirrorRow
	service   compute.ServiceRow
	node      compute.NodeRow
	quota     compute.QuotaRow
	counter   compute.CounterRow
	server    compute.ServerRow
	port      compute.PortRow
	action    compute.ActionRow
	event     compute.EventRow
	migration compute.MigrationRow
	operation compute.OperationRow
	gone      compute.DeletedRow
	hosted    compute.HostedRow
}

// Rows returns pointers to all of them, those that others refer to first.
func (w *fixture) Rows() []any {
	return []any{
		&w.flavor, &w.access, &w.keypair, &w.group, &w.aggregate, &w.member, &w.mirror, &w.service, &w.node, &w.quota,
		&w.counter, &w.server, &w.port, &w.action, &w.event, &w.migration, &w.operation, &w.gone, &w.hosted,
	}
}

// fullFixture has a value in every field, none of which bareFixture has.
func fullFixture() *fixture {
	later := Now.Add(time.Microsecond)
	return &fixture{
		flavor: compute.FlavorRow{
			ID: "1", Number: 9, Name: "m1 \u00fc", VCPUs: 4, MemoryMB: 1 << 40, RootGB: 1, EphemeralGB: 2, SwapMB: 3, RxTx: 0.3,
			Public: true, Disabled: true, Description: "large", Specs: map[string]string{"resources:VGPU": "1", `"q"`: "<&>"},
			CreatedAt: Now, UpdatedAt: later,
		},
		access: compute.FlavorAccessRow{Flavor: "1", Project: "red"},
		keypair: compute.KeypairRow{
			User: "bob", Name: "key", Number: 7, Type: compute.SSH, Fingerprint: "aa:bb", PublicKey: "ssh-rsa AAAA",
			CreatedAt: Now,
		},
		group: compute.GroupRow{
			ID: ID("group"), Project: "red", User: "bob", Name: "apart", Policy: "anti-affinity", MaxPerHost: 2, CreatedAt: Now,
		},
		aggregate: compute.AggregateRow{
			ID: ID("aggregate"), Number: 3, Name: "ssd", Metadata: map[string]string{"availability_zone": "az1"}, CreatedAt: Now,
			UpdatedAt: later,
		},
		member: compute.MemberRow{Aggregate: ID("aggregate"), Host: "cn1"},
		mirror: compute.MirrorRow{
			Aggregate: ID("aggregate"), Host: "cn1", Member: true, Change: ID("change"), CreatedAt: Now,
		},
		service: compute.ServiceRow{
			ID: ID("service"), Number: 5, Binary: "nova-compute", Host: "cn1", Topic: "compute", Disabled: true,
			Reason: "broken", ForcedDown: true, Version: 66, ReportedAt: Now, StartError: "in use", CreatedAt: Now,
			UpdatedAt: later,
		},
		node: compute.NodeRow{
			ID: ID("node"), Number: 9, Host: "cn1", Name: "cn1.example.org", Type: "fake", Version: 1000, Address: "192.0.2.7",
			VCPUs: 8, MemoryMB: 8192, DiskGB: 100, CPU: []byte(`{"arch":"x86_64"}`),
			Devices:   []byte(`[{"slot":"0000:81:00.1","vendor":"8086:154c"}]`),
			Topology:  []byte(`{"nodes":[{"id":0,"cpus":[0,1]}]}`),
			Additions: []byte(`{"7":{"traits":["CUSTOM_GOLD"]}}`), Assignable: []byte(`{"devices":[]}`), Failed: 2,
			CreatedAt: Now, UpdatedAt: later,
		},
		quota:   compute.QuotaRow{Project: "red", User: "bob", Resource: "cores", Limit: -1},
		counter: compute.CounterRow{Name: "keypairs", Last: 1 << 40},
		server: compute.ServerRow{
			ID: ID("server"), Number: 11, Project: "red", User: "bob", Name: "vm", Description: "a server", Hostname: "Vm",
			Reservation: "r-1", Index: 1, State: compute.Active, Task: compute.Rebooting, Power: compute.Running, Host: "cn1",
			Node: "cn1.example.org", Zone: "az1", Forced: "cn1", Image: ID("image"), ImageMeta: []byte(`{"id":"x"}`),
			Flavor: []byte(`{"vcpus":3,"memory_mb":512}`), FlavorID: "1", KeyName: "key", KeyData: "ssh-rsa AAAA",
			Metadata: map[string]string{"a": "b"}, Tags: []string{"a, b", `"c"`}, SecurityGroups: []string{"default"},
			UserData: "IyEvYmluL3No", ConfigDrive: true, DiskConfig: "AUTO", AccessIPv4: "192.0.2.8", AccessIPv6: "2001:db8::8",
			Group: ID("group"), Hints: []byte(`{"same_host":["x"]}`), Locked: "owner", LockedReason: "mine", Progress: 50,
			Fault: []byte(`{"code":500}`), CreatedAt: Now, UpdatedAt: later, LaunchedAt: later, TerminatedAt: later,
		},
		port: compute.PortRow{
			Port: ID("port"), Server: ID("server"), Network: ID("network"), Index: 1, Tag: "nic1", Own: true, Unplugged: true,
			Seen: []byte(`{"mac_address":"fa:16:3e:00:00:01"}`),
		},
		action: compute.ActionRow{
			ID: ID("action"), Server: ID("server"), Sequence: 3, Action: "create", Request: "req-1", Project: "red", User: "bob",
			StartedAt: Now, UpdatedAt: later, Message: "Error",
		},
		event: compute.EventRow{
			ID: ID("event"), Action: ID("action"), Sequence: 2, Event: "compute__do_build_and_run_instance", Host: "cn1",
			StartedAt: Now, FinishedAt: later, Result: "Error", Traceback: "  File\n", Details: "No valid host was found.",
		},
		migration: compute.MigrationRow{
			ID: ID("migration"), Number: 2, Server: ID("server"), Project: "red", User: "bob", Type: "resize",
			Status: "finished", Source: "cn1", SourceNode: "cn1.example.org", Dest: "cn2", DestNode: "cn2.example.org",
			OldFlavor: "1", NewFlavor: "2", Former: []byte(`{"state":"active"}`), CreatedAt: Now, UpdatedAt: later,
		},
		gone: compute.DeletedRow{
			ID: ID("gone"), Project: "red", Name: "old", Flavor: []byte(`{"VCPUs": 1}`), LaunchedAt: Now, TerminatedAt: later,
		},
		hosted: compute.HostedRow{
			Server: ID("server"), Host: "cn1", DesiredState: compute.DesiredRunning, Generation: 3, Event: ID("event"),
			Refused: ID("refused"), Boot: ID("event"), Slots: []string{"0000:81:00.1"}, Bound: []byte(`{"x":{}}`),
			Assignment: []byte(`{"mdevs":[{"uuid":"x","type":"t","device":"d","resource_class":"VGPU"}]}`), CreatedAt: Now,
		},
		operation: compute.OperationRow{
			ID: ID("operation"), Server: ID("server"), Kind: "boot", Step: "claimed", Back: true, UndoTo: "ports",
			Queue: []byte(`[{"kind":"power","body":{}}]`), Aborted: true, Awaits: ID("event"), Reservation: "r-1",
			Body: []byte(`{"claim":{"Host":"cn1"},"devices":{"x":{"slot":"0000:81:00.1","vendor":""}},` +
				`"assignment":{"cells":[{"node":1,"cpus":{"0":4},"memory_mb":512,"page_kb":0}]}}`), Worker: "w1",
			Lease: later, CreatedAt: Now,
		},
	}
}

// bareFixture has values only where one is required. Its names begin with a prefix; without one the
// rows have the keys of fullFixture's.
func bareFixture(prefix string) *fixture {
	id := func(name string) compute.ID { return ID(prefix + name) }
	full := fullFixture()
	return &fixture{
		flavor: compute.FlavorRow{ID: compute.ID(prefix) + full.flavor.ID},
		access: compute.FlavorAccessRow{
			Flavor: compute.ID(prefix) + full.flavor.ID, Project: prefix + full.access.Project,
		},
		keypair:   compute.KeypairRow{User: prefix + full.keypair.User, Name: full.keypair.Name + prefix},
		group:     compute.GroupRow{ID: id("group")},
		aggregate: compute.AggregateRow{ID: id("aggregate")},
		member:    compute.MemberRow{Aggregate: id("aggregate"), Host: full.member.Host + prefix},
		mirror:    compute.MirrorRow{Aggregate: id("aggregate"), Host: full.mirror.Host + prefix},
		service:   compute.ServiceRow{ID: id("service")},
		node:      compute.NodeRow{ID: id("node")},
		quota: compute.QuotaRow{
			Project: full.quota.Project + prefix, User: full.quota.User + prefix, Resource: full.quota.Resource + prefix,
		},
		counter:   compute.CounterRow{Name: full.counter.Name + prefix},
		server:    compute.ServerRow{ID: id("server")},
		port:      compute.PortRow{Port: id("port"), Server: id("server")},
		action:    compute.ActionRow{ID: id("action")},
		event:     compute.EventRow{ID: id("event"), Action: id("action")},
		migration: compute.MigrationRow{ID: id("migration")},
		operation: compute.OperationRow{ID: id("operation"), Server: id("server")},
		gone:      compute.DeletedRow{ID: id("gone")},
		hosted:    compute.HostedRow{Server: id("server"), Host: full.hosted.Host + prefix},
	}
}
