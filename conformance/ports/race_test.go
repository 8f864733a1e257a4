package ports

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

// rounds is how often requests meet.
const rounds = 6

// onFleets runs a test with two instances on a database of each kind, one on SQLite, which allows
// no more. A sample has one of the database servers.
func onFleets(t *testing.T, config map[string]map[string]string, test func(*cloud)) {
	t.Helper()
	t.Run(string(server.SQLite), func(t *testing.T) { test(newCloud(t, server.SQLite, 1, config)) })
	for _, kind := range sweep.Sample(t, []server.DatabaseKind{server.MariaDB, server.PostgreSQL}, 2) {
		t.Run(string(kind), func(t *testing.T) { test(newCloud(t, kind, 2, config)) })
	}
}

// race sends requests at the same time, each to another instance than the one before, and
// returns their statuses. None fails in a way that is the service's own.
func (c *cloud) race(round int, all ...request) []int {
	c.Helper()
	statuses := make([]int, len(all))
	var start, end sync.WaitGroup
	start.Add(1)
	for n, r := range all {
		i := c.requests[(n+round)%len(c.requests)]
		end.Go(func() {
			start.Wait()
			a, err := r.send(i)
			statuses[n] = a.Status
			if err != nil || a.Status >= 500 && a.Status != http.StatusNotImplemented {
				c.Errorf("%s %s: %d %s, %v", r.method, r.path, a.Status, a.Body, err)
			}
		})
	}
	start.Done()
	end.Wait()
	return statuses
}

// counts is the number of each status.
func counts(statuses []int) map[int]int {
	n := map[int]int{}
	for _, s := range statuses {
		n[s]++
	}
	return n
}

// creations are n requests for equal new objects.
func creations(n int, kind string, object rest.Object) (all []request) {
	for range n {
		all = append(all, request{"POST", "/v2.0/" + kind + "s", rest.Object{strings.ReplaceAll(kind, "-", "_"): object}})
	}
	return all
}

// TestAddressRaces creates more ports at once than a subnet has addresses: each address is
// allocated once, and all are.
func TestAddressRaces(t *testing.T) {
	onFleets(t, nil, func(c *cloud) {
		for round, cidr := range []string{"192.0.2.0/28", "2001:db8::/124"} {
			version, addresses := 4+2*round, 13+2*round // without the network's, and of IPv4 the gateway's and the broadcast
			c.make("subnet", rest.Object{"network_id": c.network, "ip_version": version, "cidr": cidr})
			statuses := c.race(round, creations(addresses+9, "port", rest.Object{"network_id": c.network})...)
			if diff := cmp.Diff(map[int]int{201: addresses, 409: 9}, counts(statuses)); diff != "" {
				c.Errorf("%s: the answers are (-want +got):\n%s", cidr, diff)
			}
			seen := map[string]bool{}
			for _, p := range c.ports() {
				for _, a := range p.FixedIPs {
					if seen[a.IP] {
						c.Errorf("%s is given twice", a.IP)
					}
					seen[a.IP] = true
				}
			}
			if len(seen) != addresses {
				c.Errorf("%d addresses of %s are given, want %d", len(seen), cidr, addresses)
			}
			c.clear()
			var all struct{ Subnets []struct{ ID string } }
			c.requests[0].Read(c, "/v2.0/subnets", &all)
			for _, s := range all.Subnets {
				c.must(request{"DELETE", "/v2.0/subnets/" + s.ID, nil})
			}
		}
	})
}

// TestQuotaRaces creates more objects at once than a project's quota: exactly the quota is granted.
func TestQuotaRaces(t *testing.T) {
	const quota, more = 7, 9
	config := map[string]map[string]string{"quotas": {
		"quota_port": fmt.Sprint(quota), "quota_network": fmt.Sprint(quota), "quota_security_group": fmt.Sprint(quota),
	}}
	onFleets(t, config, func(c *cloud) {
		for round, owner := range []struct {
			kind string
			more rest.Object
			had  int
		}{
			{"port", rest.Object{"network_id": c.network}, 0},
			{"network", nil, 0},
			{"security-group", nil, 1}, // the default one, created with the first port
		} {
			object := rest.Object{"name": "one", "project_id": "crowd"}
			maps.Copy(object, owner.more)
			statuses := c.race(round, creations(quota+more, owner.kind, object)...)
			if diff := cmp.Diff(map[int]int{201: quota - owner.had, 409: more + owner.had}, counts(statuses)); diff != "" {
				c.Errorf("%ss: the answers are (-want +got):\n%s", owner.kind, diff)
			}
		}
	})
}

