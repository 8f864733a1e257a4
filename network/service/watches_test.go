package service_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
	"github.com/berthcloud/berth/watch"
)

// instances are two network services on one database of a server, with a poll of each host on both.
type instances struct {
	*testing.T
	services [2]*service.Service
	due      [2]chan time.Time // of their looks for each other's changes
	commits  atomic.Int64
	polls    map[string]*[2]*watch.Poll // by host
	lists    map[string][]network.Port  // as they were read last
	net      network.ID
}

func newInstances(t *testing.T, hosts ...string) *instances {
	t.Helper()
	sqltest.Need(t)
	x := &instances{T: t, polls: map[string]*[2]*watch.Poll{}, lists: map[string][]network.Port{}}
	url := dbtest.MariaDB(t).NewDatabase(t)
	for i := range x.services {
		store, err := rowtable.OpenNetwork(t.Context(), sqlstore.Options{
			Server: sqltest.Server(t,
				url), Metrics: sqlstore.Metrics{Committed: func(int, time.Duration) { x.commits.Add(1) }},
		})
		x.must(err)
		t.Cleanup(func() { _ = store.Close() })
		settings := network.DefaultSettings()
		settings.VLANs = map[string][]network.Range{"physnet0": {{Low: 1, High: 4000}}}
		x.services[i], x.due[i] = service.New(store, settings,
			service.Peers{Log: logtest.Logger()}), make(chan time.Time)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			x.services[i].RunWatches(ctx, x.due[i])
		}()
		t.Cleanup(func() {
			stop()
			<-ended
		})
	}
	for _, h := range hosts {
		x.beat(x.services[0], h)
		x.polls[h] = &[2]*watch.Poll{x.services[0].BeginPoll(), x.services[1].BeginPoll()}
	}
	x.net = x.network("net")
	x.follow()
	x.woken() // by all that was before
	return x
}

func (x *instances) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *instances) beat(s *service.Service, host string) {
	x.Helper()
	_, _, err := s.Beat(x.Context(), agents.Heartbeat{
		Type: guarantee.OpenVSwitch.AgentType, Host: host,
		Configurations: []byte(`{"bridge_mappings": {"physnet0": "br0"}, "integration_bridge": "br-int"}`),
	})
	x.must(err)
}

func (x *instances) network(name string) network.ID {
	x.Helper()
	nets, err := x.services[0].CreateNetworks(x.Context(), []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{
			Common: network.Common{Project: "p", Name: name}, AdminStateUp: true,
			PortSecurity: true,
		},
		Segments: []topology.SegmentSpec{{Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: -1}},
	}})
	x.must(err)
	return nets[0].ID
}

// port makes a server's port on a host.
func (x *instances) port(s *service.Service, host string) network.ID {
	x.Helper()
	created, err := s.CreatePorts(x.Context(), []ports.Spec{{
		PortRow: network.PortRow{
			Common: network.Common{Project: "p"}, Network: x.net, DeviceOwner: "compute:nova",
			DeviceID: "server",
		},
		AnyIPs: true, AnyGroups: true, AnyPortSecurity: true, VNIC: "normal", Host: host,
	}})
	x.must(err)
	return created[0].ID
}

// follow has both instances look for each other's changes: a look has ended when the next one
// begins.
func (x *instances) follow() {
	for range 2 {
		for _, due := range x.due {
			due <- time.Time{}
		}
	}
}

// woken returns the hosts whose polls are woken, with the number of the instance, and has them read
// again.
func (x *instances) woken() (all []string) {
	x.Helper()
	for host, polls := range x.polls {
		for i, p := range polls {
			if len(p.Changed) > 0 {
				all = append(all, fmt.Sprint(host, i))
			}
			list, err := x.services[i].ReadHostPorts(x.Context(), p, host)
			x.must(err)
			x.lists[host] = list
		}
	}
	slices.Sort(all)
	return all
}

