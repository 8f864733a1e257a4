package network_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/berthcloud/berth/network"
)

func TestBoundPortIsBound(t *testing.T) {
	c := newCloud(t)
	p := c.look(c.port)
	if p.Binding.VIF != "ovs" || p.Binding.Driver != "openvswitch" || p.Status != network.PortDown {
		t.Errorf("the port is %s by %q, %s", p.Binding.VIF, p.Binding.Driver, p.Status)
	}
	c.holds(1000)
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
		c.holds(step.want)
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
	want := fmt.Sprintf("Updating placement allocation with {'%s': {'NET_BW_EGR_KILOBIT_PER_SEC': 2000, 'NET_BW_IGR_KILOBIT_PER_SEC': 2000}} "+
		"for consumer %s failed. The requested resources would exceed the capacity available.", c.provider, server)
	if err == nil || err.Error() != want {
		t.Errorf("the text is %v, want %s", err, want)
	}
	c.holds(1000)
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
		_, err := c.service.UpdateNetwork(ctx, c.net, func(s *network.NetworkSpec) error {
			s.Policy = c.policies[name]
			return nil
		})
		return err
	}
	c.must(c.service.DeletePort(ctx, c.port))
	c.holds(0)
	c.must(set("1000"))
	one, two := c.newPort(""), c.newPort("")
	c.holds(2000)
	if err := set("2000"); code(err) != "QosPlacementAllocationUpdateConflict" {
		t.Errorf("twice 2000 of 2500: %v", err)
	}
	c.holds(2000)
	for _, id := range []network.ID{one, two} {
		p := c.look(id)
		for _, g := range c.service.Request(&p).Groups {
			if allocation(t, p)[g.ID.String()] == "" {
				t.Errorf("port %s: the profile does not have the group of its policy", id)
			}
		}
	}
	c.must(set("none"))
	c.holds(0)
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
	made, err := c.service.CreatePorts(ctx, []network.PortSpec{{
		PortRow: network.PortRow{Common: network.Common{Project: "p"}, Network: c.net, Policy: c.policies["1000"]}, VNIC: "normal",
	}})
	c.must(err)
	asked := c.service.Request(&made[0])
	c.claim(asked.Groups[0].Resources)
	bind := func() error {
		_, err := c.service.UpdatePort(ctx, made[0].ID, func(s *network.PortSpec) error {
			s.DeviceID, s.DeviceOwner, s.Host = server, "compute:nova", host
			s.Profile = []byte(`{"allocation": {"` + asked.Groups[0].ID.String() + `": "` + c.provider + `"}}`)
			return nil
		})
		return err
	}
	p, err := c.service.Policies(ctx, network.Where(network.ByID, c.policies["1000"]))
	c.must(err)
	_, err = c.service.UpdateRule(ctx, p[0].ID, p[0].Rules[0].ID, func(r *network.RuleRow) error { r.Rate = 1500; return nil })
	c.must(err)
	c.must(bind())
	held := c.books.held[server].Providers[c.provider]
	if sum := held["NET_BW_EGR_KILOBIT_PER_SEC"] + held["NET_BW_IGR_KILOBIT_PER_SEC"]; sum != 2500 {
		t.Errorf("the server holds %v, want 1500 and 1000", held)
	}
	unbind := func(s *network.PortSpec) error {
		s.DeviceID, s.DeviceOwner, s.Host, s.Profile = "", "", "", nil
		return nil
	}
	_, err = c.service.UpdatePort(ctx, made[0].ID, unbind)
	c.must(err)
	_, err = c.service.UpdatePort(ctx, made[0].ID, func(s *network.PortSpec) error { s.Policy = c.policies["2000"]; return nil })
	c.must(err)
	if err := bind(); code(err) != "ResourceRequestChanged" {
		t.Errorf("a port of another policy: %v", err)
	}
}

// A process that ends anywhere on the way, and a placement that goes away anywhere,
// leave what is allocated and what is promised the same, once they are back.
func TestMovesSurviveTheEnd(t *testing.T) {
	steps := map[string]func(*cloud, *network.Service) error{
		"Policy": func(c *cloud, s *network.Service) error { return c.setPolicy(s, "2000") },
		"Remove": func(c *cloud, s *network.Service) error { return s.DeletePort(context.Background(), c.port) },
		"Network": func(c *cloud, s *network.Service) error {
			_, err := s.UpdateNetwork(context.Background(), c.net, func(n *network.NetworkSpec) error { n.Policy = c.policies["none"]; return nil })
			return err
		},
	}
	for name, step := range steps {
		for at := 1; at <= 8; at++ {
			t.Run(fmt.Sprintf("%s/StoreEndsAt%d", name, at), func(t *testing.T) {
				c := prepared(t, name)
				endsAt(c, step, &dying{Store: c.store, endAt: at}, 0, false)
			})
			for _, done := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/PlacementEndsAt%d%v", name, at, done), func(t *testing.T) {
					c := prepared(t, name)
					endsAt(c, step, &dying{Store: c.store}, at, done)
				})
			}
		}
	}
}

// prepared is a cloud for a step: that of a network has a port with its policy.
func prepared(t *testing.T, step string) *cloud {
	t.Helper()
	c := newCloud(t)
	if step == "Network" {
		ctx := context.Background()
		c.must(c.service.DeletePort(ctx, c.port))
		_, err := c.service.UpdateNetwork(ctx, c.net, func(n *network.NetworkSpec) error { n.Policy = c.policies["1000"]; return nil })
		c.must(err)
		c.port = c.newPort("")
	}
	return c
}

// endsAt runs a step that meets its end, lets another process recover, and holds
// the books against the ports.
func endsAt(c *cloud, step func(*cloud, *network.Service) error, store *dying, call int, done bool) {
	c.t.Helper()
	c.books.calls, c.books.failAt, c.books.afterwards = 0, call, done
	answer := step(c, c.serve(store))
	c.books.failAt = 0
	left, err := c.service.Recover(context.Background(), 0)
	if err != nil || left != 0 || c.intents() != 0 {
		c.t.Errorf("after %v: %d intents are left, %v", answer, left, err)
	}
	want := int64(0)
	all, err := c.service.Ports(context.Background())
	c.must(err)
	for i := range all {
		for _, g := range c.service.Request(&all[i]).Groups {
			if allocation(c.t, all[i])[g.ID.String()] != c.provider {
				c.t.Errorf("after %v: the profile does not have the group of its policy", answer)
			}
			want += g.Resources["NET_BW_EGR_KILOBIT_PER_SEC"]
		}
	}
	c.holds(want)
}
