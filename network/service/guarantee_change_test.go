package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/topology"
)

func TestBoundPortIsBound(t *testing.T) {
	c := newCloud(t)
	p := c.look(c.port)
	if p.Binding.VIF != "ovs" || p.Binding.Driver != "openvswitch" || p.Status != network.PortDown {
		t.Errorf("the port is %s by %q, %s", p.Binding.VIF, p.Binding.Driver, p.Status)
	}
	c.checkAllocated(1000)
}

// allocation is what a port's profile says.
func allocation(t *testing.T, p network.Port) map[string]string {
	t.Helper()
	var profile struct {
		Allocation map[string]string
		Slot       string `json:"pci_slot"`
	}
	if err := json.Unmarshal(p.Binding.Profile, &profile); err != nil || profile.Slot != "kept" {
		t.Fatalf("the profile is %s, %v", p.Binding.Profile, err)
	}
	return profile.Allocation
}

// What is allocated follows the policy of a bound port, and the profile names the
// groups of the new one.
func TestAllocationFollowsPolicy(t *testing.T) {
	c := newCloud(t)
	for _, step := range []struct {
		policy string
		want   int64
		groups int
	}{{"2000", 2000, 1}, {"1000", 1000, 1}, {"none", 0, 0}, {"2000", 0, 0}} {
		if err := c.setPolicy(c.service, step.policy); err != nil {
			t.Fatalf("policy %s: %v", step.policy, err)
		}
		c.checkAllocated(step.want)
		p := c.look(c.port)
		got := allocation(t, p)
		if len(got) != step.groups {
			t.Errorf("policy %s: the profile has %d groups, want %d", step.policy, len(got), step.groups)
		}
		for _, g := range c.service.Request(&p).Groups {
			if step.groups > 0 && got[g.ID.String()] != c.provider {
				t.Errorf("policy %s: the group %s is not in the profile %v", step.policy, g.ID, got)
			}
		}
	}
	if n := c.intents(); n != 0 {
		t.Errorf("%d intents are left", n)
	}
}

func TestPolicyOverCapacityChangesNothing(t *testing.T) {
	c := newCloud(t)
	c.policies["3000"] = c.newPolicy("3000", 3000)
	before := c.look(c.port)
	err := c.setPolicy(c.service, "3000")
	if code(err) != "QosPlacementAllocationUpdateConflict" {
		t.Errorf("the answer is %v", err)
	}
	want := fmt.Sprintf("Updating placement allocation with {'%s': {'NET_BW_EGR_KILOBIT_PER_SEC': 2000, "+
		"'NET_BW_IGR_KILOBIT_PER_SEC': 2000}} "+
		"for consumer %s failed. The requested resources would exceed the capacity available.", c.provider, server)
	if err == nil || err.Error() != want {
		t.Errorf("the text is %v, want %s", err, want)
	}
	c.checkAllocated(1000)
	// All that would change is named, what would be free as well.
	c.policies["egress"] = c.newPolicy("egress", 3000, network.Egress)
	err = c.setPolicy(c.service, "egress")
	want = fmt.Sprintf("Updating placement allocation with {'%s': {'NET_BW_EGR_KILOBIT_PER_SEC': 2000, "+
		"'NET_BW_IGR_KILOBIT_PER_SEC': -1000}} "+
		"for consumer %s failed. The requested resources would exceed the capacity available.", c.provider, server)
	if err == nil || err.Error() != want {
		t.Errorf("the text is %v, want %s", err, want)
	}
	c.checkAllocated(1000)
	after := c.look(c.port)
	if after.Policy != before.Policy || after.Revision != before.Revision || c.intents() != 0 {
		t.Errorf("the port has policy %s, revision %d; %d intents", after.Policy, after.Revision, c.intents())
	}
}