// seen is what agents see of ports.
func seen(all []network.Port) (lines []string) {
	for _, p := range all {
		segment := ""
		for _, s := range p.Network.Segments {
			if s.ID == p.Binding.Segment {
				segment = fmt.Sprint(s.Type, s.PhysicalNetwork, s.SegmentationID)
			}
		}
		lines = append(lines, fmt.Sprint(p.ID, p.Network.ID, p.MAC, p.AdminStateUp, p.Status, p.DeviceID, p.DeviceOwner,
			p.Binding.Driver, p.Binding.VIF, p.Binding.VNIC, string(p.Binding.Profile), segment, p.Rules))
	}
	return lines
}

// TestIdleInstancesAreSilent: two idle instances commit nothing and wake no poll, and heartbeats
// wake none.
func TestIdleInstancesAreSilent(t *testing.T) {
	x := newInstances(t, "a", "b")
	x.port(x.services[0], "a")
	x.follow()
	x.woken()
	before := x.commits.Load()
	for range 50 {
		for _, s := range x.services {
			_, err := s.Recover(t.Context(), 0)
			x.must(err)
		}
		x.follow()
	}
	if n := x.commits.Load() - before; n != 0 {
		t.Errorf("%d transactions were committed, want none", n)
	}
	for i, s := range x.services {
		x.beat(s, []string{"a", "b"}[i])
	}
	x.follow()
	if woken := x.woken(); len(woken) > 0 {
		t.Errorf("%v were woken by nothing", woken)
	}
}

// TestChangesWakeTheirHost: a change wakes the polls of the hosts that it concerns on both
// instances, and no other.
func TestChangesWakeTheirHost(t *testing.T) {
	x := newInstances(t, "a", "b")
	s := x.services[0]
	var port, policy, rule network.ID
	for _, step := range []struct {
		what string
		do   func() error
		want []string
	}{
		{"a port is bound", func() error { port = x.port(s, "a"); return nil }, []string{"a0", "a1"}},
		{
			"it is wired", func() error { return s.SetPortsUp(t.Context(), "a", []network.ID{port}, true) },
			[]string{"a0", "a1"},
		},
		{"it is wired again", func() error { return s.SetPortsUp(t.Context(), "a", []network.ID{port}, true) }, nil},
		{"a policy is made", func() error {
			created, err := s.CreatePolicies(t.Context(),
				[]network.PolicyRow{{Common: network.Common{Project: "p", Name: "p"}}})
			policy = created[0].ID
			return err
		}, nil},
		{
			"the port gets it", func() error { return x.update(s, port, func(spec *ports.Spec) { spec.Policy = policy }) },
			[]string{"a0", "a1"},
		},
		{"it gets a rule", func() error {
			row, err := s.CreateRule(t.Context(),
				network.RuleRow{Policy: policy, Type: network.BandwidthLimit, Direction: network.Egress, Rate: 1000})
			rule = row.ID
			return err
		}, []string{"a0", "a1"}},
		{"the rule is removed", func() error { return s.DeleteRule(t.Context(), policy, rule) }, []string{"a0", "a1"}},
		{"a network is made", func() error { x.network("other"); return nil }, nil},
		{"the port moves", func() error {
			return x.update(s, port, func(spec *ports.Spec) { spec.Host, spec.Rebind = "b", true })
		}, []string{"a0", "a1", "b0", "b1"}},
		{"it is removed", func() error { return s.DeletePort(t.Context(), port) }, []string{"b0", "b1"}},
	} {
		x.must(step.do())
		x.follow()
		if diff := cmp.Diff(step.want, x.woken()); diff != "" {
			t.Errorf("%s: woken are (-want +got):\n%s", step.what, diff)
		}
	}
}

func (x *instances) update(s *service.Service, port network.ID, fn func(*ports.Spec)) error {
	_, err := s.UpdatePort(x.Context(), port, func(spec *ports.Spec) error { fn(spec); return nil })
	return err
}