// TestChangeRaces sends two concurrent requests about a port's guarantee, in each of several
// combinations. In either order, the servers' allocations equal the guarantees of their ports.
func TestChangeRaces(t *testing.T) {
	const other = "0f4e1a52-4b0c-4a3c-8f0e-9d0f5a3a7c11" // a second server
	onFleets(t, nil, func(all *cloud) {
		second := all.addHost("host1")
		policy := func(p port, kbps int) request {
			return request{"PUT", "/v2.0/ports/" + p.ID, rest.Object{"port": rest.Object{"qos_policy_id": all.policy(kbps)}}}
		}
		remove := func(p port) request { return request{"DELETE", "/v2.0/ports/" + p.ID, nil} }
		waiting := func(c *cloud, server string, p port, on host, percent int) request {
			c.claim(server, p, on, percent)
			return p.binding(server, on)
		}
		for name, requests := range map[string]func(c *cloud, round int) []request{
			"TwoBinds": func(c *cloud, _ int) []request {
				p := c.newPort(c.policy(1000))
				return []request{waiting(c, theServer, p, c.hosts[0], 100), waiting(c, other, p, second, 100)}
			},
			"BindsOfOneServer": func(c *cloud, _ int) (all []request) {
				for range 3 { // half was allocated to each
					all = append(all, waiting(c, theServer, c.newPort(c.policy(1000)), c.hosts[0], 50))
				}
				return all
			},
			"PolicyAndBind": func(c *cloud, _ int) []request {
				p := c.newPort(c.policy(1000))
				return []request{waiting(c, theServer, p, c.hosts[0], 100), policy(p, 2000)}
			},
			"PolicyAndRemoval": func(c *cloud, round int) []request {
				p := c.bound(theServer, c.policy(1000+1000*(round%2)))
				return []request{policy(p, 2000-1000*(round%2)), remove(p)}
			},
			"TwoPolicies": func(c *cloud, _ int) []request {
				p := c.bound(theServer, c.policy(1000))
				return []request{policy(p, 2000), policy(p, 500)}
			},
			"PoliciesOfOneServer": func(c *cloud, _ int) []request {
				p, q := c.bound(theServer, c.policy(1000)), c.bound(theServer, c.policy(2000))
				return []request{policy(p, 2000), policy(q, 1000), policy(p, 500)}
			},
			"NetworkAndPort": func(c *cloud, _ int) []request {
				r := c.networkChange(1000, 2000)
				p := c.ports()[0]
				return []request{r, policy(p, 500), remove(c.ports()[1])}
			},
			"RuleAndBind": func(c *cloud, round int) []request {
				rule := c.ruleOf(c.policy(700), 700)
				p := c.newPort(c.policy(700))
				return []request{
					waiting(c, theServer, p, c.hosts[0], 100),
					{"PUT", rule, rest.Object{"minimum_bandwidth_rule": rest.Object{"min_kbps": 900}}},
				}
			},
		} {
			all.Run(name, func(t *testing.T) {
				c := all.in(t)
				for round := range rounds {
					c.race(round, requests(c, round)...)
					c.agrees()
					c.clear()
					if t.Failed() {
						t.Fatalf("that was round %d", round)
					}
				}
			})
		}
	})
}

// ruleOf is the path of a policy's rule for egress, which guarantees kbps from here on.
func (c *cloud) ruleOf(policy string, kbps int) string {
	c.Helper()
	path := "/v2.0/qos/policies/" + policy + "/minimum_bandwidth_rules"
	var all struct {
		Rules []struct{ ID, Direction string } `json:"minimum_bandwidth_rules"`
	}
	c.requests[0].Read(c, path+"?direction=egress", &all)
	if len(all.Rules) != 1 {
		c.Fatalf("policy %s has %d rules for egress", policy, len(all.Rules))
	}
	path += "/" + all.Rules[0].ID
	c.must(request{"PUT", path, rest.Object{"minimum_bandwidth_rule": rest.Object{"min_kbps": kbps}}})
	return path
}

// TestDeviceRaces has agents of two hosts that share a hypervisor report the same device at once,
// and then one of them another one, through any instance. An agent's own devices remain, and
// nothing else.
func TestDeviceRaces(t *testing.T) {
	onFleets(t, nil, func(c *cloud) {
		name, agent := "shared", "shared:Open vSwitch agent"
		c.places.Must(c, 200, "POST", "/resource_providers", rest.Object{"name": name})
		for round := range rounds {
			one, other := "br-a", "br-b"
			if round%2 == 1 {
				one, other = other, one
			}
			for _, bridges := range [][2]string{{one, one}, {one, other}, {other, one}} {
				c.race(round, heartbeat("cn1", name, bridges[0]), heartbeat("cn2", name, bridges[1]))
				for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
					synced, err := c.requests[0].synced()
					if synced {
						break
					}
					if time.Now().After(end) {
						c.Fatalf("round %d: the agents are not in placement after %s, %v", round, soon, err)
					}
					c.race(round, heartbeat("cn1", name, bridges[0]), heartbeat("cn2", name, bridges[1]))
				}
				want := []string{name, agent}
				for _, bridge := range slices.Compact(slices.Sorted(slices.Values(bridges[:]))) {
					want = append(want, agent+":"+bridge)
				}
				if diff := cmp.Diff(want, c.tree(name)); diff != "" {
					c.Fatalf("round %d, bridges %q: the providers are (-want +got):\n%s", round, bridges, diff)
				}
			}
		}
	})
}
