package servers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
)

// A guaranteedCase is an operation of Settings.GuaranteedOperations, done with a server that
// exists.
type guaranteedCase struct {
	operation string
	code      fault.Code
	text      string // of the refusal, %s is the server
	shelved   bool   // the server is shelved before
	down      bool   // so is its host
	// do does it with a server, or with another port like the server's.
	do func(s *cloudService, vm, port, another compute.ID) error
}

// guaranteedCases has the refusals of Nova 19.0.0, and of 21.0.0 where a port is attached.
func (w *fixture) guaranteedCases() []guaranteedCase {
	moved := func(action string) string {
		return "The " + action + " action on a server with ports having resource requests, like a port with a QoS minimum " +
			"bandwidth policy, is not supported with this microversion"
	}
	const bad fault.Code = "HTTPBadRequest"
	return []guaranteedCase{
		{
			operation: "boot", code: "CreateWithPortResourceRequestOldVersion",
			text: "Creating servers with ports having resource requests, like a port with a QoS minimum bandwidth policy, is " +
				"not supported until microversion 2.72.",
			do: func(s *cloudService, _, _, another compute.ID) error {
				_, err := s.CreateServers(ctx, ann, servers.ServerSpec{
					Name: "next", Flavor: "m1", Image: cirros, PortsMayRequest: true,
					Networks: []compute.NetworkSpec{{Port: another}},
				})
				return err
			},
		},
		{
			operation: "attach", code: "AttachInterfaceWithQoSPolicyNotSupported",
			text: "Attaching interfaces with QoS policy is not supported for instance %s.",
			do: func(s *cloudService, vm, _, another compute.ID) error {
				_, err := w.attach(s, vm, compute.NetworkSpec{Port: another}, nil)
				return err
			},
		},
		{
			operation: "detach", code: bad, text: moved("detach_interface"),
			do: func(s *cloudService, vm, port, _ compute.ID) error { return s.Detach(ctx, ann, vm, port) },
		},
		{
			operation: "resize", code: bad, text: moved("resize"),
			do: func(s *cloudService, vm, _, _ compute.ID) error {
				return s.ResizeServer(ctx, ann, vm, servers.Resizing{Flavor: "m2"})
			},
		},
		{
			operation: "migrate", code: bad, text: moved("migrate"),
			do: func(s *cloudService, vm, _, _ compute.ID) error { return s.MigrateServer(ctx, root, vm, "") },
		},
		{
			operation: "live-migrate", code: bad, text: moved("os-migrateLive"),
			do: func(s *cloudService, vm, _, _ compute.ID) error {
				return s.LiveMigrateServer(ctx, root, vm, servers.LiveMigration{})
			},
		},
		{
			operation: "evacuate", code: bad, text: moved("evacuate"), down: true,
			do: func(s *cloudService, vm, _, _ compute.ID) error {
				return s.EvacuateServer(ctx, root, vm, servers.Evacuation{})
			},
		},
		{
			operation: "unshelve", code: bad, text: moved("unshelve"), shelved: true,
			do: func(s *cloudService, vm, _, _ compute.ID) error {
				return s.UnshelveServer(ctx, ann, vm, servers.Unshelving{})
			},
		},
		{
			operation: "delete", code: bad, text: moved("delete"),
			do: func(s *cloudService, vm, _, _ compute.ID) error { return s.DeleteServer(ctx, ann, vm) },
		},
	}
}

// An operation that is missing in the list is refused with Nova's words, and changes nothing;
// servers without guaranteed ports do not notice. One that is alone in the list is accepted.
func TestGuaranteedOperations(t *testing.T) {
	names := compute.GuaranteedOperations()
	for _, c := range new(fixture).guaranteedCases() {
		names = slices.DeleteFunc(names, func(name string) bool { return name == c.operation })
	}
	if len(names) > 0 {
		t.Errorf("%q are not tested", names)
	}
	for i := range new(fixture).guaranteedCases() {
		w := newFixture(t, 10000, "cn1", "cn2")
		c := w.guaranteedCases()[i]
		t.Run(c.operation, func(t *testing.T) {
			without := w.serve(w.store, func(s *compute.Settings) {
				s.HostTime = time.Minute
				s.GuaranteedOperations = slices.DeleteFunc(s.GuaranteedOperations, func(o string) bool { return o == c.operation })
			})
			single := w.serve(w.store, func(s *compute.Settings) {
				s.HostTime, s.GuaranteedOperations = time.Minute, []string{c.operation}
			})
			port, plainPort := w.port(1000), w.port(0)
			another, plainAnother := w.port(1000), w.port(0)
			vm, plain := w.boot("vm", port), w.boot("plain", plainPort)
			w.work(w.cloudService, nil)
			if c.shelved {
				w.must(w.ShelveServer(ctx, ann, vm))
				w.must(w.ShelveServer(ctx, ann, plain))
				w.work(w.cloudService, nil)
			}
			if c.down {
				w.later(2 * time.Minute)
			}
			before := w.used()
			err := c.do(without, vm, port, another)
			w.refusedWith(err, fault.Invalid, c.code)
			text := c.text
			if c.operation == "attach" {
				text = fmt.Sprintf(text, vm)
			}
			if f, ok := fault.Find(err); !ok || f.Error() != text {
				t.Errorf("%s of a server with guaranteed bandwidth: %v, want %s", c.operation, err, text)
			}
			if n := len(computetest.Read[compute.OperationRow](t, w.store)); n != 0 {
				t.Errorf("%d operations began", n)
			}
			if after := w.used(); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("allocated are %v, and were %v", after, before)
			}
			if err := c.do(without, plain, plainPort, plainAnother); err != nil {
				t.Errorf("%s of a server without guaranteed bandwidth: %v", c.operation, err)
			}
			if err := c.do(single, vm, port, another); err != nil {
				t.Errorf("%s of a server with guaranteed bandwidth, the only one in the list: %v", c.operation, err)
			}
		})
	}
}

// Servers in networks whose ports would be guaranteed need the operation in the list as well as
// the setting about networks.
func TestGuaranteedNetworksNeedTheOperations(t *testing.T) {
	for _, tc := range []struct {
		operations   []string
		boot, attach bool // they are allowed
	}{
		{compute.GuaranteedOperations(), true, true},
		{[]string{"boot"}, true, false},
		{[]string{"attach"}, false, true},
		{nil, false, false},
	} {
		w := newFixture(t, 10000, "cn1")
		vm := w.running()
		w.changeNetwork(1000)
		s := w.serve(w.store, func(s *compute.Settings) {
			s.AllowNetworkQoS, s.GuaranteedOperations, s.HostTime = true, tc.operations, time.Minute
		})
		made := must(s.CreateServers(ctx, ann, servers.ServerSpec{
			Name: "vm", Flavor: "m1", Image: cirros, AnyNetwork: true,
		}))
		w.work(s, nil)
		if state := w.state(made[0].ID); (state == compute.Active) != tc.boot {
			t.Errorf("%q: a server in the network is %s: %s", tc.operations, state, w.why(made[0].ID))
		}
		_, err := w.attach(s, vm, compute.NetworkSpec{Network: compute.ID(w.net)}, nil)
		if tc.attach {
			w.must(err)
		} else {
			w.refusedWith(err, fault.Invalid, "NetworksWithQoSPolicyNotSupported")
		}
		w.work(s, nil)
		w.agrees(fmt.Sprintf("%q", tc.operations))
	}
}
