package servers_test

import (
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/topology"
)

// eve is of another project than ann, who owns what there is in the test below; root is an
// administrator of a third one.
var eve = compute.Caller{Project: "green", User: "eve", Request: "req-1"}

// An outcome is what is wanted of a request that names something: that it is accepted, or this
// fault.
type outcome struct {
	kind fault.Kind
	code fault.Code
}

var accepted outcome

// What a new server, or an interface, may name is what its user could see, as with Nova: for each
// kind what becomes of the owner's request, of another project's, and of an administrator's.
func TestWhatServersName(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	shared, free := w.networkOf(network.NetworkRow{Common: network.Common{Project: "yellow"}, Shared: true}), w.port(0)
	taken, err := w.network.CreatePorts(ctx, []ports.Spec{{
		PortRow:  network.PortRow{Common: network.Common{Project: computetest.Project}, Network: shared, AdminStateUp: true},
		FixedIPs: []ports.FixedIP{{IP: "10.9.0.9"}}, AnyGroups: true, AnyPortSecurity: true,
	}})
	w.must(err)
	w.given[taken[0].ID] = true
	guards, err := w.network.CreateSecurityGroups(ctx,
		[]network.SecurityGroupRow{{Common: network.Common{Project: computetest.Project, Name: "guards"}}})
	w.must(err)
	group := must(w.CreateGroup(ctx, compute.GroupRow{
		Project: computetest.Project, User: ann.User, Name: "g", Policy: "affinity",
	}))
	w.add(&compute.FlavorRow{
		ID: "private", Name: "private", VCPUs: 1, MemoryMB: 128, RootGB: 1, RxTx: 1, CreatedAt: computetest.Now,
	})
	w.add(&compute.FlavorAccessRow{Flavor: "private", Project: computetest.Project})
	w.add(&compute.KeypairRow{User: ann.User, Name: "k", Number: 1, Type: compute.SSH, CreatedAt: computetest.Now})

	const bad, missing = fault.Invalid, fault.NotFound
	for _, c := range []struct {
		kind                string
		name                func(*servers.ServerSpec)
		owner, other, admin outcome
	}{
		{
			"server group", func(s *servers.ServerSpec) { s.Hints = []byte(`{"group": "` + string(group.ID) + `"}`) },
			accepted,
			outcome{bad, "InstanceGroupNotFound"},
			accepted,
		},
		{
			"private flavor", func(s *servers.ServerSpec) { s.Flavor = "private" }, accepted,
			outcome{bad, "FlavorNotFound"},
			accepted,
		},
		{"public flavor", func(s *servers.ServerSpec) { s.Flavor = "m1" }, accepted, accepted, accepted},
		{
			"keypair of a user", func(s *servers.ServerSpec) { s.KeyName = "k" }, accepted,
			outcome{bad, "KeypairNotFound"},
			outcome{bad, "KeypairNotFound"},
		},
		{
			"port", func(s *servers.ServerSpec) { s.Networks = []compute.NetworkSpec{{Port: free}} }, accepted,
			outcome{bad, "PortNotFound"},
			accepted,
		},
		// Nova queries Neutron with the administrator's token, which sees any network; here with his
		// project's.
		{
			"network", func(s *servers.ServerSpec) { s.Networks = []compute.NetworkSpec{{Network: compute.ID(w.net)}} },
			accepted,
			outcome{bad, "NetworkNotFound"},
			outcome{bad, "NetworkNotFound"},
		},
		{
			"shared network", func(s *servers.ServerSpec) { s.Networks = []compute.NetworkSpec{{Network: compute.ID(shared)}} },
			accepted, accepted, accepted,
		},
		{"security group", func(s *servers.ServerSpec) {
			s.Networks, s.SecurityGroups = []compute.NetworkSpec{{Network: compute.ID(shared)}}, []string{string(guards[0].ID)}
		}, accepted, outcome{bad, "SecurityGroupNotFound"}, outcome{bad, "SecurityGroupNotFound"}},
	} {
		for who, want := range map[compute.Caller]outcome{ann: c.owner, eve: c.other, root: c.admin} {
			spec := servers.ServerSpec{Name: "vm", Flavor: "m1", Image: cirros, PortsMayRequest: true}
			c.name(&spec)
			made, err := w.CreateServers(ctx, who, spec)
			if kind, code := fault.Of(err); err == nil && want != accepted ||
				err != nil && (want == accepted || outcome{kind, code} != want) {
				t.Errorf("a server with a %s of another for %s: %v, want %v", c.kind, who.User, err, want)
			}
			if err == nil {
				w.must(w.DeleteServer(ctx, who, made[0].ID)) // gives the port back
				w.work(w.cloudService, nil)
			}
		}
	}

	vm := w.running()
	_, err = w.Attach(ctx, eve, vm, compute.NetworkSpec{Port: free})
	w.refusedWith(err, missing, "PortNotFound")
	_, err = w.Attach(ctx, eve, vm, compute.NetworkSpec{Network: compute.ID(w.net)})
	w.refusedWith(err, missing, "NetworkNotFound")
	const inUse = "Fixed IP address 10.9.0.9 is already in use"
	for who, want := range map[compute.Caller]string{
		eve: inUse + ".", ann: inUse + " on instance .", root: inUse + " on instance .",
	} {
		_, err = w.CreateServers(ctx, who, servers.ServerSpec{
			Name: "vm", Flavor: "m1", Image: cirros,
			Networks: []compute.NetworkSpec{{Network: compute.ID(shared), Address: "10.9.0.9"}},
		})
		if err == nil || err.Error() != want {
			t.Errorf("an address of a port of another for %s: %v, want %s", who.User, err, want)
		}
	}
	for who, want := range map[compute.Caller]string{
		eve:  "Port id " + string(free) + " could not be found.",
		ann:  "Instance " + string(vm) + " does not have a port with id " + string(free),
		root: "Instance " + string(vm) + " does not have a port with id " + string(free),
	} {
		if _, err := w.Interface(ctx, who, vm, free); err == nil || err.Error() != want {
			t.Errorf("a port that is not the server's for %s: %v, want %s", who.User, err, want)
		}
	}
}

// networkOf makes a network with a subnet.
func (w *fixture) networkOf(row network.NetworkRow) network.ID {
	w.Helper()
	row.AdminStateUp, row.PortSecurity = true, true
	made, err := w.network.CreateNetworks(ctx, []topology.NetworkSpec{{
		NetworkRow: row,
		Segments:   []topology.SegmentSpec{{Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 101}},
	}})
	w.must(err)
	_, err = w.network.CreateSubnets(ctx, []topology.SubnetSpec{{SubnetRow: network.SubnetRow{
		Common: network.Common{Project: row.Project}, Network: made[0].ID, IPVersion: 4, CIDR: "10.9.0.0/16",
	}}})
	w.must(err)
	return made[0].ID
}
