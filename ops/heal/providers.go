package heal

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// raise returns the generation that a request for a provider carries after the steps so far, and
// the steps that must be done before it. The next request for the provider waits for the step with
// the next number.
func (p *planner) raise(provider *cloud.Provider) (generation int64, after []int) {
	if id, ok := p.last[provider.UUID]; ok {
		after = []int{id}
	}
	generation = provider.Generation + p.raised[provider.UUID]
	p.raised[provider.UUID]++
	p.last[provider.UUID] = len(p.plan.Steps) + 1
	return generation, after
}

// namesAndParents corrects names and parents of providers, those of agents before those of devices.
func (p *planner) namesAndParents(findings []audit.Finding) {
	order, groups := byFirst(findings)
	slices.SortStableFunc(order, func(a, b string) int { return p.depth(a) - p.depth(b) })
	for _, id := range order {
		actual, w := p.ByUUID[id], p.Reported[id]
		if actual == nil || w == nil {
			continue
		}
		name, parent := actual.Name, actual.Parent
		for _, f := range groups[id] {
			if f.Code == audit.ProviderNameDiffers {
				name = w.Name
				continue
			}
			parent = w.Parent.String()
			if w.Device == "" {
				parent = p.ByName[w.Hypervisor].UUID
			}
		}
		step := p.add(Step{
			Codes: codes(groups[id]), About: groups[id][0].About,
			Why: reasons(groups[id]) + "; expected: " + groups[id][0].Expected, Checks: []Check{sameProvider(actual)},
			Request: cloud.Request{
				Service: Placement, Method: "PUT", Path: "/resource_providers/" + id, Microversion: "1.37", Body: text(struct {
					Name   string `json:"name"`
					Parent any    `json:"parent_provider_uuid"`
				}{name, orNull(parent)}),
			},
		})
		if parent != actual.Parent {
			p.reparented[id] = step
		}
	}
}

// depth is 0 for the provider of an agent and 1 for that of a device.
func (p *planner) depth(uuid string) int {
	if w := p.Reported[uuid]; w != nil && w.Device != "" {
		return 1
	}
	return 0
}

func orNull(uuid string) any {
	if uuid == "" {
		return nil
	}
	return uuid
}

// sameProvider checks that a provider still has its name and its parent.
func sameProvider(provider *cloud.Provider) Check {
	return Check{
		Request: get(Placement, "/resource_providers/"+provider.UUID), Status: 200,
		Has:       text(object{"name": provider.Name, "parent_provider_uuid": orNull(provider.Parent)}),
		Statement: "provider " + provider.UUID + " has the name and the parent that were read",
	}
}

// aggregates gives providers the host aggregates that their hosts are members of. Aggregates that
// the compute service does not have stay.
func (p *planner) aggregates(findings []audit.Finding) {
	groups := map[string][]audit.Finding{} // by provider
	for _, f := range findings {
		groups[f.About[1].ID] = append(groups[f.About[1].ID], f)
	}
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		provider := p.ByUUID[id]
		members := slices.Clone(provider.Aggregates)
		s := Step{Codes: codes(groups[id]), Why: reasons(groups[id]), About: []audit.Subject{groups[id][0].About[1]}}
		for _, f := range groups[id] {
			s.About = append(s.About, f.About[0])
			if f.Code == audit.AggregateMirrorMissing {
				members = append(members, f.About[0].ID)
			} else {
				members = slices.DeleteFunc(members, func(uuid string) bool { return uuid == f.About[0].ID })
			}
			i := slices.IndexFunc(p.Compute.Aggregates, func(a cloud.Aggregate) bool { return a.UUID == f.About[0].ID })
			a := &p.Compute.Aggregates[i]
			s.Checks = append(s.Checks, Check{
				Request: get(Compute, fmt.Sprintf("/os-aggregates/%d", a.ID)), Status: 200,
				Has:       text(object{"aggregate": object{"uuid": a.UUID, "hosts": a.Hosts}}),
				Statement: "host aggregate " + a.Name + " has the members that were read",
			})
		}
		slices.Sort(members)
		generation, after := p.raise(provider)
		s.After = after
		s.Request = cloud.Request{
			Service: Placement, Method: "PUT", Path: "/resource_providers/" + id + "/aggregates", Microversion: "1.19",
			Body: text(struct {
				Aggregates []string `json:"aggregates"`
				Generation int64    `json:"resource_provider_generation"`
			}{slices.Compact(members), generation}),
		}
		p.add(s)
	}
}

// providerless adds the compute nodes of members of host aggregates that have no provider to what
// remains.
func (p *planner) providerless() {
	for _, a := range p.Compute.Aggregates {
		for _, host := range a.Hosts {
			for _, h := range p.Hypervisors[host] {
				if p.HostRoot(h.Host, h.Hostname) == nil && (len(p.o.Hosts) == 0 || slices.Contains(p.o.Hosts, host)) {
					p.plan.Unhealed = append(p.plan.Unhealed, Unhealed{
						Code: audit.HypervisorWithoutProvider, About: []audit.Subject{{Kind: "host", ID: host, Name: h.Hostname}},
						Why: fmt.Sprintf("host %s is a member of the host aggregate %s, and placement has no provider of it", host,
							a.Name), Nova: NodeProviderless,
						Command: "openstack compute service list --host " + host,
					})
				}
			}
		}
	}
}

