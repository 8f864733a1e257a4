package service_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
	placementservice "github.com/berthcloud/berth/placement/service"
)

// A step changes the allocations of a server.
type step struct {
	// own says that the port has a policy of its own, not its network's.
	own bool
	// change makes the change.
	change func(c *cloud, s *service.Service) error
}

// steps need more, or less, for one port or for all of a network.
var steps = map[string]step{
	"More":   {true, func(c *cloud, s *service.Service) error { return c.setPolicy(s, "2000") }},
	"None":   {true, func(c *cloud, s *service.Service) error { return c.setPolicy(s, "none") }},
	"Remove": {true, func(c *cloud, s *service.Service) error { return s.DeletePort(context.Background(), c.port) }},
	"AllMore": {false, func(c *cloud, s *service.Service) error {
		return c.setNetworkPolicy(s, "1200")
	}},
	"AllNone": {false, func(c *cloud, s *service.Service) error {
		return c.setNetworkPolicy(s, "none")
	}},
}

// setNetworkPolicy gives the network another policy.
func (c *cloud) setNetworkPolicy(s *service.Service, name string) error {
	_, err := s.UpdateNetwork(context.Background(), c.net, func(n *topology.NetworkSpec) error {
		n.Policy = c.policies[name]
		return nil
	})
	return err
}

// prepare makes a cloud ready for a step, again when one was made: a port with a policy
// of its own, or two with their network's.
func (c *cloud) prepare(s step) {
	c.t.Helper()
	ctx := context.Background()
	all, err := c.service.Ports(ctx)
	c.must(err)
	for _, p := range all {
		c.must(c.service.DeletePort(ctx, p.ID))
	}
	if s.own {
		c.port = c.newPort(c.policies["1000"])
		return
	}
	if c.policies["1200"] == "" {
		c.policies["1200"] = c.newPolicy("1200", 1200)
	}
	c.must(c.setNetworkPolicy(c.service, "1000"))
	c.port = c.newPort("")
	c.newPort("")
}

// agrees compares placement with the ports: the server has allocated what they promise, their
// profiles name the groups, and nothing remains to be done.
func (c *cloud) agrees(after string) {
	c.t.Helper()
	left, err := c.service.Recover(context.Background(), 0)
	if err != nil || left != 0 || c.intents() != 0 {
		c.t.Errorf("%s: %d intents are left, %v", after, c.intents(), err)
	}
	want := int64(0)
	all, err := c.service.Ports(context.Background())
	c.must(err)
	for i := range all {
		for _, g := range c.service.Request(&all[i]).Groups {
			if allocation(c.t, all[i])[g.ID.String()] != c.provider {
				c.t.Errorf("%s: the profile does not have the group of its policy", after)
			}
			want += g.Resources["NET_BW_EGR_KILOBIT_PER_SEC"]
		}
	}
	c.checkAllocated(want)
	if c.t.Failed() {
		c.t.Errorf("that was %s", after)
	}
}

// Whatever happens on the way to placement, at whatever request of a change, once or
// from then on: what is allocated and what is promised are the same as soon as the way
// is free, and a change that was refused has not been made.
func TestMovesSurviveTheWire(t *testing.T) {
	for name, s := range steps {
		if racetest.Few() && name != "AllMore" {
			continue
		}
		for fault := range wireFaults {
			for _, on := range onceAndOn(fault) {
				t.Run(fmt.Sprintf("%s/%s/%v", name, fault, on), func(t *testing.T) {
					t.Parallel()
					places := placementapitest.New(t, placementservice.DefaultSettings())
					newCloudOn(t, clientOf(t, places, time.Minute)).survives(s, places, fault, on)
				})
			}
		}
	}
}

// survives makes a change again and again, on whose way to placement something breaks,
// at each request in turn. A sample has every second request.
func (c *cloud) survives(s step, placement http.Handler, fault string, on bool) {
	c.t.Helper()
	wire, places := newWire(c.t, placement, patience(fault))
	first, step := sweep.Every(c.t, 2)
	for at, met := 1+first, true; met && !c.t.Failed(); at += step {
		c.prepare(s)
		wire.breaks(wireFaults[fault], at, on)
		met = c.meets(s, wire, places, at)
	}
}

// meets makes a change on whose way something breaks, at a request of a number, and
// reports whether there was such a request.
func (c *cloud) meets(s step, wire *wire, places providertreetest.Placement, at int) bool {
	c.t.Helper()
	c.placement = places
	service := c.serve(c.store)
	before := c.look(c.port)
	answer := s.change(c, service)
	met := wire.heals()
	if answer != nil {
		if after := c.look(c.port); after.Policy != before.Policy || after.Network.Policy != before.Network.Policy {
			c.t.Errorf("at request %d: the answer is %v, and the change was made", at, answer)
		}
	}
	if _, err := service.Recover(context.Background(), 0); err != nil {
		c.t.Errorf("at request %d: Recover = %v", at, err)
	}
	wire.arrive()
	c.agrees(fmt.Sprintf("after request %d and %v", at, answer))
	return met
}
