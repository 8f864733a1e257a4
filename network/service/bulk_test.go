package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/growthtest"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A counting store counts what its transactions read.
type counting struct {
	network.Store
	addresses, segments int       // reads of all of a subnet, of all of a physical network
	ports               int       // reads of ports
	reading             chan bool // unless nil: has one after each read of a transaction
}

func (s *counting) Update(ctx context.Context, now time.Time, fn func(network.Writer) error) error {
	return s.Store.Update(ctx, now, func(w network.Writer) error { return fn(countingWriter{w, s}) })
}

type countingWriter struct {
	network.Writer
	store *counting
}

func (w countingWriter) Read(rows any, where ...network.Match) error {
	switch by := fmt.Sprintf("%T", rows); {
	case len(where) == 1 && by == "*[]network.AddressRow" && where[0].Field == network.BySubnet:
		w.store.addresses++
	case len(where) == 1 && by == "*[]network.SegmentRow" && where[0].Field == network.ByPhysical:
		w.store.segments++
	case by == "*[]network.PortRow":
		w.store.ports++
	}
	if w.store.reading != nil {
		select {
		case w.store.reading <- true:
		default:
		}
	}
	return w.Writer.Read(rows, where...)
}

// newBulk returns a service without quotas, and a network with a subnet.
func newBulk(t *testing.T) (*service.Service, *counting, network.SubnetRow) {
	t.Helper()
	db, err := rowtable.OpenNetwork(t.Context(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store, settings := &counting{Store: db}, network.DefaultSettings()
	settings.ProjectTypes = []string{network.VXLAN}
	settings.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 1, High: 1<<24 - 1}}}
	for resource := range settings.Quotas {
		settings.Quotas[resource] = -1
	}
	s := service.New(store, settings, service.Peers{Log: logtest.Logger()})
	nets, err := s.CreateNetworks(t.Context(), make([]topology.NetworkSpec, 1))
	if err != nil {
		t.Fatal(err)
	}
	subnets, err := s.CreateSubnets(t.Context(),
		[]topology.SubnetSpec{{SubnetRow: network.SubnetRow{Network: nets[0].ID, IPVersion: 4, CIDR: "10.0.0.0/8"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s, store, subnets[0]
}

// What a request needs to know for each of its objects is read once: the addresses of a
// subnet, the ports as they are then, and the numbers of tunnels.
func TestBulksReadOnce(t *testing.T) {
	s, store, subnet := newBulk(t)
	specs := make([]ports.Spec, 20)
	for i := range specs {
		specs[i] = ports.Spec{PortRow: network.PortRow{Network: subnet.Network}, FixedIPs: make([]ports.FixedIP, 5)}
		for n := range specs[i].FixedIPs {
			specs[i].FixedIPs[n].Subnet = subnet.ID
		}
	}
	store.addresses, store.ports = 0, 0
	created, err := s.CreatePorts(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for _, p := range created {
		for _, a := range p.Addresses {
			given[a.IP] = true
		}
	}
	if len(given) != 100 || !given["10.0.0.2"] || !given["10.0.0.101"] {
		t.Errorf("20 ports got %d addresses, want those from 10.0.0.2 to 10.0.0.101", len(given))
	}
	if store.addresses != 1 {
		t.Errorf("the addresses of the subnet were read %d times, want once", store.addresses)
	}
	if store.ports != 1 {
		t.Errorf("the ports were read %d times, want once", store.ports)
	}
	store.segments = 0
	if _, err := s.CreateNetworks(t.Context(), make([]topology.NetworkSpec, 20)); err != nil || store.segments != 1 {
		t.Errorf("20 networks read the tunnels %d times, %v, want once", store.segments, err)
	}
}

// An address that is given back in a transaction can be given again.
func TestAddressesComeAndGo(t *testing.T) {
	s, _, subnet := newBulk(t)
	any := ports.FixedIP{Subnet: subnet.ID}
	created, err := s.CreatePorts(t.Context(), []ports.Spec{
		{
			PortRow:  network.PortRow{Network: subnet.Network},
			FixedIPs: []ports.FixedIP{any, {Subnet: subnet.ID, IP: "10.0.0.3"}, any},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := addressesOf(created[0]); got != "10.0.0.2 10.0.0.3 10.0.0.4" {
		t.Errorf("the port has %s", got)
	}
	p, err := s.UpdatePort(t.Context(), created[0].ID, func(spec *ports.Spec) error {
		spec.AnyIPs, spec.FixedIPs = false, []ports.FixedIP{{Subnet: subnet.ID, IP: "10.0.0.9"}}
		return nil
	})
	if got := addressesOf(p); err != nil || got != "10.0.0.9" {
		t.Errorf("the port has %s, %v", got, err)
	}
	if created, err = s.CreatePorts(t.Context(), []ports.Spec{{
		PortRow: network.PortRow{Network: subnet.Network},
		AnyIPs:  true,
	}}); err != nil || addressesOf(created[0]) != "10.0.0.2" {
		t.Errorf("the next port is %+v, %v", created, err)
	}
}

func addressesOf(p network.Port) (text string) {
	for i, a := range p.Addresses {
		if i > 0 {
			text += " "
		}
		text += a.IP
	}
	return text
}

// What a request may do in a transaction is bounded before it begins.
func TestAddressesOfARequestAreBounded(t *testing.T) {
	s, _, subnet := newBulk(t)
	specs := make([]ports.Spec, 21)
	for i := range specs {
		specs[i] = ports.Spec{PortRow: network.PortRow{Network: subnet.Network}, FixedIPs: make([]ports.FixedIP, 100)}
	}
	if _, err := s.CreatePorts(t.Context(), specs); err == nil || err.Error() != "Invalid input for operation: a "+
		"request may need at most 2000 addresses, not 2100." {
		t.Errorf("2100 addresses: %v", err)
	}
}

// The client of a bulk leaves: the transaction ends with its next statement, and leaves
// nothing.
func TestBulksEndWithTheirRequest(t *testing.T) {
	s, store, subnet := newBulk(t)
	store.reading = make(chan bool, 1)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-store.reading
		leave()
	}()
	specs := make([]ports.Spec, 100_000)
	for i := range specs {
		specs[i] = ports.Spec{PortRow: network.PortRow{Network: subnet.Network}, AnyIPs: true}
	}
	if _, err := s.CreatePorts(ctx, specs); !errors.Is(err, context.Canceled) {
		t.Errorf("the bulk ends with %v", err)
	}
	if all, err := s.Ports(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("there are %d ports, %v", len(all), err)
	}
}

// Bulks, and lists in them, take time that grows with their length alone.
func TestBulksAreNearLinear(t *testing.T) {
	s, _, subnet := newBulk(t)
	ctx := t.Context()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	growthtest.NearLinear(t, 60, func(n int) {
		specs := make([]ports.Spec, n)
		for i := range specs {
			specs[i] = ports.Spec{PortRow: network.PortRow{Network: subnet.Network}, AnyIPs: true}
		}
		_, err := s.CreatePorts(ctx, specs)
		must(err)
	})
	growthtest.NearLinear(t, 200, func(n int) {
		spec := ports.Spec{PortRow: network.PortRow{Network: subnet.Network}, FixedIPs: make([]ports.FixedIP, n)}
		for i := range spec.FixedIPs {
			spec.FixedIPs[i].Subnet = subnet.ID
		}
		_, err := s.CreatePorts(ctx, []ports.Spec{spec})
		must(err)
	})
	growthtest.NearLinear(t, 60, func(n int) {
		_, err := s.CreateNetworks(ctx, make([]topology.NetworkSpec, n))
		must(err)
	})
	pools := func(n int) []network.Pool {
		all := make([]network.Pool, n)
		for i := range all {
			first := fmt.Sprintf("11.%d.%d.", i>>7&255, i<<1&255)
			all[i] = network.Pool{Start: first + "9", End: first + "10"}
		}
		return all
	}
	growthtest.NearLinear(t, 3000, func(n int) {
		spec := topology.SubnetSpec{
			NoGateway: true,
			SubnetRow: network.SubnetRow{Network: subnet.Network, IPVersion: 4, CIDR: "11.0.0.0/8", Pools: pools(n)},
		}
		created, err := s.CreateSubnets(ctx, []topology.SubnetSpec{spec})
		must(err)
		must(s.DeleteSubnet(ctx, created[0].ID))
		spec.Pools = append(spec.Pools, network.Pool{Start: "11.0.0.8", End: "11.0.0.9"})
		_, err = s.CreateSubnets(ctx, []topology.SubnetSpec{spec})
		if _, code := fault.Of(err); code != "OverlappingAllocationPools" {
			t.Fatalf("pools that overlap: %v", err)
		}
	})
	parent, err := s.CreatePorts(ctx, []ports.Spec{{PortRow: network.PortRow{Network: subnet.Network}}})
	must(err)
	children, err := s.CreatePorts(ctx, func() []ports.Spec {
		specs := make([]ports.Spec, 400)
		for i := range specs {
			specs[i].PortRow.Network = subnet.Network
		}
		return specs
	}())
	must(err)
	growthtest.NearLinear(t, 50, func(n int) {
		spec := ports.TrunkSpec{TrunkRow: network.TrunkRow{Port: parent[0].ID, AdminStateUp: true}}
		for i := range n {
			spec.Subports = append(spec.Subports,
				ports.SubportSpec{Port: children[i].ID, SegmentationType: network.VLAN, SegmentationID: i + 1})
		}
		trunks, err := s.CreateTrunks(ctx, []ports.TrunkSpec{spec})
		must(err)
		must(s.DeleteTrunk(ctx, trunks[0].ID))
	})
}
