package servers_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
)

// A server whose hypervisor reports under another name since, or not any more, can be moved all the
// same.
func TestMoveFromAnUnknownHypervisor(t *testing.T) {
	for name, begin := range map[string]func(w *fixture, vm compute.ID) error{
		"cold": func(w *fixture, vm compute.ID) error { return w.MigrateServer(ctx, root, vm, "") },
		"live": func(w *fixture, vm compute.ID) error {
			return w.LiveMigrateServer(ctx, root, vm, servers.LiveMigration{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, 2500, "cn1", "cn2")
			vm := w.boot("vm", w.port(0))
			w.work(w.cloudService, nil)
			from := must(w.Server(ctx, vm)).Host
			w.must(w.store.Update(ctx, computetest.Now, func(c compute.Writer) error {
				node, err := compute.One[compute.NodeRow](c, compute.Where(compute.ByName, from))
				if err != nil {
					return err
				}
				node.Name = "renamed"
				return c.Replace(&node)
			}))
			w.must(begin(w, vm))
			w.work(w.cloudService, nil)
			if left := computetest.Read[compute.OperationRow](w, w.store); len(left) > 0 {
				t.Errorf("the operation is stuck at %s", left[0].Step)
			}
			if s := must(w.Server(ctx, vm)); s.Host == from {
				t.Errorf("the server is %s on %s: %s", s.State, s.Host, w.why(vm))
			}
		})
	}
}

// A port that was made for a server and has a trunk since does not hold up the deletion: as with
// Nova, the port stays.
func TestDeletionLeavesTheParentOfATrunk(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.running()
	port := must(w.attach(w.cloudService, vm, compute.NetworkSpec{Network: compute.ID(w.net)}, nil)).Port
	w.must(w.ShelveServer(ctx, ann, vm)) // otherwise the port is bound, and cannot become a trunk's
	w.work(w.cloudService, nil)
	must(w.network.CreateTrunks(ctx, []ports.TrunkSpec{
		{TrunkRow: network.TrunkRow{Common: network.Common{Project: computetest.Project}, Port: network.ID(port)}},
	}))
	other := network.ID(w.port(0)) // which its owner says is the server's
	must(w.network.UpdatePort(ctx, other, func(p *ports.Spec) error {
		p.DeviceID, p.DeviceOwner = string(vm), "compute:nova"
		return nil
	}))
	must(w.network.CreateTrunks(ctx,
		[]ports.TrunkSpec{{TrunkRow: network.TrunkRow{Common: network.Common{Project: computetest.Project}, Port: other}}}))
	w.must(w.DeleteServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	w.given[network.ID(port)] = true
	w.agrees("the server was deleted")
	if got := w.state(vm); got != "gone" {
		t.Errorf("the server is %s", got)
	}
}

// Callers do not learn why a host could not attach a port; the log does.
func TestFailedAttachmentsAreLogged(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	var logged bytes.Buffer // its handler locks
	w.log = slog.New(slog.NewTextHandler(&logged, nil))
	w.cloudService = w.serve(w.store)
	vm, port := w.running(), w.port(0)
	_, err := w.attach(w.cloudService, vm, compute.NetworkSpec{Port: port}, func(string, fleet.Wanted) *fleet.Result {
		return &fleet.Result{Error: "no slot is free"}
	})
	w.refusedWith(err, fault.Failed, "InterfaceAttachFailed")
	if text := logged.String(); !strings.Contains(text, "a port cannot be attached") ||
		!strings.Contains(text, string(port)) || !strings.Contains(text, "no slot is free") {
		t.Errorf("the log has %s", text)
	}
}

// A port that names a server and that the server does not know is deleted with it, also when a
// request of the deletion is not answered, or its process ends then: unbound, it would not be found
// again.
func TestDeletionRemovesStrayPorts(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at, met := 1, true; met && !t.Failed(); at++ {
			w := newFixture(t, 2500, "cn1")
			vm, stray := w.running(), network.ID(w.port(0))
			must(w.network.UpdatePort(ctx, stray, func(p *ports.Spec) error {
				p.DeviceID, p.DeviceOwner = string(vm), "compute:nova"
				return nil
			}))
			w.paths.network.breaks(at, true, after)
			w.during(scenario{do: func(_ *fixture, s *cloudService) error { return s.DeleteServer(ctx, ann, vm) }},
				w.cloudService)
			met = w.paths.network.heals()
			w.afterwards(fmt.Sprintf("request %d was not answered, carried out: %t", at, after))
			if ports := must(w.network.Ports(ctx)); len(ports) > 0 {
				t.Errorf("%d ports remain when request %d is not answered, carried out: %t", len(ports), at, after)
			}
		}
	}
}
