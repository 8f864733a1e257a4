package servers_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/topology"
)

// attach gives a server a port, with its host at work.
func (w *fixture) attach(
	s *cloudService, server compute.ID, n compute.NetworkSpec, fails func(string, fleet.Wanted) *fleet.Result,
) (compute.ServerPort, error) {
	w.Helper()
	over := make(chan struct{})
	var host sync.WaitGroup
	host.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				w.hostsWork(w.cloudService, fails)
				time.Sleep(time.Millisecond)
			}
		}
	})
	p, err := s.Attach(ctx, ann, server, n)
	close(over)
	host.Wait()
	return p, err
}

// running returns a server that is active and has no ports.
func (w *fixture) running() compute.ID {
	w.Helper()
	vm := w.boot("vm")
	w.work(w.cloudService, nil)
	if got := w.state(vm); got != compute.Active {
		w.Fatalf("the server is %s", got)
	}
	return vm
}

func TestAttachAndDetach(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.running()
	port := w.port(1000)
	var limits []string
	placement := w.paths.placement.handler
	w.paths.placement.handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/allocation_candidates" {
			limits = append(limits, r.URL.Query().Get("limit"))
		}
		placement.ServeHTTP(out, r)
	})
	p := must(w.attach(w.cloudService, vm, compute.NetworkSpec{Port: port, Tag: "t"}, nil))
	w.agrees("attach of a port")
	if !slices.Equal(limits, []string{"10"}) {
		t.Errorf("%v candidates are requested from placement, want as many as are tried", limits)
	}
	if p.Shown.ID != port || p.Tag != "t" || p.Own || p.Shown.Allocation.Empty() {
		t.Errorf("the port is %+v", p)
	}
	made := must(w.attach(w.cloudService, vm, compute.NetworkSpec{Network: compute.ID(w.net), Address: "10.0.0.99"}, nil))
	w.agrees("attach of a network")
	if made.Shown.Addresses[0].IP != "10.0.0.99" || !made.Own || made.Index != 1 {
		t.Errorf("the port is %+v", made)
	}
	if all := must(w.Interfaces(ctx, vm)); len(all) != 2 {
		t.Errorf("the server has %+v", all)
	}
	if used := w.used(); used[egress] != 1000 {
		t.Errorf("%v is used", used)
	}
	for _, id := range []compute.ID{port, made.Port} {
		w.must(w.Detach(ctx, ann, vm, id))
		w.work(w.cloudService, nil)
		w.agrees("detach")
	}
	if used := w.used(); used[egress] != 0 {
		t.Errorf("%v is used", used)
	}
	if n := len(must(w.network.Ports(ctx))); n != 1 {
		t.Errorf("%d ports are left", n)
	}
	w.refusedWith(w.Detach(ctx, ann, vm, port), fault.NotFound, "PortNotFound")
}

// refusedWith checks the fault of an error.
func (w *fixture) refusedWith(err error, kind fault.Kind, code fault.Code) {
	w.Helper()
	if k, c := fault.Of(err); err == nil || k != kind || c != code {
		w.Errorf("the error is %v (%v %s), want %v %s", err, k, c, kind, code)
	}
}