// traits sets the trait of disabled hosts, or removes it.
func (p *planner) traits(findings []audit.Finding) {
	for _, f := range findings {
		provider, host := p.ByUUID[f.About[1].ID], f.About[0].ID
		list := slices.DeleteFunc(slices.Clone(provider.Traits), func(t string) bool { return t == index.DisabledTrait })
		if f.Code == audit.DisabledTraitMissing {
			list = append(list, index.DisabledTrait)
		}
		slices.Sort(list)
		generation, after := p.raise(provider)
		service := p.Services[host]
		check := Check{
			Request: get(Compute, "/os-services?binary=nova-compute&host="+host), Status: 200,
			Has:       text(object{"services": []any{object{"host": host, "status": service.Status}}}),
			Statement: "the compute service of host " + host + " is " + service.Status,
		}
		p.add(Step{
			Codes: []audit.Code{f.Code}, About: f.About, Why: f.Actual, Checks: []Check{check}, After: after,
			Request: cloud.Request{
				Service: Placement, Method: "PUT", Path: "/resource_providers/" + provider.UUID + "/traits", Microversion: "1.6",
				Body: text(struct {
					Traits     []string `json:"traits"`
					Generation int64    `json:"resource_provider_generation"`
				}{list, generation}),
			},
		})
	}
}

// inventories removes the inventories that agents do not report. Those with allocations stay.
func (p *planner) inventories(findings []audit.Finding) {
	order, groups := byFirst(findings)
	for _, id := range order {
		provider, w := p.ByUUID[id], p.Reported[id]
		keep, used := maps.Clone(provider.Inventories), ""
		for class := range provider.Inventories {
			if _, reported := w.Inventories[class]; reported || !index.IsPortClass(class) {
				continue
			}
			if n := p.used[id][class]; n > 0 {
				used = fmt.Sprintf("%s %d is allocated of it", class, n)
			}
			delete(keep, class)
		}
		if used != "" {
			for _, f := range groups[id] {
				p.addUnhealed(f, used, 0)
			}
			continue
		}
		generation, after := p.raise(provider)
		p.add(Step{
			Codes: codes(groups[id]), About: groups[id][0].About, Why: reasons(groups[id]) + ", which its agent does not report",
			After: after,
			Request: cloud.Request{
				Service: Placement, Method: "PUT", Path: "/resource_providers/" + id + "/inventories", Microversion: "1.26",
				Body: text(struct {
					Generation  int64                      `json:"resource_provider_generation"`
					Inventories map[string]cloud.Inventory `json:"inventories"`
				}{generation, keep}),
			},
		})
	}
}

// removals deletes providers with those below them, children first. Those with allocations after
// the steps so far, or in the binding profile of a port, stay.
func (p *planner) removals(findings []audit.Finding) {
	deleted := map[string]int{} // the step
	for _, f := range findings {
		tree := p.bottomUp(f.About[0].ID)
		reason, unnamed := p.inUse(tree)
		if reason != "" {
			p.addUnhealed(f, f.Actual+"; it stays: "+reason, 0)
			continue
		}
		for _, provider := range tree {
			if _, ok := deleted[provider.UUID]; ok {
				continue
			}
			after := slices.Concat(p.released[provider.UUID], unnamed)
			for _, child := range p.Children[provider.UUID] {
				after = append(after, cmp.Or(p.reparented[child.UUID], deleted[child.UUID]))
			}
			deleted[provider.UUID] = p.add(Step{
				Codes: []audit.Code{f.Code}, About: []audit.Subject{{Kind: "provider", ID: provider.UUID, Name: provider.Name}},
				Why: f.Actual, Checks: []Check{sameProvider(provider)}, After: after,
				Request: cloud.Request{
					Service: Placement, Method: "DELETE", Path: "/resource_providers/" + provider.UUID, Microversion: "1.37",
				},
			})
		}
	}
}

// bottomUp lists a provider and those below it that no step moves, children before parents.
func (p *planner) bottomUp(uuid string) (list []*cloud.Provider) {
	for _, child := range p.Children[uuid] {
		if p.reparented[child.UUID] == 0 {
			list = append(list, p.bottomUp(child.UUID)...)
		}
	}
	if provider := p.ByUUID[uuid]; provider != nil {
		list = append(list, provider)
	}
	return list
}

// inUse returns why providers cannot be deleted, "" when they can, and the steps after which no
// port names them.
func (p *planner) inUse(tree []*cloud.Provider) (reason string, after []int) {
	for _, provider := range tree {
		if w := p.Reported[provider.UUID]; w != nil {
			return "the " + w.Agent.Type + " on " + w.Agent.Host + " reports " + provider.Name, nil
		}
		for _, class := range slices.Sorted(maps.Keys(p.used[provider.UUID])) {
			if n := p.used[provider.UUID][class]; n > 0 {
				var names []string
				for i := range p.Placement.Consumers {
					if c := &p.Placement.Consumers[i]; c.Allocations[provider.UUID] != nil && len(names) < 5 {
						names = append(names, c.UUID)
					}
				}
				return fmt.Sprintf("%s %d is allocated of %s, by %s", class, n, provider.Name, strings.Join(names, ", ")), nil
			}
		}
		for i := range p.Network.Ports {
			port := &p.Network.Ports[i]
			if !slices.Contains(slices.Collect(maps.Values(port.Allocation)), provider.UUID) {
				continue
			}
			index := slices.IndexFunc(p.plan.Steps, func(s Step) bool {
				return s.Request.Path == "/ports/"+port.UUID && bytes.Contains(s.Request.Body, []byte("binding:profile")) &&
					!bytes.Contains(s.Request.Body, []byte(provider.UUID))
			})
			if index < 0 {
				return "port " + port.UUID + " names " + provider.Name, nil
			}
			after = append(after, index+1)
		}
	}
	return "", after
}
