package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
)

// What a request may have is bounded before anything is made of it, with quotas off too: peer
// services get no request, and nothing is as big as the number in the request.
func TestRequestsAreBounded(t *testing.T) {
	c := newCloud(t, func(s *compute.Settings) {
		for resource := range s.Quotas {
			s.Quotas[resource] = -1
		}
		s.UniqueNames = compute.UniqueInProject
	})
	c.Add(computetest.Flavor("m1", 1, 128, 1))
	plain := servers.ServerSpec{Name: "vm", Flavor: "m1", Image: cirros}
	with := func(fn func(*servers.ServerSpec)) servers.ServerSpec {
		spec := plain
		fn(&spec)
		return spec
	}
	for _, r := range []struct {
		spec servers.ServerSpec
		text string
	}{
		{
			with(func(s *servers.ServerSpec) { s.Min, s.Max = 1001, 1<<31-1 }),
			"min_count must be at most 1000, which is how many servers a request can make",
		},
		{
			with(func(s *servers.ServerSpec) { s.Networks = make([]compute.NetworkSpec, 20000) }),
			"a request can have at most 128 networks, not 20000",
		},
		{with(func(s *servers.ServerSpec) {
			for i := range 129 {
				s.SecurityGroups = append(s.SecurityGroups, fmt.Sprint(i))
			}
		}), "a request can have at most 128 security groups, not 129"},
		{
			with(func(s *servers.ServerSpec) { s.Hints = []byte(`{"a": "` + strings.Repeat("x", 64<<10) + `"}`) }),
			"a request can have at most 65536 bytes of scheduler hints, not 65545",
		},
	} {
		_, err := c.CreateServers(ctx, ann, r.spec)
		c.Refused("too much", err, fault.Invalid, "InvalidInput", "Invalid input received: "+r.text)
	}
	made, err := c.CreateServers(ctx, ann, with(func(s *servers.ServerSpec) { s.Min, s.Max = 1, 1<<31-1 }))
	if err != nil || len(made) != servers.MaxServers || made[999].Name != "vm-1000" {
		t.Errorf("max_count of 2^31-1 makes %d servers, %v; want %d", len(made), err, servers.MaxServers)
	}
	_, err = c.CreateServers(ctx, ann, with(func(s *servers.ServerSpec) { s.Name, s.Min, s.Max = "VM", 5, 5 }))
	c.Refused("a name of another", err, fault.Conflict, "InstanceExists", "Instance vm-1 already exists.")
}

// A quota that does not allow so many is said to be what is wanting, as Nova says it.
func TestQuotasComeBeforeBounds(t *testing.T) {
	c := newCloud(t)
	c.Add(computetest.Flavor("m1", 1, 128, 1))
	_, err := c.CreateServers(ctx, ann, servers.ServerSpec{
		Name: "vm", Flavor: "m1", Image: cirros, Min: 1001, Max: 1<<31 - 1,
	})
	if kind, code := fault.Of(err); kind != fault.Denied || code != "TooManyInstances" {
		t.Errorf("more than the quota: %v, want TooManyInstances", err)
	}
}
