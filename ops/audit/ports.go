package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// computePorts calls fn with the ports of servers. The server is nil for one that is not there.
func (x *records) computePorts(fn func(p *cloud.Port, s *index.Server)) {
	for i := range x.Network.Ports {
		if p := &x.Network.Ports[i]; strings.HasPrefix(p.Owner, "compute:") && p.Device != "" {
			fn(p, x.Servers[p.Device])
		}
	}
}

// boundPorts calls fn with the ports that are bound on the host of their server, of servers that
// nothing is under way with.
func (x *records) boundPorts(fn func(p *cloud.Port, s *index.Server)) {
	x.computePorts(func(p *cloud.Port, s *index.Server) {
		if s != nil && !s.Busy && s.Root != nil && p.Host == s.Host {
			fn(p, s)
		}
	})
}

// keyedGroups calls fn with each group of a bound port and the provider that the port names for it.
func (x *records) keyedGroups(fn func(p *cloud.Port, s *index.Server, g cloud.PortGroup, provider string)) {
	x.boundPorts(func(p *cloud.Port, s *index.Server) {
		if p.Request == nil {
			return
		}
		for _, g := range p.Request.Groups {
			if uuid := index.NamedProvider(p, g); uuid != "" {
				fn(p, s, g, uuid)
			}
		}
	})
}

// groupName names a group for people.
func groupName(g cloud.PortGroup) string {
	if g.ID == "" {
		return "the port's group"
	}
	return "group " + g.ID
}

func portOfDeletedServer(x *records, r *report) {
	x.computePorts(func(p *cloud.Port, s *index.Server) {
		if s == nil {
			r.add(Finding{
				About:    []Subject{portSubject(p), {Kind: "server", ID: p.Device}},
				Actual:   "its device is server " + p.Device + ", which is not there",
				Expected: "a server, or no device", Command: "openstack port set --device '' --device-owner '' " + p.UUID,
			})
		}
	})
}

func portHostDiffers(x *records, r *report) {
	x.computePorts(func(p *cloud.Port, s *index.Server) {
		if s != nil && !s.Busy && s.Root != nil && p.Host != "" && p.Host != s.Host {
			r.add(Finding{
				About: []Subject{portSubject(p), serverSubject(s)}, Actual: "it is bound on host " + p.Host,
				Expected: "host " + s.Host + ", where its server runs",
				Command: fmt.Sprintf("openstack server remove port %s %s && openstack server add port %s %s", s.UUID, p.UUID,
					s.UUID, p.UUID),
			})
		}
	})
}

func portBindingFailed(x *records, r *report) {
	x.computePorts(func(p *cloud.Port, s *index.Server) {
		if s != nil && !s.Busy && p.VIF == "binding_failed" {
			r.add(Finding{
				About: []Subject{portSubject(p), serverSubject(s)}, Actual: fmt.Sprintf("binding it on host %s failed", p.Host),
				Expected: "a port that is bound",
				Command:  "openstack network agent list --host " + p.Host,
			})
		}
	})
}

func portNotBound(x *records, r *report) {
	x.computePorts(func(p *cloud.Port, s *index.Server) {
		if s == nil || s.Busy || s.Root == nil || s.Status == "ERROR" || s.Status == "SHELVED_OFFLOADED" {
			return
		}
		if p.Host == "" || p.VIF == "unbound" {
			r.add(Finding{
				About: []Subject{portSubject(p), serverSubject(s)}, Actual: "it is not bound",
				Expected: "it is bound on host " + s.Host,
				Command: fmt.Sprintf("openstack server remove port %s %s && openstack server add port %s %s", s.UUID, p.UUID,
					s.UUID, p.UUID),
			})
		}
	})
}

func keyOfUnboundPort(x *records, r *report) {
	for i := range x.Network.Ports {
		p := &x.Network.Ports[i]
		if s := x.Servers[p.Device]; p.Host == "" && len(p.Allocation) > 0 && (s == nil || !s.Busy) {
			r.add(Finding{
				About: []Subject{portSubject(p)}, Actual: "it is not bound, and its binding profile names " + names(x, p),
				Expected: "no allocation in its binding profile",
				Command:  "openstack port unset --binding-profile allocation " + p.UUID,
			})
		}
	}
}

// names are the providers that a port names.
func names(x *records, p *cloud.Port) string {
	var list []string
	for _, uuid := range slices.Sorted(maps.Values(p.Allocation)) {
		list = append(list, x.providerSubject(uuid).String())
	}
	return strings.Join(list, ", ")
}