func TestAttachIsRefused(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.running()
	other := w.boot("other", w.port(1000))
	w.work(w.cloudService, nil)
	taken := must(w.Server(ctx, other)).Ports[0].Port
	broken := func(string, fleet.Wanted) *fleet.Result { return &fleet.Result{Error: "no slot"} }
	requesting := func() {
		id := w.policy(500)
		_, err := w.network.UpdateNetwork(ctx, w.net, func(n *topology.NetworkSpec) error {
			n.Policy = id
			return nil
		})
		w.must(err)
	}
	address := must(w.Server(ctx, other)).Ports[0].Shown.Addresses[0].IP
	limit := func(n int64) func() {
		return func() {
			_, err := w.network.SetQuotas(ctx, computetest.Project, network.Quotas{"port": n}, false)
			w.must(err)
		}
	}
	full, unlimited := limit(0), limit(-1)
	for _, tc := range []struct {
		what   string
		port   compute.NetworkSpec
		before func()
		fails  func(string, fleet.Wanted) *fleet.Result
		kind   fault.Kind
		code   fault.Code
		text   string
	}{
		{
			"no room",
			compute.NetworkSpec{Port: w.port(2000)},
			nil, nil, fault.Invalid, "InterfaceAttachResourceAllocationFailed",
			fmt.Sprintf("Failed to allocate additional resources to %s during interface attach", vm),
		},
		{
			"taken",
			compute.NetworkSpec{Port: taken},
			nil, nil, fault.Conflict, "PortInUse",
			fmt.Sprintf("Port %s is still in use.", taken),
		},
		{
			"no port",
			compute.NetworkSpec{Port: vm},
			nil, nil, fault.NotFound, "PortNotFound",
			fmt.Sprintf("Port id %s could not be found.", vm),
		},
		{
			"no network",
			compute.NetworkSpec{Network: vm},
			nil, nil, fault.NotFound, "NetworkNotFound",
			fmt.Sprintf("Network %s could not be found.", vm),
		},
		{
			"no address",
			compute.NetworkSpec{Network: compute.ID(w.net), Address: address},
			nil, nil, fault.Conflict, "FixedIpAlreadyInUse",
			fmt.Sprintf("Fixed IP %s is already in use.", address),
		},
		{
			"another subnet's address",
			compute.NetworkSpec{Network: compute.ID(w.net), Address: "192.0.2.1"},
			nil, nil, fault.Invalid, "InvalidInput",
			fmt.Sprintf("Invalid input received: Fixed IP 192.0.2.1 is not a valid ip address for network %s.", w.net),
		},
		{
			"no quota",
			compute.NetworkSpec{Network: compute.ID(w.net)},
			full, nil, fault.Denied, "PortLimitExceeded", "Maximum number of ports exceeded",
		},
		{
			"broken",
			compute.NetworkSpec{Port: w.port(1000)},
			nil, broken, fault.Failed, "InterfaceAttachFailed",
			fmt.Sprintf("Failed to attach network adapter device to %s", vm),
		},
		{
			"a network whose ports request bandwidth",
			compute.NetworkSpec{Network: compute.ID(w.net)},
			func() { unlimited(); requesting() }, nil, fault.Invalid, "NetworksWithQoSPolicyNotSupported",
			fmt.Sprintf("Using networks with QoS policy is not supported for instance %s. (Network ID is %s)", vm, w.net),
		},
	} {
		if tc.before != nil {
			tc.before()
		}
		_, err := w.attach(w.cloudService, vm, tc.port, tc.fails)
		w.refusedWith(err, tc.kind, tc.code)
		if f, ok := fault.Find(err); !ok || f.Error() != tc.text {
			t.Errorf("%s: %v, want %s", tc.what, err, tc.text)
		}
		w.work(w.cloudService, nil)
		if n := len(computetest.Read[compute.PortRow](t, w.store, compute.Where(compute.ByServer, vm))); n != 0 {
			t.Errorf("%s: the server has %d ports", tc.what, n)
		}
		w.calm(tc.what)
	}
	for _, text := range []string{"Failed to allocate additional resources", "no slot", "not supported"} {
		if why := w.why(vm); !strings.Contains(why, text) {
			t.Errorf("the events say %q, want %q in it", why, text)
		}
	}
}

// Ports that request resources are refused where the operator wants that, or where the host is
// too old for them; others are not, and nothing changes.
func TestAttachOfPortsThatAskIsRefused(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.running()
	refuses := w.serve(w.store, func(s *compute.Settings) { s.AllowAttachQoS, s.HostTime = false, time.Minute })
	old := func() {
		_, node := computetest.Host("cn1", 0)
		w.must(w.Report(ctx, compute.Report{Host: "cn1", Version: 59, Node: *node}))
	}
	for _, tc := range []struct {
		what   string
		s      *cloudService
		before func()
		code   fault.Code
		text   string
	}{
		{
			"the operator", refuses, func() {}, "AttachInterfaceWithQoSPolicyNotSupported",
			fmt.Sprintf("Attaching interfaces with QoS policy is not supported for instance %s.", vm),
		},
		{
			"the host", w.cloudService, old, "ExtendedResourceRequestOldCompute",
			"The port-resource-request-groups neutron API extension is not supported by old nova compute service. " +
				"Upgrade your compute services to Xena (24.0.0) or later.",
		},
	} {
		tc.before()
		port := w.port(1000)
		_, err := w.attach(tc.s, vm, compute.NetworkSpec{Port: port}, nil)
		w.refusedWith(err, fault.Invalid, tc.code)
		if f, ok := fault.Find(err); !ok || f.Error() != tc.text {
			t.Errorf("%s: %v, want %s", tc.what, err, tc.text)
		}
		w.agrees(tc.what)
		plain := must(w.attach(tc.s, vm, compute.NetworkSpec{Port: w.port(0)}, nil))
		w.agrees(tc.what + ", and a port that requests nothing")
		w.must(w.Detach(ctx, ann, vm, plain.Port))
		w.work(w.cloudService, nil)
	}
}

