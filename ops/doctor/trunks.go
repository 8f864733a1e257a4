package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
)

// directions are those of guaranteed bandwidth.
var directions = []string{guarantee.Egress, guarantee.Ingress}

// A minimum is the bandwidth that is guaranteed in each direction, in kbit/s.
type minimum map[string]int64

func (m minimum) String() string {
	return fmt.Sprintf("%d kbit/s egress and %d ingress", m[guarantee.Egress], m[guarantee.Ingress])
}

// trunksSized compares what the parent of a trunk is guaranteed with the sum of its subports'
// guarantees. Nova queries placement on behalf of the parent only: what a subport is guaranteed is
// accounted for nowhere, unless the parent's policy has it too.
func trunksSized(x *run, r *findings) {
	if x.Cloud.Network.Trunks == nil {
		r.unknown("The trunks were not read.")
		return
	}
	// both by the policy; the ports are those that have it
	policies, ports := map[string]*cloud.QoSPolicy{}, map[string]map[string]bool{}
	for i := range x.Cloud.Network.Policies {
		policies[x.Cloud.Network.Policies[i].UUID] = &x.Cloud.Network.Policies[i]
	}
	has := func(policy, port string) {
		if ports[policy] == nil {
			ports[policy] = map[string]bool{}
		}
		ports[policy][port] = true
	}
	for i := range x.Cloud.Network.Ports {
		has(policyOf(&x.Cloud.Network.Ports[i]), x.Cloud.Network.Ports[i].UUID)
	}
	for _, t := range x.Cloud.Network.Trunks {
		for _, p := range slices.Concat(t.Subports, []cloud.TrunkPort{t.Parent}) {
			has(cmp.Or(p.Policy, p.NetworkPolicy), p.UUID)
		}
	}
	minimumOf := func(t *cloud.Trunk, p *cloud.TrunkPort) minimum {
		uuid := cmp.Or(p.Policy, p.NetworkPolicy)
		policy, m := policies[uuid], minimum{}
		if policy == nil {
			if uuid != "" {
				r.unknown("The policy %s of port %s, which is on trunk %s, was not read.", uuid, named(p.UUID, p.Name),
					named(t.UUID, t.Name))
			}
			return m
		}
		for _, rule := range policy.Rules {
			if rule.Type == string(guarantee.MinimumBandwidth) {
				m[rule.Direction] += rule.MinKbps
			}
		}
		return m
	}
	seen, guaranteed := 0, 0
	for i := range x.Cloud.Network.Trunks {
		t := &x.Cloud.Network.Trunks[i]
		if p := x.index.Ports[t.Parent.UUID]; x.Host != "" && (p == nil || !x.on(p.Host)) {
			continue
		}
		seen++
		parent, sum := minimumOf(t, &t.Parent), minimum{}
		var list []string
		for k := range t.Subports {
			p := &t.Subports[k]
			m := minimumOf(t, p)
			for _, direction := range directions {
				sum[direction] += m[direction]
			}
			if len(m) > 0 {
				list = append(list, fmt.Sprintf("%s with %s", named(p.UUID, p.Name), m))
			}
		}
		if len(list) > 0 {
			guaranteed++
		}
		if parent[guarantee.Egress] >= sum[guarantee.Egress] && parent[guarantee.Ingress] >= sum[guarantee.Ingress] {
			continue
		}
		text := fmt.Sprintf(
			"trunk %s: its subports are guaranteed %s together, and its parent port %s %s; the subports are %s",
			named(t.UUID, t.Name), sum, named(t.Parent.UUID, t.Parent.Name), parent, strings.Join(list, ", "))
		policy := policies[t.Parent.Policy]
		if policy != nil && len(ports[policy.UUID]) > 1 {
			text += fmt.Sprintf("; the parent's policy %s is that of %s too", policy.Name,
				count(len(ports[policy.UUID])-1, "other port"))
			policy = nil
		}
		r.add(Warning, sizeParent(t, policy, parent, sum), text)
	}
	switch {
	case r.list != nil:
	case seen == 0:
		r.ok("there is no trunk%s", x.onHost())
	case guaranteed == 0:
		r.ok("%s, none with subports that are guaranteed bandwidth", count(seen, "trunk"))
	default:
		r.ok("%s, %d with subports that are guaranteed bandwidth", count(seen, "trunk"), guaranteed)
	}
}

// sizeParent is the command that guarantees to the parent of a trunk what its subports are
// guaranteed: it changes the rules of a policy, or with nil makes one for the parent.
func sizeParent(t *cloud.Trunk, policy *cloud.QoSPolicy, parent, sum minimum) string {
	var steps []string
	name := "trunk-" + t.UUID
	if policy == nil {
		steps = append(steps, "openstack network qos policy create "+name)
	} else {
		name = policy.UUID
	}
	for _, direction := range directions {
		requested := max(parent[direction], sum[direction])
		rule := ""
		if policy != nil {
			for _, parentRule := range policy.Rules {
				if parentRule.Type == string(guarantee.MinimumBandwidth) && parentRule.Direction == direction {
					rule = parentRule.UUID
				}
			}
		}
		switch {
		case requested == 0 || policy != nil && parent[direction] == requested:
		case rule != "":
			steps = append(steps, fmt.Sprintf("openstack network qos rule set --min-kbps %d %s %s", requested, name, rule))
		default:
			steps = append(steps, fmt.Sprintf("openstack network qos rule create --type minimum-bandwidth --min-kbps %d --%s %s",
				requested, direction, name))
		}
	}
	if policy == nil {
		steps = append(steps, "openstack port set --qos-policy "+name+" "+t.Parent.UUID)
	}
	return strings.Join(steps, " && ")
}
