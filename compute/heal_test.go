package compute_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/healing"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/network"
)

// forgets clears the providers from the profile of a port.
func (w *fixture) forgets(port compute.ID) {
	w.Helper()
	_, err := w.network.UpdatePort(ctx, network.ID(port), func(p *network.PortSpec) error {
		p.Profile = []byte(`{"kept": "by others"}`)
		return nil
	})
	w.must(err)
}

// allocate gives a server an allocation, whatever it has; none deletes it.
func (w *fixture) allocate(server compute.ID, amounts allocations.Amounts) {
	w.Helper()
	now := must(w.places.Allocations(ctx, string(server)))
	now.Amounts, now.Project, now.User, now.Type = amounts, computetest.Project, computetest.User, allocations.Instance
	w.must(w.places.SetAllocations(ctx, string(server), now))
}

// bare is what a server of flavor m1 has on a host without its ports.
func bare(host string) allocations.Amounts {
	_, node := computetest.Host(host, 0)
	return allocations.Amounts{string(node.ID): sizeOf("m1")}
}

// unguaranteed makes a server on cn1 with ports of 1000 kbit/s each, for which nothing is allocated.
func (w *fixture) unguaranteed(name string, ports int) compute.ID {
	w.Helper()
	var all []compute.ID
	for range ports {
		all = append(all, w.port(1000))
	}
	vm := w.boot(name, all...)
	w.work(w.Service, nil)
	for _, p := range all {
		w.forgets(p)
	}
	w.allocate(vm, bare(must(w.Server(ctx, vm)).Host))
	return vm
}

// heals heals on a service, and returns what was reported, a line each.
func (w *fixture) heals(s *compute.Service, h compute.Healing) (code healing.Code, lines string) {
	w.Helper()
	code, err := s.Heal(ctx, h, func(one compute.HealedServer) {
		lines += fmt.Sprintf("%s: %t %s", one.Name, one.Healed, one.Plan.Busy)
		for _, p := range one.Problems {
			lines += fmt.Sprintf("; %d %v", p.Code, p)
		}
		lines += "\n"
	})
	if err != nil {
		w.Errorf("healing: %v", err)
	}
	return code, lines
}

// healsTo checks the code of healing, and that the report has some text.
func (w *fixture) healsTo(what string, h compute.Healing, want healing.Code, text string) {
	w.Helper()
	code, lines := w.heals(w.Service, h)
	if code != want || !strings.Contains(lines, text) {
		w.Errorf("%s: healing returned %d, want %d with %q:\n%s", what, code, want, text, lines)
	}
}

// matches checks that a server has the amounts of its only port exactly when that names a provider.
func (w *fixture) matches(after string, vm compute.ID) {
	w.Helper()
	var want, held int64
	for _, p := range must(w.network.Ports(ctx)) {
		if p.DeviceID == string(vm) && strings.Contains(string(p.Binding.Profile), `"allocation"`) {
			want = 1000
		}
	}
	for _, classes := range must(w.places.Allocations(ctx, string(vm))).Amounts {
		held += classes[egress]
	}
	if held != want {
		w.Errorf("%s: the server has %d, and its port names a provider of %d", after, held, want)
	}
}

func TestHeal(t *testing.T) {
	for what, breaks := range map[string]func(w *fixture, vm compute.ID){
		"the ports":                  func(*fixture, compute.ID) {},
		"everything":                 func(w *fixture, vm compute.ID) { w.allocate(vm, nil) },
		"the allocation":             func(w *fixture, vm compute.ID) { w.heals(w.Service, compute.Healing{}); w.allocate(vm, nil) },
		"the amounts of named ports": func(w *fixture, vm compute.ID) { w.heals(w.Service, compute.Healing{}); w.allocate(vm, bare("cn1")) },
		"the owner": func(w *fixture, vm compute.ID) {
			now := must(w.places.Allocations(ctx, string(vm)))
			now.Project = "other"
			w.must(w.places.SetAllocations(ctx, string(vm), now))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, 5000, "cn1")
			vm := w.unguaranteed("vm", 2)
			breaks(w, vm)
			before := must(w.places.Allocations(ctx, string(vm)))
			w.healsTo(what, compute.Healing{DryRun: true}, healing.Nothing, "vm: true")
			if now := must(w.places.Allocations(ctx, string(vm))); !now.Amounts.Equal(before.Amounts) {
				t.Errorf("after a dry run the server has %v", now)
			}
			w.healsTo(what, compute.Healing{}, healing.Healed, "vm: true")
			w.agrees(what)
			if got := must(w.places.Allocations(ctx, string(vm))); got.Project != computetest.Project || got.User != computetest.User {
				t.Errorf("the allocation is of %s/%s", got.Project, got.User)
			}
			generation := *must(w.places.Allocations(ctx, string(vm))).Generation
			w.healsTo(what, compute.Healing{}, healing.Nothing, "")
			if now := *must(w.places.Allocations(ctx, string(vm))).Generation; now != generation {
				t.Errorf("a second run has written: generation %d, not %d", now, generation)
			}
		})
	}
}