// What is wrong with the server is said before what is wrong with the port.
func TestAttachLooksAtTheServerFirst(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.running()
	attach := func(by compute.Caller) error {
		_, err := w.Attach(ctx, by, vm, compute.NetworkSpec{Port: "none"})
		return err
	}
	w.refusedWith(attach(ann), fault.NotFound, "PortNotFound")
	w.must(w.Lock(ctx, root, vm, ""))
	w.refusedWith(attach(ann), fault.Conflict, "InstanceIsLocked")
	w.refusedWith(attach(root), fault.NotFound, "PortNotFound")
	w.must(w.Unlock(ctx, root, vm))
	w.must(w.StopServer(ctx, ann, vm))
	w.refusedWith(attach(ann), fault.Conflict, compute.InvalidState)
	w.work(w.cloudService, nil)
	w.refusedWith(attach(ann), fault.NotFound, "PortNotFound")
	w.must(w.ResetState(ctx, root, vm, compute.Error))
	w.refusedWith(attach(ann), fault.Conflict, compute.InvalidState)
	vm = "none"
	w.refusedWith(attach(ann), fault.NotFound, "InstanceNotFound")
}

// calm looks whether nothing is under way.
func (w *fixture) calm(after string) {
	w.Helper()
	if left := computetest.Read[compute.OperationRow](w, w.store); len(left) > 0 {
		w.Errorf("%s: %d operations are left", after, len(left))
	}
}

// A port that is removed while a server has it is unplugged, and what it held is given back.
func TestPortThatIsRemoved(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	port := w.port(1000)
	vm := w.boot("vm", port)
	w.work(w.cloudService, nil)
	w.must(w.network.DeletePort(ctx, network.ID(port)))
	must(w.Receive(ctx, []servers.ExternalEvent{{Name: "network-vif-deleted", Server: vm, Tag: string(port)}}))
	if listed := must(w.Wanted(ctx, "cn1")); len(listed) != 1 || len(listed[0].Ports) != 0 {
		t.Errorf("the host is to do %+v", listed)
	}
	w.agrees("a port was removed")
	w.refusedWith(w.Detach(ctx, ann, vm, port), fault.NotFound, "PortNotFound")
}

// A port that promises something only since it is bound has nothing in placement: it takes nothing
// from its server when it goes, and what another port has stays.
func TestDetachOfPortWithoutAllocation(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	plain, guaranteed := w.port(0), w.port(1000)
	vm := w.boot("vm", plain, guaranteed)
	w.work(w.cloudService, nil)
	w.agrees("boot")
	policy := w.policy(500)
	_, err := w.network.UpdatePort(ctx, network.ID(plain), func(s *ports.Spec) error {
		s.Policy = policy
		return nil
	})
	w.must(err)
	before := must(w.places.Allocations(ctx, string(vm))).Amounts
	w.must(w.Detach(ctx, ann, vm, plain))
	w.work(w.cloudService, nil)
	w.agrees("detach of a port without an allocation")
	if after := must(w.places.Allocations(ctx, string(vm))).Amounts; !reflect.DeepEqual(before, after) {
		t.Errorf("the server holds %v, before %v", after, before)
	}
	if got := w.state(vm); got != compute.Active || strings.Contains(w.why(vm), "detach") {
		t.Errorf("the server is %s: %s", got, w.why(vm))
	}
}

// What a port requests changes while a server gets it, or loses it, before whichever request: the
// server has allocations for what its ports request in the end. A sample has every fourth
// request.
func TestPortThatChanges(t *testing.T) {
	first, step := sweep.Every(t, 4)
	for _, name := range []string{"Boot", "Attach", "Detach", "Delete"} {
		s := scenarios[name]
		for _, rate := range []int64{0, 500, 2000} {
			if racetest.Few() && rate != 0 {
				continue
			}
			t.Run(fmt.Sprint(name, rate), func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1", "cn2")
				policy := w.policy(rate)
				for at, met := 1+first, true; met && !t.Failed(); at += step {
					w.prepare(s)
					w.paths.network.happens(at, func() { w.changePolicies(policy) })
					w.during(s, w.cloudService)
					met = w.paths.network.heals()
					w.afterwards(fmt.Sprintf("the port changed before request %d", at))
				}
			})
		}
	}
}

