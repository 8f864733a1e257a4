package servers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
	placementservice "github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A fixture is a compute service with a real placement and a real network service, each
// behind its API.
type fixture struct {
	*testing.T
	*cloudService
	*catalogService
	store    compute.Store
	network  *service.Service
	places   *placementclient.Client // as this test sees it
	aliases  map[string]request.Alias
	paths    *paths     // from the compute service to its peers
	net      network.ID // physnet0
	policies map[int64]network.ID
	given    map[network.ID]bool // ports that were made for no server
	hosts    map[string]string   // by the UUIDs of their providers
	storages map[string]string   // UUIDs of the providers whose disk hosts share, by host
	last     network.ID          // of them
	log      *slog.Logger        // of services that are made from now on
	mirrors  mirrors             // placement, of the last of them

	served  []*cloudService // on its clock
	mu      sync.Mutex      // guards now and elapsed
	now     time.Time
	elapsed time.Duration
}

// paths are what lies between the compute service and its peer services, and between the network
// service and placement. Without a keystone the compute service needs no tokens.
type paths struct {
	placement, network, amounts, keystone *breakable
	// unanswered is called when a request of the compute service has no answer, unless it is nil.
	unanswered func()
}

const (
	egress  = "NET_BW_EGR_KILOBIT_PER_SEC"
	ingress = "NET_BW_IGR_KILOBIT_PER_SEC"
)

// newFixture makes a fixture with hosts that have a bridge with room for so many kbit/s in
// each direction.
func newFixture(t *testing.T, room int64, hosts ...string) *fixture {
	t.Helper()
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return newFixtureIn(t, storetest.Rerun(store), room, hosts...)
}

// asService gives all callers the role service, which the reshaper needs.
func asService(c *httpapi.Config) {
	c.Authenticate = func(r *http.Request) (identity.Caller, error) {
		caller, err := httpapi.NoAuth(r)
		caller.Roles = append(caller.Roles, "service")
		return caller, err
	}
}

// newFixtureIn is newFixture with a given store.
func newFixtureIn(t *testing.T, store compute.Store, room int64, hosts ...string) *fixture {
	t.Helper()
	w := &fixture{
		T: t, store: store, policies: map[int64]network.ID{}, given: map[network.ID]bool{}, hosts: map[string]string{},
		storages: map[string]string{}, now: computetest.Now, paths: &paths{}, log: logtest.Logger(),
	}
	w.paths.placement = newBreakable(t, placementapitest.New(t, placementservice.DefaultSettings(), asService))
	w.paths.amounts = newBreakable(t, w.paths.placement.handler)
	w.places = placementclient.New(options(t, w.paths.placement.inner))
	w.newNetwork()
	w.cloudService = w.serve(w.store)
	w.catalogService = w.catalogOf(w.cloudService)
	for _, h := range hosts {
		w.host(h, room)
	}
	w.add(computetest.Flavor("m1", 1, 128, 1))
	w.add(computetest.Flavor("m2", 2, 256, 2))
	return w
}

// catalogService is catalog.Service under a name that can be embedded with compute's.
type catalogService = catalog.Service

// catalogOf returns the catalog of a service.
func (w *fixture) catalogOf(s *cloudService) *catalog.Service {
	return catalog.New(s.db, w.mirrors)
}

// mirrors are what placement has of aggregates and hosts.
type mirrors interface {
	catalog.Placement
	providertree.Placement
}

// fleetOf returns the hosts of a service.
func (w *fixture) fleetOf(s *cloudService) *fleet.Service { return s.fleetService }

// serve returns a compute service of the fixture on a store.
func (w *fixture) serve(store compute.Store, settings ...func(*compute.Settings)) *cloudService {
	return w.serveAs("", store, settings...)
}

