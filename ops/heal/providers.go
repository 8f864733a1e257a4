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

// raise returns the generation that a request for a provider carries after the steps so far, and the steps that must be done before it. The next request
// for the provider waits for the step with the next number.
func (p *planner) raise(of *cloud.Provider) (generation int64, after []int) {
	if id, ok := p.last[of.UUID]; ok {
		after = []int{id}
	}
	generation = of.Generation + p.raised[of.UUID]
	p.raised[of.UUID]++
	p.last[of.UUID] = len(p.plan.Steps) + 1
	return generation, after
}

// places corrects names and parents of providers, those of agents before those of devices.
func (p *planner) places(findings []audit.Finding) {
	order, by := byFirst(findings)
	slices.SortStableFunc(order, func(a, b string) int { return p.depth(a) - p.depth(b) })
	for _, id := range order {
		is, w := p.ByUUID[id], p.Reported[id]
		if is == nil || w == nil {
			continue
		}
		name, parent := is.Name, is.Parent
		for _, f := range by[id] {
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
			Codes: codes(by[id]), About: by[id][0].About, Why: whys(by[id]) + "; expected: " + by[id][0].Expected, Checks: []Check{sameProvider(is)},
			Request: cloud.Request{Service: Placement, Method: "PUT", Path: "/resource_providers/" + id, Microversion: "1.37", Body: text(struct {
				Name   string `json:"name"`
				Parent any    `json:"parent_provider_uuid"`
			}{name, orNull(parent)})},
		})
		if parent != is.Parent {
			p.moved[id] = step
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
func sameProvider(of *cloud.Provider) Check {
	return Check{
		Request: get(Placement, "/resource_providers/"+of.UUID), Status: 200, Has: text(object{"name": of.Name, "parent_provider_uuid": orNull(of.Parent)}),
		Says: "provider " + of.UUID + " has the name and the parent that were read",
	}
}

// aggregates gives providers the host aggregates that their hosts are members of. Aggregates that the compute service does not have stay.
func (p *planner) aggregates(findings []audit.Finding) {
	by := map[string][]audit.Finding{} // by provider
	for _, f := range findings {
		by[f.About[1].ID] = append(by[f.About[1].ID], f)
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		of := p.ByUUID[id]
		members := slices.Clone(of.Aggregates)
		s := Step{Codes: codes(by[id]), Why: whys(by[id]), About: []audit.Subject{by[id][0].About[1]}}
		for _, f := range by[id] {
			s.About = append(s.About, f.About[0])
			if f.Code == audit.AggregateMirrorMissing {
				members = append(members, f.About[0].ID)
			} else {
				members = slices.DeleteFunc(members, func(uuid string) bool { return uuid == f.About[0].ID })
			}
			at := slices.IndexFunc(p.Compute.Aggregates, func(a cloud.Aggregate) bool { return a.UUID == f.About[0].ID })
			a := &p.Compute.Aggregates[at]
			s.Checks = append(s.Checks, Check{
				Request: get(Compute, fmt.Sprintf("/os-aggregates/%d", a.ID)), Status: 200, Has: text(object{"aggregate": object{"uuid": a.UUID, "hosts": a.Hosts}}),
				Says: "host aggregate " + a.Name + " has the members that were read",
			})
		}
		slices.Sort(members)
		generation, after := p.raise(of)
		s.After = after
		s.Request = cloud.Request{Service: Placement, Method: "PUT", Path: "/resource_providers/" + id + "/aggregates", Microversion: "1.19", Body: text(struct {
			Aggregates []string `json:"aggregates"`
			Generation int64    `json:"resource_provider_generation"`
		}{slices.Compact(members), generation})}
		p.add(s)
	}
}

// providerless adds the compute nodes of members of host aggregates that have no provider to what is left.
func (p *planner) providerless() {
	for _, a := range p.Compute.Aggregates {
		for _, host := range a.Hosts {
			for _, h := range p.Hypervisors[host] {
				if p.HostRoot(h.Host, h.Hostname) == nil && (len(p.o.Hosts) == 0 || slices.Contains(p.o.Hosts, host)) {
					p.plan.Left = append(p.plan.Left, Left{
						Code: audit.HypervisorWithoutProvider, About: []audit.Subject{{Kind: "host", ID: host, Name: h.Hostname}},
						Why: fmt.Sprintf("host %s is a member of the host aggregate %s, and placement has no provider of it", host, a.Name), Nova: NodeProviderless,
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
		of, host := p.ByUUID[f.About[1].ID], f.About[0].ID
		list := slices.DeleteFunc(slices.Clone(of.Traits), func(t string) bool { return t == index.DisabledTrait })
		if f.Code == audit.DisabledTraitMissing {
			list = append(list, index.DisabledTrait)
		}
		slices.Sort(list)
		generation, after := p.raise(of)
		service := p.Services[host]
		check := Check{
			Request: get(Compute, "/os-services?binary=nova-compute&host="+host), Status: 200,
			Has:  text(object{"services": []any{object{"host": host, "status": service.Status}}}),
			Says: "the compute service of host " + host + " is " + service.Status,
		}
		p.add(Step{
			Codes: []audit.Code{f.Code}, About: f.About, Why: f.Found, Checks: []Check{check}, After: after,
			Request: cloud.Request{Service: Placement, Method: "PUT", Path: "/resource_providers/" + of.UUID + "/traits", Microversion: "1.6", Body: text(struct {
				Traits     []string `json:"traits"`
				Generation int64    `json:"resource_provider_generation"`
			}{list, generation})},
		})
	}
}

// inventories removes the inventories that agents do not report. Those with allocations stay.
func (p *planner) inventories(findings []audit.Finding) {
	order, by := byFirst(findings)
	for _, id := range order {
		of, w := p.ByUUID[id], p.Reported[id]
		keep, used := maps.Clone(of.Inventories), ""
		for class := range of.Inventories {
			if _, reported := w.Inventories[class]; reported || !index.IsPortClass(class) {
				continue
			}
			if n := p.used[id][class]; n > 0 {
				used = fmt.Sprintf("%s %d is allocated of it", class, n)
			}
			delete(keep, class)
		}
		if used != "" {
			for _, f := range by[id] {
				p.left(f, used, 0)
			}
			continue
		}
		generation, after := p.raise(of)
		p.add(Step{
			Codes: codes(by[id]), About: by[id][0].About, Why: whys(by[id]) + ", which its agent does not report", After: after,
			Request: cloud.Request{Service: Placement, Method: "PUT", Path: "/resource_providers/" + id + "/inventories", Microversion: "1.26", Body: text(struct {
				Generation  int64                      `json:"resource_provider_generation"`
				Inventories map[string]cloud.Inventory `json:"inventories"`
			}{generation, keep})},
		})
	}
}

// removals deletes providers with those below them, children first. Those with allocations after the steps so far, or in the
// binding profile of a port, stay.
func (p *planner) removals(findings []audit.Finding) {
	deleted := map[string]int{} // the step
	for _, f := range findings {
		tree := p.bottomUp(f.About[0].ID)
		why, unnamed := p.inUse(tree)
		if why != "" {
			p.left(f, f.Found+"; it stays: "+why, 0)
			continue
		}
		for _, of := range tree {
			if _, ok := deleted[of.UUID]; ok {
				continue
			}
			after := slices.Concat(p.released[of.UUID], unnamed)
			for _, child := range p.Children[of.UUID] {
				after = append(after, cmp.Or(p.moved[child.UUID], deleted[child.UUID]))
			}
			deleted[of.UUID] = p.add(Step{
				Codes: []audit.Code{f.Code}, About: []audit.Subject{{Kind: "provider", ID: of.UUID, Name: of.Name}}, Why: f.Found, Checks: []Check{sameProvider(of)}, After: after,
				Request: cloud.Request{Service: Placement, Method: "DELETE", Path: "/resource_providers/" + of.UUID, Microversion: "1.37"},
			})
		}
	}
}

// bottomUp lists a provider and those below it that no step moves, children before parents.
func (p *planner) bottomUp(uuid string) (list []*cloud.Provider) {
	for _, child := range p.Children[uuid] {
		if p.moved[child.UUID] == 0 {
			list = append(list, p.bottomUp(child.UUID)...)
		}
	}
	if of := p.ByUUID[uuid]; of != nil {
		list = append(list, of)
	}
	return list
}

// inUse returns why providers cannot be deleted, "" when they can, and the steps after which no port names them.
func (p *planner) inUse(tree []*cloud.Provider) (why string, after []int) {
	for _, of := range tree {
		if w := p.Reported[of.UUID]; w != nil {
			return "the " + w.Agent.Type + " on " + w.Agent.Host + " reports " + of.Name, nil
		}
		for _, class := range slices.Sorted(maps.Keys(p.used[of.UUID])) {
			if n := p.used[of.UUID][class]; n > 0 {
				var holders []string
				for i := range p.Placement.Consumers {
					if c := &p.Placement.Consumers[i]; c.Allocations[of.UUID] != nil && len(holders) < 5 {
						holders = append(holders, c.UUID)
					}
				}
				return fmt.Sprintf("%s %d is allocated of %s, by %s", class, n, of.Name, strings.Join(holders, ", ")), nil
			}
		}
		for i := range p.Network.Ports {
			port := &p.Network.Ports[i]
			if !slices.Contains(slices.Collect(maps.Values(port.Allocation)), of.UUID) {
				continue
			}
			at := slices.IndexFunc(p.plan.Steps, func(s Step) bool {
				return s.Request.Path == "/ports/"+port.UUID && bytes.Contains(s.Request.Body, []byte("binding:profile")) && !bytes.Contains(s.Request.Body, []byte(of.UUID))
			})
			if at < 0 {
				return "port " + port.UUID + " names " + of.Name, nil
			}
			after = append(after, at+1)
		}
	}
	return "", after
}