// What others keep in a profile stays, and the port is as active as before.
func TestHealKeepsProfiles(t *testing.T) {
	w := newFixture(t, 5000, "cn1")
	w.unguaranteed("vm", 1)
	before := must(w.network.Ports(ctx))[0]
	w.healsTo("a port", compute.Healing{}, healing.Healed, "")
	after := must(w.network.Ports(ctx))[0]
	if !strings.Contains(string(after.Binding.Profile), "by others") || after.Status != before.Status || after.Binding.VIF != before.Binding.VIF {
		t.Errorf("the port was %s %s, and is %s %s with %s", before.Status, before.Binding.VIF, after.Status, after.Binding.VIF, after.Binding.Profile)
	}
}

func TestHealOverCapacity(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.unguaranteed("vm", 2)
	w.boot("other", w.port(2000))
	w.work(w.Service, nil)
	w.healsTo("a full host", compute.Healing{}, healing.NotAllocated, "capacity")
	if got := must(w.places.Allocations(ctx, string(vm))); !got.Amounts.Equal(bare("cn1")) {
		t.Errorf("the server has %v", got.Amounts)
	}
	w.allocate(vm, nil)
	w.allocate(computetest.ID("stranger"), allocations.Amounts{string(computetest.ID("cn1")): {"VCPU": 99}})
	w.healsTo("a host without CPUs", compute.Healing{Choice: healing.Choice{SkipPorts: true}}, healing.NotAllocated, "capacity")
	if got := must(w.places.Allocations(ctx, string(vm))); len(got.Amounts) > 0 {
		t.Errorf("the server has %v", got.Amounts)
	}
}

// One of two ports fits, and is healed.
func TestHealPart(t *testing.T) {
	w := newFixture(t, 1500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.Service, nil)
	w.forgets(must(w.Server(ctx, vm)).Ports[0].Port)
	w.allocate(vm, bare("cn1"))
	second := w.boot("second", w.port(1000))
	w.work(w.Service, nil)
	w.forgets(must(w.Server(ctx, second)).Ports[0].Port)
	w.allocate(second, bare("cn1"))
	w.healsTo("two servers", compute.Healing{}, healing.NotAllocated, "vm: true \nsecond: false")
	if used := w.used(); used[egress] != 1000 {
		t.Errorf("%v is used", used)
	}
}

func TestHealChoices(t *testing.T) {
	w := newFixture(t, 9000, "cn1")
	first, second := w.unguaranteed("first", 1), w.unguaranteed("second", 1)
	_, err := w.Heal(ctx, compute.Healing{Choice: healing.Choice{Force: true}}, nil)
	w.refusedWith(err, fault.Invalid, "HTTPBadRequest")
	_, err = w.Heal(ctx, compute.Healing{Max: -1}, nil)
	w.refusedWith(err, fault.Invalid, "HTTPBadRequest")
	_, err = w.Heal(ctx, compute.Healing{Server: computetest.ID("none")}, nil)
	w.refusedWith(err, fault.NotFound, "InstanceNotFound")

	w.healsTo("without ports", compute.Healing{Choice: healing.Choice{SkipPorts: true}}, healing.Nothing, "")
	w.healsTo("one server", compute.Healing{Server: second}, healing.Healed, "second: true")
	if got := must(w.places.Allocations(ctx, string(first))); !got.Amounts.Equal(bare("cn1")) {
		t.Errorf("the other server has %v", got.Amounts)
	}
	third := w.unguaranteed("third", 1)
	w.healsTo("the most", compute.Healing{Max: 1}, healing.MaxReached, "first: true")
	w.healsTo("the rest", compute.Healing{Max: 1}, healing.Healed, "third: true")
	w.agrees("the rest")

	more := must(w.places.Allocations(ctx, string(third))).Amounts
	w.forgets(must(w.Server(ctx, third)).Ports[0].Port)
	w.allocate(third, more)
	w.healsTo("amounts that no port names", compute.Healing{}, healing.NotAllocated, "none of its ports names")
	w.healsTo("with force", compute.Healing{Server: third, Choice: healing.Choice{Force: true}}, healing.Healed, "third: true")
	w.agrees("force")
}