// serveAs is serve for a run of the program.
func (w *fixture) serveAs(run string, store compute.Store, settings ...func(*compute.Settings)) *cloudService {
	toPlacement, toNetwork := w.paths.placement.options(w), w.paths.network.options(w)
	if k := w.paths.keystone; k != nil {
		toPlacement.Access = login{w.paths.placement.url, k.client(w), w}
		toNetwork.Access = login{w.paths.network.url, k.client(w), w}
	}
	toPlacement.Observe = func(_ string, status int, _ time.Duration) {
		if status == 0 && w.paths.unanswered != nil {
			w.paths.unanswered()
		}
	}
	toNetwork.Observe = toPlacement.Observe
	places, nets := placementclient.NewCompute(toPlacement), neutronclient.New(toNetwork)
	w.Cleanup(func() {
		places.Close()
		nets.Close()
	})
	s := compute.DefaultSettings()
	s.HostTime = 2 * time.Second // for which an attachment is tried while a service does not answer
	for resource := range s.Quotas {
		s.Quotas[resource] = -1
	}
	s.Requests.PCI = w.aliases
	for _, set := range settings {
		set(&s)
	}
	db := compute.NewDatabase(store, compute.Rules{Settings: s, Now: w.clock, Log: w.log})
	service := newService(db, computetest.Options{
		Placement: places, Network: nets, Images: allImages, Trees: places, Elapsed: w.monotonic, Run: run,
	})
	w.served, w.mirrors = append(w.served, service), places
	return service
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) monotonic() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.elapsed
}

// later lets time pass, after all services have looked for work, as they do every two seconds.
func (w *fixture) later(d time.Duration) {
	w.Helper()
	for _, s := range w.served {
		w.must(s.Look(ctx))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now, w.elapsed = w.now.Add(d), w.elapsed+d
}

// setClock sets the clock forward, or back.
func (w *fixture) setClock(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(by)
}

func options(t testing.TB, url string) client.Options {
	t.Helper()
	access, err := client.Fixed(url, client.NoAuth)
	if err != nil {
		t.Fatal(err)
	}
	return client.Options{Access: access, Timeout: 10 * time.Second, Log: logtest.Logger()}
}

func (w *fixture) newNetwork() {
	w.Helper()
	store, err := rowtable.OpenNetwork(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	w.must(err)
	w.Cleanup(func() { _ = store.Close() })
	settings := network.DefaultSettings()
	settings.AgentDownTime = 24 * time.Hour // they report once, and a sweep on a busy machine takes longer than 75 s
	settings.VLANs = map[string][]network.Range{"physnet0": {{Low: 1, High: 4000}}, "physnet1": {{Low: 1, High: 4000}}}
	settings.Extensions.Alternatives = true // which matters where a network has several physical networks
	for resource := range settings.Quotas {
		settings.Quotas[resource] = -1
	}
	w.network = service.New(storetest.Rerun(store), settings, service.Peers{
		Placement: placementclient.New(w.paths.amounts.options(w)), Log: logtest.Logger(),
	})
	rules, err := policy.New(policy.Options{Defaults: networkapi.PolicyDefaults(), Networking: true})
	w.must(err)
	api := &networkapi.API{Network: w.network, Policy: rules}
	w.paths.network = newBreakable(w, networkapi.Handler(httpapi.New(httpapi.Config{
		Service: "network", Routes: api.Routes(), Authenticate: httpapi.NoAuth, Public: networkapi.Public,
		Problem: networkapi.Problem,
	})))
	nets, err := w.network.CreateNetworks(ctx, []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{
			Common: network.Common{Project: computetest.Project, Name: "net0"}, AdminStateUp: true, PortSecurity: true,
		},
		Segments: []topology.SegmentSpec{{Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 100}},
	}})
	w.must(err)
	w.net = nets[0].ID
	_, err = w.network.CreateSubnets(ctx, []topology.SubnetSpec{{SubnetRow: network.SubnetRow{
		Common: network.Common{Project: computetest.Project}, Network: w.net, IPVersion: 4, CIDR: "10.0.0.0/16",
	}}})
	w.must(err)
}

func (w *fixture) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) add(rows ...any) {
	w.Helper()
	computetest.Add(w, w.store, rows...)
}

// host lets a host and its network agent report, and brings both into placement.
func (w *fixture) host(name string, room int64) {
	w.Helper()
	w.hostAt(name, "physnet0", room)
}