func boundWithoutKey(x *records, r *report) {
	x.boundPorts(func(p *cloud.Port, s *index.Server) {
		if index.HasRequest(p) && len(p.Allocation) == 0 && p.VIF != "binding_failed" && p.VIF != "unbound" {
			r.add(Finding{
				About:    []Subject{portSubject(p), serverSubject(s)},
				Actual:   "it is bound on host " + p.Host + ", and names no provider",
				Expected: "a provider that gives it " + requested(p),
				Command: fmt.Sprintf("openstack server remove port %s %s && openstack server add port %s %s", s.UUID, p.UUID,
					s.UUID, p.UUID),
			})
		}
	})
}

// requested describes what a port requests.
func requested(p *cloud.Port) string {
	sum := map[string]int64{}
	for _, g := range p.Request.Groups {
		for class, n := range g.Resources {
			sum[class] += n
		}
	}
	return index.FormatAmounts(sum)
}

// requestsHidden says that the service does not show what ports request: no port requests anything,
// and one has a policy that guarantees something.
func (x *records) requestsHidden() bool {
	guarantees := map[string]bool{}
	for _, q := range x.Network.Policies {
		for _, rule := range q.Rules {
			if rule.MinKbps > 0 || rule.MinKpps > 0 {
				guarantees[q.UUID] = true
			}
		}
	}
	hidden := false
	for i := range x.Network.Ports {
		p := &x.Network.Ports[i]
		if p.Request != nil {
			return false
		}
		policy := p.Policy
		if policy == "" {
			policy = p.NetworkPolicy
		}
		hidden = hidden || guarantees[policy]
	}
	return hidden
}

func keyWithoutRequest(x *records, r *report) {
	if x.requestsHidden() {
		r.addUnchecked("The network service did not show what ports request.")
		return
	}
	x.boundPorts(func(p *cloud.Port, s *index.Server) {
		if len(p.Allocation) > 0 && !index.HasRequest(p) {
			r.add(Finding{
				About:    []Subject{portSubject(p), serverSubject(s)},
				Actual:   "it requests nothing, and its binding profile names " + names(x, p),
				Expected: "no allocation in its binding profile",
				Command:  "openstack port unset --binding-profile allocation " + p.UUID,
			})
		}
	})
}

func keyGroupUnknown(x *records, r *report) {
	x.boundPorts(func(p *cloud.Port, s *index.Server) {
		if !index.HasRequest(p) {
			return
		}
		for _, id := range slices.Sorted(maps.Keys(p.Allocation)) {
			if id != "" && !slices.ContainsFunc(p.Request.Groups, func(g cloud.PortGroup) bool { return g.ID == id }) {
				r.add(Finding{
					About: []Subject{portSubject(p), serverSubject(s)}, Actual: "its binding profile has a provider for group " + id,
					Expected: "the groups that it requests: " + groupIDs(p), Command: "openstack port show " + p.UUID,
				})
			}
		}
	})
}

func groupIDs(p *cloud.Port) string {
	var ids []string
	for _, g := range p.Request.Groups {
		ids = append(ids, g.ID)
	}
	return strings.Join(ids, ", ")
}

func keyGroupMissing(x *records, r *report) {
	x.boundPorts(func(p *cloud.Port, s *index.Server) {
		if !index.HasRequest(p) || len(p.Allocation) == 0 {
			return
		}
		for id := range p.Allocation { // of a group under another id there is a finding already
			if id != "" && !slices.ContainsFunc(p.Request.Groups, func(g cloud.PortGroup) bool { return g.ID == id }) {
				return
			}
		}
		for _, g := range p.Request.Groups {
			if index.NamedProvider(p, g) == "" {
				r.add(Finding{
					About:    []Subject{portSubject(p), serverSubject(s)},
					Actual:   "its binding profile names no provider for " + groupName(g),
					Expected: "one that gives it " + index.FormatAmounts(g.Resources),
					Command: fmt.Sprintf("openstack server remove port %s %s && openstack server add port %s %s", s.UUID, p.UUID,
						s.UUID, p.UUID),
				})
			}
		}
	})
}

func keyFormatOld(x *records, r *report) {
	x.boundPorts(func(p *cloud.Port, s *index.Server) {
		if _, old := p.Allocation[""]; old && index.HasRequest(p) && p.Request.Groups[0].ID != "" {
			r.add(Finding{
				About:    []Subject{portSubject(p), serverSubject(s)},
				Actual:   "its binding profile names a provider without its group",
				Expected: "a provider for each of the groups " + groupIDs(p),
				Command:  "neutron-sanitize-port-binding-profile-allocation",
			})
		}
	})
}