// TestWhatDiffersWakes drives random changes through both instances: whenever what the agent of a
// host sees differs, its polls are woken.
func TestWhatDiffersWakes(t *testing.T) {
	hosts := []string{"a", "b", "c"}
	x := newInstances(t, hosts...)
	seed := time.Now().UnixNano()
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	var portIDs, policies []network.ID
	one := func(ids []network.ID) network.ID {
		if len(ids) == 0 || random.IntN(8) == 0 {
			return ""
		}
		return ids[random.IntN(len(ids))]
	}
	x.must(func() error {
		created, err := x.services[0].CreatePolicies(t.Context(), []network.PolicyRow{{Common: network.Common{
			Project: "p",
			Name:    "1",
		}}, {Common: network.Common{Project: "p", Name: "2"}}})
		for _, p := range created {
			policies = append(policies, p.ID)
		}
		return err
	}())
	ctx := t.Context()
	inactive := func() (port network.ID, host string) {
		for _, p := range portIDs {
			bindings, _ := x.services[0].Bindings(ctx, p) // the port may be removed
			for _, b := range bindings {
				if !b.Active {
					port, host = p, b.Host
				}
			}
		}
		return port, host
	}
	acts := []func(s *service.Service, host string) error{
		func(s *service.Service, host string) error { portIDs = append(portIDs, x.port(s, host)); return nil },
		func(s *service.Service, host string) error {
			return x.update(s, one(portIDs), func(spec *ports.Spec) { spec.Host, spec.Rebind = host, true })
		},
		func(s *service.Service, _ string) error {
			policy := one(policies)
			return x.update(s, one(portIDs), func(spec *ports.Spec) { spec.Policy = policy })
		},
		func(s *service.Service, _ string) error {
			return x.update(s, one(portIDs), func(spec *ports.Spec) { spec.AdminStateUp = !spec.AdminStateUp })
		},
		func(s *service.Service, host string) error {
			return s.SetPortsUp(ctx, host, portIDs, random.IntN(2) == 0)
		},
		func(s *service.Service, _ string) error { return s.DeletePort(ctx, one(portIDs)) },
		func(s *service.Service, _ string) error {
			_, err := s.CreateRule(ctx, network.RuleRow{
				Policy: one(policies), Type: network.BandwidthLimit, Direction: []string{
					network.Egress,
					network.Ingress,
				}[random.IntN(2)], Rate: 1 + random.Int64N(1000),
			})
			return err
		},
		func(s *service.Service, _ string) error {
			policy := one(policies)
			rules, err := s.Rules(ctx, policy)
			if err != nil || len(rules) == 0 {
				return err
			}
			if random.IntN(2) == 0 {
				return s.DeleteRule(ctx, policy, rules[0].ID)
			}
			_, err = s.UpdateRule(ctx, policy, rules[0].ID, func(r *network.RuleRow) error { r.Rate++; return nil })
			return err
		},
		func(s *service.Service, _ string) error {
			policy := one(policies)
			_, err := s.UpdateNetwork(ctx, x.net,
				func(spec *topology.NetworkSpec) error { spec.Policy = policy; return nil })
			return err
		},
		func(s *service.Service, host string) error {
			_, err := s.CreateBinding(ctx, one(portIDs), ports.BindingSpec{Host: host, VNIC: "normal"})
			return err
		},
		func(s *service.Service, _ string) error {
			port, host := inactive()
			_, err := s.ActivateBinding(ctx, port, host)
			return err
		},
		func(s *service.Service, _ string) error {
			port, host := inactive()
			return s.DeleteBinding(ctx, port, host)
		},
		func(s *service.Service, host string) error { x.beat(s, host); return nil },
	}
	differed, did := 0, map[int]int{}
	for n := 0; n < 400 || n < 4000 && len(did) < len(acts); n++ { // some succeed rarely
		before := map[string][]string{}
		for _, h := range hosts {
			before[h] = seen(x.lists[h])
		}
		act := random.IntN(len(acts))
		if acts[act](x.services[n%2], hosts[random.IntN(len(hosts))]) == nil {
			did[act]++
		}
		x.follow()
		woken := x.woken()
		for _, h := range hosts {
			if slices.Equal(before[h], seen(x.lists[h])) {
				continue
			}
			differed++
			for i := range x.services {
				if !slices.Contains(woken, fmt.Sprint(h, i)) {
					t.Fatalf("seed %d: act %d changes what %s is to do, and its poll on instance %d is not woken", seed,
						act, h, i)
				}
			}
		}
	}
	if differed < 40 || len(did) < len(acts) {
		t.Errorf("seed %d: %d lists differed, and %d of %d acts succeeded: too few to say anything", seed, differed,
			len(did), len(acts))
	}
}