// A network's policy is followed by all of its servers' ports, or by none.
func TestPolicyOfNetworkIsFollowedByAllOrNone(t *testing.T) {
	ctx := context.Background()
	c := newCloud(t)
	set := func(name string) error {
		_, err := c.service.UpdateNetwork(ctx, c.net, func(s *topology.NetworkSpec) error {
			s.Policy = c.policies[name]
			return nil
		})
		return err
	}
	c.must(c.service.DeletePort(ctx, c.port))
	c.checkAllocated(0)
	c.must(set("1000"))
	one, two := c.newPort(""), c.newPort("")
	c.checkAllocated(2000)
	if err := set("2000"); code(err) != "QosPlacementAllocationUpdateConflict" {
		t.Errorf("twice 2000 of 2500: %v", err)
	}
	c.checkAllocated(2000)
	for _, id := range []network.ID{one, two} {
		p := c.look(id)
		for _, g := range c.service.Request(&p).Groups {
			if allocation(t, p)[g.ID.String()] == "" {
				t.Errorf("port %s: the profile does not have the group of its policy", id)
			}
		}
	}
	c.must(set("none"))
	c.checkAllocated(0)
	if c.intents() != 0 {
		t.Errorf("%d intents are left", c.intents())
	}
}

// What was changed between scheduling and binding is added when the port is bound,
// or the bind refused.
func TestBindAddsWhatIsMissing(t *testing.T) {
	ctx := context.Background()
	c := newCloud(t)
	c.must(c.service.DeletePort(ctx, c.port))
	created, err := c.service.CreatePorts(ctx, []ports.Spec{{
		PortRow: network.PortRow{
			Common: network.Common{Project: "p"}, Network: c.net,
			Policy: c.policies["1000"],
		}, VNIC: "normal",
	}})
	c.must(err)
	request := c.service.Request(&created[0])
	c.claim(request.Groups[0].Resources)
	bind := func() error {
		_, err := c.service.UpdatePort(ctx, created[0].ID, func(s *ports.Spec) error {
			s.DeviceID, s.DeviceOwner, s.Host = server, "compute:nova", host
			s.Profile = []byte(`{"allocation": {"` + request.Groups[0].ID.String() + `": "` + c.provider + `"}}`)
			return nil
		})
		return err
	}
	p, err := c.service.Policies(ctx, network.Where(network.ByID, c.policies["1000"]))
	c.must(err)
	_, err = c.service.UpdateRule(ctx, p[0].ID, p[0].Rules[0].ID,
		func(r *network.RuleRow) error { r.Rate = 1500; return nil })
	c.must(err)
	c.must(bind())
	allocated := c.allocated().Amounts[c.provider]
	if sum := allocated["NET_BW_EGR_KILOBIT_PER_SEC"] + allocated["NET_BW_IGR_KILOBIT_PER_SEC"]; sum != 2500 {
		t.Errorf("the server has allocated %v, want 1500 and 1000", allocated)
	}
	unbind := func(s *ports.Spec) error {
		s.DeviceID, s.DeviceOwner, s.Host, s.Profile = "", "", "", nil
		return nil
	}
	_, err = c.service.UpdatePort(ctx, created[0].ID, unbind)
	c.must(err)
	_, err = c.service.UpdatePort(ctx, created[0].ID,
		func(s *ports.Spec) error { s.Policy = c.policies["2000"]; return nil })
	c.must(err)
	if err := bind(); code(err) != "ResourceRequestChanged" {
		t.Errorf("a port of another policy: %v", err)
	}
}

// A port that is bound and given another policy at once needs an allocation for the
// policy that it comes to.
func TestBindWithAnotherPolicyIsOfTheNewOne(t *testing.T) {
	ctx := context.Background()
	c := newCloud(t)
	c.must(c.service.DeletePort(ctx, c.port))
	created, err := c.service.CreatePorts(ctx, []ports.Spec{{
		PortRow: network.PortRow{
			Common: network.Common{Project: "p"}, Network: c.net,
			Policy: c.policies["1000"],
		}, VNIC: "normal",
	}})
	c.must(err)
	bind := func(group string) error {
		_, err := c.service.UpdatePort(ctx, created[0].ID, func(s *ports.Spec) error {
			s.Policy, s.DeviceID, s.DeviceOwner, s.Host = c.policies["2000"], server, "compute:nova", host
			s.Profile = []byte(`{"allocation": {"` + group + `": "` + c.provider + `"}}`)
			return nil
		})
		return err
	}
	c.claim(c.service.Request(&created[0]).Groups[0].Resources)
	if err := bind(c.service.Request(&created[0]).Groups[0].ID.String()); code(err) != "ResourceRequestChanged" {
		t.Errorf("with an allocation for the former policy: %v", err)
	}
	rules, err := c.service.Rules(ctx, c.policies["2000"])
	c.must(err)
	next := created[0]
	next.Rules = rules
	c.must(bind(c.service.Request(&next).Groups[0].ID.String()))
	c.checkAllocated(2000)
}