// The same when the policy is that of the port's network. A sample has every fourth request.
func TestNetworkThatChanges(t *testing.T) {
	first, step := sweep.Every(t, 4)
	for _, name := range []string{"Attach", "Detach", "Delete"} {
		for _, rate := range []int64{0, 500, 2000} {
			if racetest.Few() && rate != 2000 {
				continue
			}
			t.Run(fmt.Sprint(name, rate), func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1")
				s := scenario{do: func(w *fixture, s *cloudService) error {
					switch name {
					case "Attach":
						_, err := w.attach(s, w.only(), compute.NetworkSpec{Port: w.port(0)}, nil)
						return err
					case "Detach":
						return s.Detach(ctx, ann, w.only(), must(w.Server(ctx, w.only())).Ports[0].Port)
					}
					return s.DeleteServer(ctx, ann, w.only())
				}}
				s.begin = func(w *fixture) {
					w.changeNetwork(1000)
					if name == "Attach" {
						w.boot("vm", w.port(200))
					} else {
						w.boot("vm", w.port(0), w.port(200))
					}
				}
				w.policy(rate)
				for at, met := 1+first, true; met && !t.Failed(); at += step {
					w.prepare(s)
					w.paths.network.happens(at, func() { w.changeNetwork(rate) })
					w.during(s, w.cloudService)
					met = w.paths.network.heals()
					w.afterwards(fmt.Sprintf("the network changed before request %d", at))
				}
			})
		}
	}
}

// changeNetwork gives the network a policy of such a rate.
func (w *fixture) changeNetwork(rate int64) {
	w.Helper()
	policy := w.policy(rate)
	_, err := w.network.UpdateNetwork(ctx, w.net, func(n *topology.NetworkSpec) error {
		n.Policy = policy
		return nil
	})
	w.must(err)
}

// changePolicies gives all ports with a policy another one.
func (w *fixture) changePolicies(policy network.ID) {
	w.Helper()
	all, err := w.network.Ports(ctx)
	w.must(err)
	for i := range all {
		if all[i].Policy == "" {
			continue
		}
		_, err := w.network.UpdatePort(ctx, all[i].ID, func(s *ports.Spec) error {
			s.Policy = policy
			return nil
		})
		w.must(err)
	}
}

func TestPower(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.running()
	for _, step := range []struct {
		do    func() error
		state string
		runs  bool
	}{
		{func() error { return w.StopServer(ctx, ann, vm) }, compute.Stopped, false},
		{func() error { return w.StartServer(ctx, ann, vm) }, compute.Active, true},
		{func() error { return w.RebootServer(ctx, ann, vm, true) }, compute.Active, true},
	} {
		w.must(step.do())
		must(w.Recover(ctx))
		listed := must(w.Wanted(ctx, "cn1"))
		if listed[0].Event == "" || listed[0].Running != step.runs {
			t.Errorf("the host is to do %+v", listed[0])
		}
		w.work(w.cloudService, nil)
		if one := must(w.Server(ctx, vm)); one.State != step.state || one.Task != "" ||
			must(w.Wanted(ctx, "cn1"))[0].Running != step.runs {
			t.Errorf("the server is %+v", one.ServerRow)
		}
	}
	w.must(w.StopServer(ctx, ann, vm))
	w.work(w.cloudService, func(string, fleet.Wanted) *fleet.Result { return &fleet.Result{Error: "it hangs"} })
	if one := must(w.Server(ctx, vm)); one.State != compute.Active || one.Task != "" ||
		!strings.Contains(w.why(vm), "it hangs") {
		t.Errorf("the server is %+v", one.ServerRow)
	}
}

// A port that somebody else has taken meanwhile is left to them.
func TestPortOfAnother(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	port := w.port(0)
	vm := w.boot("vm", port)
	_, err := w.network.UpdatePort(ctx, network.ID(port), func(s *ports.Spec) error {
		s.DeviceID = "router"
		return nil
	})
	w.must(err)
	w.work(w.cloudService, nil)
	if got := w.state(vm); got != compute.Error {
		t.Errorf("the server is %s", got)
	}
	w.calm("the port is another's")
	if all := must(w.network.Ports(ctx)); len(all) != 1 || all[0].DeviceID != "router" {
		t.Errorf("the ports are %+v", all)
	}
}