func keyProviderMissing(x *records, r *report) {
	x.keyedGroups(func(p *cloud.Port, s *index.Server, g cloud.PortGroup, uuid string) {
		if x.ByUUID[uuid] == nil {
			r.add(Finding{
				About:    []Subject{portSubject(p), serverSubject(s), x.providerSubject(uuid)},
				Actual:   "its binding profile names provider " + uuid + ", which is not there",
				Expected: "a provider of host " + s.Host, Command: "openstack server migrate " + s.UUID,
			})
		}
	})
}

func keyProviderOfOtherHost(x *records, r *report) {
	x.keyedGroups(func(p *cloud.Port, s *index.Server, g cloud.PortGroup, uuid string) {
		if provider := x.ByUUID[uuid]; provider != nil && !index.Shares(provider) && x.RootOf(provider) != s.Root {
			r.add(Finding{
				About:    []Subject{portSubject(p), serverSubject(s), x.providerSubject(uuid)},
				Actual:   fmt.Sprintf("its binding profile names a provider of %s", x.RootOf(provider).Name),
				Expected: "a provider of " + s.Root.Name + ", on which it is bound", Command: "openstack server migrate " + s.UUID,
			})
		}
	})
}

// groupsOnOwnHost calls fn with those of keyedGroups whose provider is one of the server's host.
// Others have codes of their own.
func (x *records) groupsOnOwnHost(
	fn func(p *cloud.Port, s *index.Server, g cloud.PortGroup, provider *cloud.Provider),
) {
	x.keyedGroups(func(p *cloud.Port, s *index.Server, g cloud.PortGroup, uuid string) {
		if provider := x.ByUUID[uuid]; provider != nil && x.RootOf(provider) == s.Root {
			fn(p, s, g, provider)
		}
	})
}

func keyProviderLacksClass(x *records, r *report) {
	x.groupsOnOwnHost(func(p *cloud.Port, s *index.Server, g cloud.PortGroup, provider *cloud.Provider) {
		for _, class := range slices.Sorted(maps.Keys(g.Resources)) {
			_, has := provider.Inventories[class]
			if !has && s.Allocated(provider.UUID, class) == 0 {
				r.add(Finding{
					About:    []Subject{portSubject(p), serverSubject(s), x.providerSubject(provider.UUID)},
					Actual:   "its binding profile names a provider without an inventory of " + class,
					Expected: fmt.Sprintf("a provider that gives it %s %d", class, g.Resources[class]),
					Command:  "openstack server migrate " + s.UUID,
				})
			}
		}
	})
}

func keyProviderLacksTrait(x *records, r *report) {
	x.groupsOnOwnHost(func(p *cloud.Port, s *index.Server, g cloud.PortGroup, provider *cloud.Provider) {
		if _, reported := x.Reported[provider.UUID]; reported && physnetsDiffer(x, provider) {
			return // the provider has a finding
		}
		for _, trait := range g.Required {
			if !slices.Contains(provider.Traits, trait) {
				r.add(Finding{
					About:    []Subject{portSubject(p), serverSubject(s), x.providerSubject(provider.UUID)},
					Actual:   "its binding profile names a provider without the trait " + trait,
					Expected: "a provider with the traits " + strings.Join(g.Required, ", "),
					Command:  "openstack server migrate " + s.UUID,
				})
			}
		}
	})
}

// A shortfall is what a port of a server requests and the server does not hold.
type shortfall struct {
	port                 *cloud.Port
	provider             *cloud.Provider
	class                string
	allocated, requested int64
}

// shortfalls calls fn with what ports lack on the providers that they name. The ports of a server
// share what it holds in their order.
func (x *records) shortfalls(fn func(s *index.Server, l shortfall)) {
	type amountKey struct{ server, provider, class string }
	remaining := map[amountKey]int64{}
	x.groupsOnOwnHost(func(p *cloud.Port, s *index.Server, g cloud.PortGroup, provider *cloud.Provider) {
		if s.Consumer == nil || !slices.Contains(s.Trees, s.Root.UUID) {
			return
		}
		for _, class := range slices.Sorted(maps.Keys(g.Resources)) {
			n, key := g.Resources[class], amountKey{s.UUID, provider.UUID, class}
			if _, seen := remaining[key]; !seen {
				remaining[key] = s.Allocated(provider.UUID, class)
			}
			allocated := min(n, remaining[key])
			remaining[key] -= allocated
			if _, stock := provider.Inventories[class]; allocated < n && (stock || s.Allocated(provider.UUID, class) > 0) {
				fn(s, shortfall{p, provider, class, allocated, n})
			}
		}
	})
}