// A process that ends anywhere on the way, and a placement that goes away anywhere,
// leave what is allocated and what is promised the same, once they are back.
func TestMovesSurviveTheEnd(t *testing.T) {
	for name, s := range steps {
		if racetest.Few() && name != "AllMore" && name != "Remove" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			for at := 1; at <= 9 && !t.Failed(); at++ {
				c.prepare(s)
				c.endsAt(s, &dying{Store: c.store, endAt: at}, 0, false)
				for _, done := range []bool{false, true} {
					c.prepare(s)
					c.endsAt(s, &dying{Store: c.store}, at, done)
				}
			}
		})
	}
}

// endsAt runs a step that meets its end, and lets another process recover.
func (c *cloud) endsAt(s step, store *dying, call int, done bool) {
	c.t.Helper()
	c.flaky.calls, c.flaky.failAt, c.flaky.afterwards = 0, call, done
	answer := s.change(c, c.serve(store))
	c.flaky.failAt = 0
	c.agrees(fmt.Sprintf("the store ended at transaction %d, placement at call %d (%t): %v", store.endAt, call, done,
		answer))
}

// Changes of two ports of one server, made at the same time, are both made.
func TestPortsOfOneServerAtOnce(t *testing.T) {
	c := newCloud(t)
	c.policies["1200"] = c.newPolicy("1200", 1200)
	other := c.newPort(c.policies["1000"])
	for _, name := range []string{"1200", "1000", "1200"} {
		var both sync.WaitGroup
		for _, id := range []network.ID{c.port, other} {
			both.Go(func() {
				if err := c.setPolicyOf(c.service, id, name); err != nil {
					t.Errorf("policy %s: %v", name, err)
				}
			})
		}
		both.Wait()
		c.agrees("after policy " + name)
	}
}

// An attempt whose process has ended, at any point of it, is in the way of another port of
// the server for a minute, and is then found out about before the other changes what
// it compares with.
func TestAbandonedAttempts(t *testing.T) {
	for at := 1; at <= 4; at++ {
		for _, name := range []string{"none", "1200"} {
			t.Run(fmt.Sprint(name, at), func(t *testing.T) {
				c := newCloud(t)
				now := time.Now()
				c.clock = func() time.Time { return now }
				c.service.SetClock(c.clock)
				other := c.newPort(c.policies["1000"])
				c.policies["1100"], c.policies["1200"] = c.newPolicy("1100", 1100), c.newPolicy("1200", 1200)
				_ = c.setPolicy(c.serve(&dying{Store: c.store, endAt: at}), name)
				err := c.setPolicyOf(c.service, other, "1100")
				if pending := at == 3; pending != (code(err) == "PlacementAllocationGenerationConflict") || !pending && err != nil {
					t.Errorf("at once: %v", err)
				}
				now = now.Add(2 * time.Minute)
				if err := c.setPolicyOf(c.service, other, "1100"); err != nil {
					t.Errorf("later: %v", err)
				}
				c.agrees("after all")
			})
		}
	}
}

// An attempt whose outcome is unknown stays as it is, and does not stop others.
func TestAttemptsNobodyCanTellOf(t *testing.T) {
	ctx := context.Background()
	c := newCloud(t)
	other := c.newPort(c.policies["1000"])
	c.policies["400"] = c.newPolicy("400", 400)
	_ = c.setPolicy(c.serve(&dying{Store: c.store, endAt: 3}), "none") // the release was attempted
	allocated := c.allocated()
	allocated.Amounts[c.provider][guarantee.EgressBandwidth] += 7
	c.must(c.direct.SetAllocations(ctx, server, allocated))
	for range 2 {
		if left, err := c.service.Recover(ctx, 0); left != 1 || err != nil || c.intents() != 1 {
			t.Fatalf("%d of %d intents are left, %v", left, c.intents(), err)
		}
	}
	before := c.allocated()
	c.must(c.setPolicyOf(c.service, other, "400"))
	if got := before.Amounts[c.provider][guarantee.EgressBandwidth] -
		c.allocated().Amounts[c.provider][guarantee.EgressBandwidth]; got != 600 {
		t.Errorf("the other port's change frees %d, want 600", got)
	}
}