// Servers with something under way are left alone, those on no host are none to heal, and one whose node is not known is reported.
func TestHealLeavesAlone(t *testing.T) {
	w := newFixture(t, 9000, "cn1", "cn2")
	vm := w.unguaranteed("vm", 1)
	move := &compute.MigrationRow{ID: computetest.ID("move"), Server: vm, Type: "migration", Status: "migrating", Source: "cn1", Dest: "cn2"}
	operation := &compute.OperationRow{ID: computetest.ID("operation"), Server: vm, Kind: "power", Step: "host", Body: []byte(`{}`), Lease: w.now.Add(time.Hour), Worker: "other"}
	for _, tc := range []struct {
		row, kind any
		id        compute.ID
		text      string
	}{{move, &compute.MigrationRow{}, move.ID, "a move is under way"}, {operation, &compute.OperationRow{}, operation.ID, "an operation is under way"}} {
		w.add(tc.row)
		w.healsTo(tc.text, compute.Healing{}, healing.Nothing, "vm: false "+tc.text)
		w.must(w.store.Update(ctx, w.now, func(c compute.Writer) error {
			_, err := c.Remove(tc.kind, compute.Where(compute.ByID, tc.id))
			return err
		}))
	}
	w.add(computetest.Server("lost", "cn9"), computetest.Server("nowhere", ""))
	w.healsTo("no node", compute.Healing{Server: computetest.ID("lost")}, healing.NoNode, "cn9")
	w.healsTo("no host", compute.Healing{Server: computetest.ID("nowhere")}, healing.Nothing, "")
}

// Whatever request breaks, in whatever way: what is under way afterwards is undone or done, and another run heals
// the rest. Nothing is added twice.
func TestHealSurvivesItsNeighbours(t *testing.T) {
	for _, to := range []string{"placement", "network"} {
		for _, how := range []string{"before", "after", "on"} {
			for _, all := range []bool{false, true} {
				if racetest.Few() && (how == "before" || all) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%t", to, how, all), func(t *testing.T) {
					t.Parallel()
					w := newFixture(t, 90000, "cn1")
					path := map[string]*breakable{"placement": w.paths.placement, "network": w.paths.network}[to]
					for at, met := 1, true; met && !t.Failed(); at++ {
						vm := w.unguaranteed("vm", 1)
						if all {
							w.allocate(vm, nil)
						}
						path.breaks(at, how == "on", how == "after")
						w.heals(w.Service, compute.Healing{Server: vm})
						met = path.heals()
						w.later(5 * time.Minute)
						w.report()
						w.work(w.Service, nil)
						w.matches(fmt.Sprintf("request %d to %s broke", at, to), vm)
						w.heals(w.Service, compute.Healing{Server: vm})
						w.agrees(fmt.Sprintf("request %d to %s broke", at, to))
						w.healsTo("once more", compute.Healing{Server: vm}, healing.Nothing, "")
					}
				})
			}
		}
	}
}

// Wherever the process ends, between the writes to placement and to the network service as well, another run does what is left.
func TestHealSurvivesTheProcess(t *testing.T) {
	w := newFixture(t, 90000, "cn1")
	for at, met := 1, true; met && !t.Failed(); at++ {
		vm := w.unguaranteed("vm", 1)
		store := &dying{Store: w.store, endAt: at}
		_, _ = w.serve(store).Heal(ctx, compute.Healing{Server: vm}, func(compute.HealedServer) {})
		met = store.updates >= at
		w.later(5 * time.Minute)
		w.report()
		w.work(w.Service, nil)
		w.matches(fmt.Sprintf("the process ended at update %d", at), vm)
		w.heals(w.Service, compute.Healing{Server: vm})
		w.agrees(fmt.Sprintf("the process ended at update %d", at))
		w.healsTo("once more", compute.Healing{Server: vm}, healing.Nothing, "")
	}
}

// Two runs at once heal each server once.
func TestHealTwiceAtOnce(t *testing.T) {
	w := newFixture(t, 90000, "cn1")
	other := w.serve(w.store)
	for i := range 5 {
		vm := w.unguaranteed(fmt.Sprint("vm", i), 2)
		if i%2 > 0 {
			w.allocate(vm, nil)
		}
	}
	var both sync.WaitGroup
	for _, s := range []*compute.Service{w.Service, other} {
		both.Go(func() { w.heals(s, compute.Healing{}) })
	}
	both.Wait()
	w.heals(w.Service, compute.Healing{}) // servers that one run left alone while the other one was at them
	w.agrees("two runs at once")
	w.healsTo("once more", compute.Healing{}, healing.Nothing, "")
}