func keyNotAllocated(x *records, r *report) {
	x.shortfalls(func(s *index.Server, l shortfall) {
		if len(s.Consumer.Allocations[l.provider.UUID]) == 0 {
			r.addShortfall(x, s, l,
				fmt.Sprintf("its server has nothing allocated on the provider that it names, %s", l.provider.Name))
		}
	})
}

func portAmountMissing(x *records, r *report) {
	x.shortfalls(func(s *index.Server, l shortfall) {
		if len(s.Consumer.Allocations[l.provider.UUID]) > 0 {
			r.addShortfall(x, s, l,
				fmt.Sprintf("its server has allocated %s %d for it on %s", l.class, l.allocated, l.provider.Name))
		}
	})
}

func (r *report) addShortfall(x *records, s *index.Server, l shortfall, actual string) {
	r.add(Finding{
		About: []Subject{portSubject(l.port), serverSubject(s), x.providerSubject(l.provider.UUID)}, Actual: actual,
		Expected: fmt.Sprintf("%s %d, which it requests", l.class, l.requested),
		Command:  fmt.Sprintf("openstack resource provider allocation show %s", s.UUID),
	})
}

func portAmountSuperfluous(x *records, r *report) {
	named := map[string]map[string]map[string]int64{} // by server, provider and class
	// servers with a port whose amounts are not known to be of a provider
	unnamed := map[string]bool{}
	x.computePorts(func(p *cloud.Port, s *index.Server) {
		if s == nil {
			return
		}
		groups := []cloud.PortGroup(nil)
		if p.Request != nil {
			groups = p.Request.Groups
		}
		for _, g := range groups {
			uuid := index.NamedProvider(p, g)
			if uuid == "" || x.ByUUID[uuid] == nil || s.Root == nil || x.RootOf(x.ByUUID[uuid]) != s.Root || p.Host != s.Host {
				unnamed[s.UUID] = true
				continue
			}
			if named[s.UUID] == nil {
				named[s.UUID] = map[string]map[string]int64{}
			}
			if named[s.UUID][uuid] == nil {
				named[s.UUID][uuid] = map[string]int64{}
			}
			for class, n := range g.Resources {
				named[s.UUID][uuid][class] += n
			}
		}
		unnamed[s.UUID] = unnamed[s.UUID] || len(groups) == 0 && len(p.Allocation) > 0
	})
	hidden := x.requestsHidden()
	x.onOwnHost(func(s *index.Server) {
		if unnamed[s.UUID] {
			return // the port has a finding; what is allocated may be for it
		}
		if hidden {
			r.addUnchecked("The network service did not show what ports request.")
			return
		}
		own := map[string]int64{} // of the flavor, on any provider
		if request := s.FlavorRequest(); request.Err == nil {
			own = request.Amounts[0]
		} else if s.Flavor.Specs == nil {
			r.addUnchecked("The compute service did not show the extra specs of flavors.")
			return
		}
		eachAllocation(s.Consumer, func(uuid, class string, n int64) {
			if more := n - named[s.UUID][uuid][class] - own[class]; index.IsPortClass(class) && more > 0 &&
				x.TreeOf(uuid) == s.Root.UUID {
				r.add(Finding{
					About:    []Subject{serverSubject(s), x.providerSubject(uuid)},
					Actual:   fmt.Sprintf("it has allocated %s %d on %s", class, n, x.providerSubject(uuid).Name),
					Expected: fmt.Sprintf("%d, which its ports request there", n-more),
					Command:  "openstack resource provider allocation show " + s.UUID,
				})
			}
		})
	})
}

func requestTraitWithoutProvider(x *records, r *report) {
	has := map[string]bool{}
	for i := range x.Placement.Providers {
		for _, trait := range x.Placement.Providers[i].Traits {
			has[trait] = true
		}
	}
	for i := range x.Network.Ports {
		p := &x.Network.Ports[i]
		if !index.HasRequest(p) {
			continue
		}
		for _, g := range p.Request.Groups {
			for _, trait := range g.Required {
				if !has[trait] {
					r.add(Finding{
						About:  []Subject{portSubject(p)},
						Actual: "it requests a provider with the trait " + trait + ", and no provider has it",
						// what providers have
						Expected: "a provider with it, or no server can be started with the port",
						Command:  "openstack --os-placement-api-version 1.6 trait list --associated",
					})
				}
			}
		}
	}
}