// hostAt is host with a bridge on another physical network.
func (w *fixture) hostAt(name, physical string, room int64) {
	w.Helper()
	_, node := computetest.Host(name, 0)
	w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node}))
	id := string(node.ID)
	w.hosts[id] = name
	w.must(providertreetest.Set(ctx, w.places, providertree.Provider{
		ID: placement.UUID(id), Name: name, Inventories: map[string]placement.Inventory{
			"VCPU": providertreetest.Offer(100), "MEMORY_MB": providertreetest.Offer(100000),
			"DISK_GB": providertreetest.Offer(1000),
		},
	}))
	a, _, err := w.network.Beat(ctx, agents.Heartbeat{
		Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: name, Start: true,
		Configurations: fmt.Appendf(nil, `{"bridge_mappings": {%q: "br0"}, "integration_bridge": "br-int",
			"resource_provider_bandwidths": {"br0": {"egress": %d, "ingress": %d}},
			"resource_provider_hypervisors": {"br0": %q}}`, physical, room, room, name),
	})
	w.must(err)
	w.track(a, id)
}

// track brings what an agent has reported into placement, below a root.
func (w *fixture) track(a agents.Agent, id string) {
	w.Helper()
	state, err := w.network.State(a.AgentRow)
	w.must(err)
	for _, p := range tracking.Desired(state, w.hosts[id], placement.UUID(id)) {
		w.must(providertreetest.Set(ctx, w.places, p))
		w.hosts[string(p.ID)] = w.hosts[id]
	}
}

// port makes a port that promises so much in each direction, nothing when it is 0.
func (w *fixture) port(rate int64, vnic ...string) compute.ID {
	w.Helper()
	vnic = append(vnic, "normal")
	made, err := w.network.CreatePorts(ctx, []ports.Spec{{
		PortRow: network.PortRow{
			Common: network.Common{Project: computetest.Project}, Network: w.net, Policy: w.policy(rate), AdminStateUp: true,
		},
		AnyIPs: true, AnyGroups: true, AnyPortSecurity: true, VNIC: vnic[0],
	}})
	w.must(err)
	w.given[made[0].ID], w.last = true, made[0].ID
	return compute.ID(made[0].ID)
}

func (w *fixture) policy(rate int64) network.ID {
	w.Helper()
	if rate == 0 || w.policies[rate] != "" {
		return w.policies[rate]
	}
	made, err := w.network.CreatePolicies(ctx,
		[]network.PolicyRow{{Common: network.Common{Project: computetest.Project, Name: fmt.Sprint(rate)}}})
	w.must(err)
	for _, direction := range []string{network.Egress, network.Ingress} {
		_, err := w.network.CreateRule(ctx, network.RuleRow{
			Policy: made[0].ID, Type: network.MinimumBandwidth, Direction: direction, Rate: rate,
		})
		w.must(err)
	}
	w.policies[rate] = made[0].ID
	return made[0].ID
}

// boot begins to create a server with ports.
func (w *fixture) boot(name string, ports ...compute.ID) compute.ID {
	w.Helper()
	spec := servers.ServerSpec{Name: name, Flavor: "m1", Image: cirros, PortsMayRequest: true}
	for _, p := range ports {
		spec.Networks = append(spec.Networks, compute.NetworkSpec{Port: p})
	}
	made, err := w.CreateServers(ctx, ann, spec)
	w.must(err)
	return made[0].ID
}

// work lets a service and its hosts do what can be done. Fails says what of a host's work
// fails, and may be nil.
func (w *fixture) work(s *cloudService, fails func(host string, want fleet.Wanted) *fleet.Result) {
	w.Helper()
	for range 20 {
		_, err := s.Recover(ctx)
		w.must(err)
		if !w.hostsWork(s, fails) {
			return
		}
	}
	w.Fatal("the hosts do not come to rest")
}

// hostsWork has each host do what is wanted of it, and reports whether there was
// something.
func (w *fixture) hostsWork(s *cloudService, fails func(string, fleet.Wanted) *fleet.Result) bool {
	w.Helper()
	did := false
	services, err := w.fleetOf(s).Services(ctx)
	w.must(err)
	for _, h := range services {
		if !s.db.Rules.IsUp(h.ServiceRow) {
			continue
		}
		listed, err := s.Wanted(ctx, h.Host)
		w.must(err)
		for _, one := range listed {
			if one.Event == "" {
				continue
			}
			r := &fleet.Result{}
			if fails != nil {
				if f := fails(h.Host, one); f != nil {
					r = f
				}
			}
			r.Server, r.Event, r.Generation, r.Power, did = one.ID, one.Event, one.Generation, one.Power, true
			w.must(s.Done(ctx, h.Host, []fleet.Result{*r}))
		}
	}
	return did
}

// workAtOnce lets the service and its hosts work as in production, until nothing is under
// way.
func (w *fixture) workAtOnce() {
	w.Helper()
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { w.RunOperations(running) })
	for end := time.Now().Add(time.Minute); len(computetest.Read[compute.OperationRow](w, w.store)) > 0; {
		if time.Now().After(end) {
			w.Fatal("the operations do not end")
		}
		if !w.hostsWork(w.cloudService, nil) {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// report has all hosts say that they are alive.
func (w *fixture) report() {
	w.Helper()
	services, err := w.Services(ctx)
	w.must(err)
	for _, h := range services {
		_, node := computetest.Host(h.Host, 0)
		w.must(w.Report(ctx, compute.Report{Host: h.Host, Version: 66, Node: *node}))
	}
}

// agrees compares the three services with each other: each server has allocations for what its
// flavor and its bound ports request, on the providers of its host and of those ports, no other
// consumer has any, no port is stuck, each host that is up is to have its servers and no others,
// and nothing is under way.
func (w *fixture) agrees(after string) {
	w.Helper()
	if left := computetest.Read[compute.OperationRow](w, w.store); len(left) > 0 {
		w.Errorf("%s: %d operations are left: %s/%s back %v %s", after, len(left), left[0].Kind, left[0].Step, left[0].Back,
			left[0].Body)
	}
	if left, err := w.network.Recover(ctx, 0); err != nil || left != 0 {
		w.Errorf("%s: %d intents are left, %v", after, left, err)
	}
	servers := computetest.Read[compute.ServerRow](w, w.store)
	existing := map[string]compute.ServerRow{}
	for _, s := range servers {
		existing[string(s.ID)] = s
		if s.Task != "" || s.State == compute.Building {
			w.Errorf("%s: server %s is stuck: %s, %s", after, s.Name, s.State, s.Task)
		}
	}
	want := map[string]allocations.Amounts{}
	for id, s := range existing {
		if s.Host != "" {
			want[id] = w.amountsOn(s.Host, s.FlavorID).Plus(w.devicesOn(s.Host, s.ID))
		}
	}
	ports, err := w.network.Ports(ctx)
	w.must(err)
	for i := range ports {
		w.fits(after, &ports[i], existing, want)
	}
	for _, m := range computetest.Read[compute.MigrationRow](w, w.store) {
		w.fitsMigration(after, m, existing[string(m.Server)], want)
	}
	w.compareAllocations(after, want)
	w.compareHosted(after, existing)
	if w.Failed() {
		w.Errorf("that was %s", after)
	}
}

// sizeOf is what servers of a flavor have: m2 is twice as large as all others.
func sizeOf(flavor compute.ID) map[string]int64 {
	if flavor == "m2" {
		return map[string]int64{"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 2}
	}
	return map[string]int64{"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
}

// amountsOn are what servers of a flavor have on a host, and of the storage that it shares.
func (w *fixture) amountsOn(host string, flavor compute.ID) allocations.Amounts {
	_, node := computetest.Host(host, 0)
	size := sizeOf(flavor)
	all := allocations.Amounts{string(node.ID): size}
	if storage := w.storages[host]; storage != "" {
		all[storage] = map[string]int64{"DISK_GB": size["DISK_GB"]}
		delete(size, "DISK_GB")
	}
	return all
}

// fitsMigration looks at one migration, and adds what it is to have: of a server that may come
// back, what its former flavor and its ports request, on the source. Of a storage that the
// destination shares it has what the former flavor has more of.
func (w *fixture) fitsMigration(
	after string, m compute.MigrationRow, server compute.ServerRow, want map[string]allocations.Amounts,
) {
	w.Helper()
	want[string(m.ID)] = allocations.Amounts{}
	switch m.Status {
	case "confirmed", "reverted", "error", "completed", "cancelled":
		return
	case "finished":
	default:
		w.Errorf("%s: a migration is %s", after, m.Status)
	}
	if server.State != compute.Resized || server.Host != m.Dest {
		w.Errorf("%s: server %s is %s on %q, and its migration from %q to %q waits", after, m.Server, server.State,
			server.Host, m.Source, m.Dest)
	}
	former, storage := w.amountsOn(m.Source, m.OldFlavor), w.storages[m.Source]
	if storage != "" && storage == w.storages[m.Dest] {
		now := w.amountsOn(m.Dest, server.FlavorID)[storage]["DISK_GB"]
		former = former.With(allocations.Amounts{storage: {"DISK_GB": former[storage]["DISK_GB"] - now}})
	}
	allocated, err := w.places.Allocations(ctx, string(m.ID))
	w.must(err)
	ports, err := w.network.Ports(ctx)
	w.must(err)
	has, requested := map[string]int64{}, map[string]int64{} // for all ports, by class
	for i := range ports {
		for _, g := range w.network.Request(&ports[i]).Groups {
			for class, n := range g.Resources {
				if ports[i].DeviceID == string(m.Server) {
					requested[class] += n
				}
			}
		}
	}
	for _, classes := range w.devicesOn(m.Source, m.Server) {
		for class, n := range classes {
			requested[class] += n
		}
	}
	for provider, classes := range allocated.Amounts {
		if provider == storage {
			continue
		}
		for class, n := range classes {
			if former[provider] == nil {
				has[class] += n
			}
		}
		if w.hosts[provider] != m.Source {
			w.Errorf("%s: a migration from %s holds %v on %s", after, m.Source, classes, w.hosts[provider])
		}
	}
	if !maps.Equal(has, requested) || !former.Equal(allocated.Amounts.Concerned(former)) ||
		allocated.Amounts[storage]["DISK_GB"] != former[storage]["DISK_GB"] {
		w.Errorf("%s: a migration holds %v, want %v and %v for ports", after, allocated.Amounts, former, requested)
	}
	want[string(m.ID)] = allocated.Amounts
}

// fits looks at one port, and adds what it requests to the expected allocations of its server.
func (w *fixture) fits(
	after string, p *network.Port, existing map[string]compute.ServerRow, want map[string]allocations.Amounts,
) {
	w.Helper()
	rows := computetest.Read[compute.PortRow](w, w.store, compute.Where(compute.ByPort, compute.ID(p.ID)))
	server, ok := existing[p.DeviceID]
	switch {
	case p.DeviceID == "":
		if !w.given[p.ID] {
			w.Errorf("%s: port %s was created for a server and remains", after, p.ID)
		}
		if p.Binding.Host != "" || len(p.Binding.Profile) > 2 || p.DeviceOwner != "" || len(rows) > 0 {
			w.Errorf("%s: port %s has no device and is bound to %q with %s, %d rows", after, p.ID, p.Binding.Host,
				p.Binding.Profile, len(rows))
		}
		return
	case !ok:
		w.Errorf("%s: port %s is of a server that does not exist", after, p.ID)
		return
	case server.State == compute.ShelvedOffloaded:
		if server.Host != "" || p.Binding.Host != "" || len(p.Binding.Profile) > 2 || p.DeviceOwner == "" || len(rows) != 1 {
			w.Errorf("%s: port %s of a shelved server is bound to %q with %s, %d rows", after, p.ID, p.Binding.Host,
				p.Binding.Profile, len(rows))
		}
		return
	case server.Host == "" || p.Binding.Host != server.Host || len(rows) != 1 || string(rows[0].Server) != p.DeviceID ||
		rows[0].Unplugged:
		w.Errorf("%s: port %s is bound to %q, its server %s is on %q; rows are %+v", after, p.ID, p.Binding.Host, server.Name,
			server.Host, rows)
	}
	var profile struct {
		Allocation  guarantee.ProfileAllocation
		Destination string `json:"migrating_to"`
	}
	if len(p.Binding.Profile) > 0 {
		w.must(json.Unmarshal(p.Binding.Profile, &profile))
	}
	if profile.Destination != "" {
		w.Errorf("%s: the profile of port %s says that it moves to %s", after, p.ID, profile.Destination)
	}
	for _, g := range w.network.Request(p).Groups {
		provider := profile.Allocation.Old
		if profile.Allocation.Groups != nil {
			provider = profile.Allocation.Groups[g.ID]
		}
		if host := w.hosts[provider.String()]; host != server.Host {
			w.Errorf("%s: port %s has its rate on %s, of %q, and its server %s is on %q", after, p.ID, provider, host,
				server.Name, server.Host)
		}
		want[p.DeviceID] = want[p.DeviceID].Plus(allocations.Amounts{provider.String(): g.Resources})
	}
}

// compareAllocations compares the allocations of servers with the expected ones, on each provider,
// and with the usages.
func (w *fixture) compareAllocations(after string, want map[string]allocations.Amounts) {
	w.Helper()
	total := map[string]int64{}
	for id, amounts := range want {
		allocated, err := w.places.Allocations(ctx, id)
		w.must(err)
		if !allocated.Amounts.Equal(amounts) {
			w.Errorf("%s: server %s holds %v, want %v", after, id, allocated.Amounts, amounts)
		}
		for _, classes := range allocated.Amounts {
			for class, n := range classes {
				total[class] += n
			}
		}
	}
	if used := w.used(); used[egress] != total[egress] || used[ingress] != total[ingress] ||
		used["VCPU"] != total["VCPU"] {
		w.Errorf("%s: %v is used, and servers have %v", after, used, total)
	}
}

// compareHosted looks what hosts are to have: those that are up, their servers; others also what
// they have to destroy when they are back.
func (w *fixture) compareHosted(after string, existing map[string]compute.ServerRow) {
	w.Helper()
	up := map[string]bool{}
	for _, h := range must(w.Services(ctx)) {
		up[h.Host] = h.Up
	}
	have := map[compute.ID]string{}
	for _, row := range computetest.Read[compute.HostedRow](w, w.store) {
		switch server := existing[string(row.Server)]; {
		case row.DesiredState == compute.DesiredAbsent:
			if up[row.Host] {
				w.Errorf("%s: %s has not destroyed server %s", after, row.Host, row.Server)
			}
		case row.DesiredState == compute.DesiredRetained:
			if server.State != compute.Resized || server.Host == row.Host || row.Event != "" {
				w.Errorf("%s: a host is to keep %+v, its server is %s on %q", after, row, server.State, server.Host)
			}
		case server.Host != row.Host || row.Event != "" || !wishFits(row.DesiredState, server):
			w.Errorf("%s: a host is to have %+v, its server is %s on %q", after, row, server.State, server.Host)
		default:
			have[row.Server] = row.Host
		}
	}
	for id, server := range existing {
		if have[compute.ID(id)] != server.Host {
			w.Errorf("%s: server %s is on %q, which is not to have it", after, server.Name, server.Host)
		}
	}
}

// wishFits reports whether a server that nothing is done to is as its host is to have it. One that
// could not be resumed is in error.
func wishFits(wish string, server compute.ServerRow) bool {
	power := map[string]compute.Power{
		compute.DesiredRunning: compute.Running, compute.DesiredStopped: compute.ShutDown,
		compute.DesiredPaused: compute.PowerPaused, compute.DesiredSuspended: compute.ShutDown,
	}[wish]
	saved := wish == compute.DesiredSuspended
	return power == server.Power &&
		(saved == (server.State == compute.Suspended) || saved && server.State == compute.Error)
}

// used is how much is used of each class, of all providers.
func (w *fixture) used() map[string]int64 {
	w.Helper()
	all, err := w.usages()
	w.must(err)
	return all
}

// state returns the state of a server, "gone" when there is none.
func (w *fixture) state(id compute.ID) string {
	w.Helper()
	rows := computetest.Read[compute.ServerRow](w, w.store, compute.Where(compute.ByID, id))
	if len(rows) == 0 {
		return "gone"
	}
	return rows[0].State
}

// A breakable is a service that a test can break.
type breakable struct {
	handler    http.Handler
	inner, url string // without and with what may break

	closed atomic.Bool // connections are refused

	mu     sync.Mutex // guards what follows
	number int        // of requests since breaks
	at     int        // the request that breaks, 0 for none
	on     bool       // and all after it
	after  bool       // it breaks when it was carried out
	met    bool       // one did
	does   func()     // instead of breaking: something else happens, before it
	reads  bool       // that happens before a request that only reads
	late   []func()   // what was not answered and has yet to take effect
	delays bool       // instead of breaking: it takes effect later
}

func newBreakable(t testing.TB, h http.Handler) *breakable {
	t.Helper()
	b := &breakable{handler: h}
	inner, outer := httptest.NewServer(h), httptest.NewServer(b)
	t.Cleanup(func() {
		inner.Close()
		outer.Close()
	})
	b.inner, b.url = inner.URL, outer.URL
	return b
}

// refuses has the service refuse connections after a request, counted from here, at once when that
// is 0. What it returns ends that, and reports whether there was such a request.
func (b *breakable) refuses(at int) (end func() bool) {
	if b.happens(at, func() { b.closed.Store(true) }); at == 0 {
		b.closed.Store(true)
		b.met = true
	}
	return func() bool {
		b.closed.Store(false)
		return b.heals()
	}
}

// A way is the transport of requests to a service, on which connections are refused while it is
// closed. Its address stays its own, which a closed listener would lose to another test.
type way struct {
	http.RoundTripper
	to *breakable
}

// RoundTrip is http.RoundTripper's.
func (t way) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.to.closed.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return t.RoundTripper.RoundTrip(r)
}

// WithoutReuse has requests use connections of their own.
func (t way) WithoutReuse() http.RoundTripper {
	alone := t.RoundTripper.(*http.Transport).Clone()
	alone.DisableKeepAlives = true
	return way{alone, t.to}
}

// client returns an HTTP client for the service.
func (b *breakable) client(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: way{transport, b}}
}

// options returns the options of a client of the service.
func (b *breakable) options(t testing.TB) client.Options {
	t.Helper()
	o := options(t, b.url)
	o.HTTP = b.client(t)
	return o
}

func (b *breakable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.number++
	hit := b.at > 0 && (b.number == b.at || b.on && b.number > b.at)
	b.met = b.met || hit
	after, does := b.after, b.does
	if hit && b.delays {
		body, _ := io.ReadAll(r.Body) // what was lost is not carried out either
		again := r.Clone(context.Background())
		again.Body = io.NopCloser(bytes.NewReader(body))
		b.late = append(b.late, func() { b.handler.ServeHTTP(httptest.NewRecorder(), again) })
	}
	reads := b.reads
	b.mu.Unlock()
	if hit && does != nil && (!reads || r.Method == http.MethodGet) {
		does()
	}
	if !hit || does != nil {
		b.handler.ServeHTTP(w, r)
		return
	}
	if after {
		b.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	panic(http.ErrAbortHandler)
}

// breaks has a request break, counted from here.
func (b *breakable) breaks(at int, on, after bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number, b.at, b.on, b.after, b.met, b.does, b.reads, b.delays = 0, at, on, after, false, nil, false, false
}

// isLate has a request not be answered, and take effect when lands is called.
func (b *breakable) isLate(at int) {
	b.breaks(at, false, false)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.delays = true
}

// lands has what is late take effect.
func (b *breakable) lands() {
	b.mu.Lock()
	late := b.late
	b.late = nil
	b.mu.Unlock()
	for _, one := range late {
		one()
	}
}

// happens has something happen before a request, counted from here.
func (b *breakable) happens(at int, does func()) {
	b.breaks(at, false, false)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.does = does
}

// stalls has something happen while a request waits that only reads, counted from here: its worker
// goes on after it.
func (b *breakable) stalls(at int, does func()) {
	b.happens(at, does)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads = true
}

// goesOn has what happens before a request happen before all that follow it.
func (b *breakable) goesOn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = true
}

// heals ends that, and reports whether one broke.
func (b *breakable) heals() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = 0
	return b.met
}

// usages returns what all servers of the project use, by class.
func (w *fixture) usages() (map[string]int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		w.paths.placement.inner+"/usages?project_id="+computetest.Project, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Auth-Token", client.NoAuth)
	r.Header.Set("OpenStack-API-Version", "placement 1.9")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var all struct {
		Usages map[string]int64 `json:"usages"`
	}
	return all.Usages, json.NewDecoder(res.Body).Decode(&all)
}
