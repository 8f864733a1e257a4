package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

func hypervisorWithoutProvider(x *records, r *report) {
	for i := range x.Compute.Hypervisors {
		h := &x.Compute.Hypervisors[i]
		if x.ByUUID[h.UUID] == nil && x.ByName[h.Hostname] == nil {
			r.add(Finding{
				About:  []Subject{hostSubject(h), {Kind: "provider", ID: h.UUID}},
				Actual: "placement has no provider of the compute node", Expected: "one with its UUID " + h.UUID,
				Command: "openstack compute service list --host " + h.Host,
			})
		}
	}
}

func hypervisorUUIDDiffers(x *records, r *report) {
	for i := range x.Compute.Hypervisors {
		h := &x.Compute.Hypervisors[i]
		if p := x.ByName[h.Hostname]; x.ByUUID[h.UUID] == nil && p != nil {
			r.add(Finding{
				About:    []Subject{hostSubject(h), x.providerSubject(p.UUID)},
				Actual:   fmt.Sprintf("the provider with its name has the UUID %s", p.UUID),
				Expected: h.UUID + ", the UUID of the compute node",
				Command:  "openstack resource provider show --allocations " + p.UUID,
			})
		}
	}
}

func hypervisorNameDiffers(x *records, r *report) {
	for i := range x.Compute.Hypervisors {
		h := &x.Compute.Hypervisors[i]
		if p := x.ByUUID[h.UUID]; p != nil && p.Name != h.Hostname {
			r.add(Finding{
				About: []Subject{hostSubject(h), x.providerSubject(p.UUID)}, Actual: "its provider has the name " + p.Name,
				Expected: h.Hostname,
				Command:  "openstack hypervisor show " + h.Hostname,
			})
		}
	}
}

func providerOfDeletedHost(x *records, r *report) {
	for p := range x.Roots() {
		if index.IsHost(p) && x.HypervisorOf(p) == nil {
			r.add(Finding{
				About: []Subject{x.providerSubject(p.UUID)}, Actual: fmt.Sprintf(
					"no compute node has its UUID or its name; %s is allocated of it", index.FormatAmounts(x.SubtreeUsage(p))),
				Expected: "a compute node", Command: "openstack resource provider show --allocations " + p.UUID,
			})
		}
	}
}

func hostWithoutService(x *records, r *report) {
	for i := range x.Compute.Hypervisors {
		h := &x.Compute.Hypervisors[i]
		if x.Services[h.Host] == nil {
			r.add(Finding{
				About: []Subject{hostSubject(h), x.providerSubject(h.UUID)}, Actual: "no compute service is on its host",
				Expected: "a service, or no compute node and no provider",
				Command:  "openstack compute service list --host " + h.Host,
			})
		}
	}
}

func namesAlike(x *records, r *report) {
	// A name and its short form are next to each other among those with one first label.
	byLabel := map[string][]*cloud.Provider{}
	for p := range x.Roots() {
		label, _, _ := strings.Cut(strings.ToLower(p.Name), ".")
		for _, other := range byLabel[label] {
			if alike(other.Name, p.Name) {
				r.add(Finding{
					About:    []Subject{x.providerSubject(p.UUID), x.providerSubject(other.UUID)},
					Actual:   fmt.Sprintf("the names %s and %s may be of one host", other.Name, p.Name),
					Expected: "one provider for a host", Command: "openstack hypervisor list",
				})
			}
		}
		byLabel[label] = append(byLabel[label], p)
	}
}

func disabledTraitMissing(x *records, r *report) {
	x.nodes(func(h *cloud.Hypervisor, s *cloud.Service, p *cloud.Provider) {
		if s.Status == "disabled" && !slices.Contains(p.Traits, index.DisabledTrait) {
			r.add(Finding{
				About:    []Subject{hostSubject(h), x.providerSubject(p.UUID)},
				Actual:   "its service is disabled, and its provider does not have the trait " + index.DisabledTrait,
				Expected: "the trait, so that placement offers no candidates there",
				Command:  fmt.Sprintf("openstack --os-placement-api-version 1.6 resource provider trait list %s", p.UUID),
			})
		}
	})
}

func disabledTraitSuperfluous(x *records, r *report) {
	x.nodes(func(h *cloud.Hypervisor, s *cloud.Service, p *cloud.Provider) {
		if s.Status == "enabled" && slices.Contains(p.Traits, index.DisabledTrait) {
			r.add(Finding{
				About:    []Subject{hostSubject(h), x.providerSubject(p.UUID)},
				Actual:   "its service is enabled, and its provider has the trait " + index.DisabledTrait,
				Expected: "no such trait: no server is started there",
				Command:  fmt.Sprintf("openstack --os-placement-api-version 1.6 resource provider trait list %s", p.UUID),
			})
		}
	})
}

// ownerTraitMissing finds what Nova's scheduler will not take any more: it requires the trait of
// hosts and of PCI devices once the last compute service that does not set it is upgraded. A
// placement service of before has no such trait, and nobody can set it.
func ownerTraitMissing(x *records, r *report) {
	if all := x.Placement.Traits; len(all) > 0 && !slices.Contains(all, index.OwnerNova) {
		return
	}
	_, others := index.Owned(x.Cloud)
	for _, p := range others {
		r.add(Finding{
			About: []Subject{x.providerSubject(p.UUID)}, Actual: "it does not have the trait " + index.OwnerNova,
			Expected: "the trait, which compute services set since Nova 2026.2",
			Command:  fmt.Sprintf("openstack --os-placement-api-version 1.6 resource provider trait list %s", p.UUID),
		})
	}
}

// nodes calls fn with the compute nodes that have a service and a provider.
func (x *records) nodes(fn func(h *cloud.Hypervisor, s *cloud.Service, p *cloud.Provider)) {
	for i := range x.Compute.Hypervisors {
		h := &x.Compute.Hypervisors[i]
		if s, p := x.Services[h.Host], x.HostRoot(h.Host, h.Hostname); s != nil && p != nil {
			fn(h, s, p)
		}
	}
}

// Host aggregates.

func aggregateSubject(a *cloud.Aggregate) Subject {
	return Subject{Kind: "aggregate", ID: a.UUID, Name: a.Name}
}

// members calls fn with the members of host aggregates that have a provider.
func (x *records) members(fn func(a *cloud.Aggregate, host string, p *cloud.Provider)) {
	for i := range x.Compute.Aggregates {
		a := &x.Compute.Aggregates[i]
		for _, host := range a.Hosts {
			for _, h := range x.Hypervisors[host] {
				if p := x.HostRoot(h.Host, h.Hostname); p != nil {
					fn(a, host, p)
				}
			}
		}
	}
}

func aggregateMirrorMissing(x *records, r *report) {
	x.members(func(a *cloud.Aggregate, host string, p *cloud.Provider) {
		if !slices.Contains(p.Aggregates, a.UUID) {
			r.add(Finding{
				About:    []Subject{aggregateSubject(a), x.providerSubject(p.UUID)},
				Actual:   fmt.Sprintf("host %s is a member, and its provider is not", host),
				Expected: "the same members in placement",
				Command:  fmt.Sprintf("openstack resource provider aggregate list %s", p.UUID),
			})
		}
	})
}

func aggregateMirrorSuperfluous(x *records, r *report) {
	for i := range x.Compute.Aggregates {
		a := &x.Compute.Aggregates[i]
		for p := range x.Roots() {
			h := x.HypervisorOf(p)
			if h != nil && slices.Contains(p.Aggregates, a.UUID) && !slices.Contains(a.Hosts, h.Host) {
				others := slices.DeleteFunc(slices.Clone(p.Aggregates), func(uuid string) bool { return uuid == a.UUID })
				for k := range others {
					others[k] = " --aggregate " + others[k]
				}
				r.add(Finding{
					About:    []Subject{aggregateSubject(a), x.providerSubject(p.UUID)},
					Actual:   fmt.Sprintf("provider %s is a member, and host %s is not", p.Name, h.Host),
					Expected: "the same members in placement",
					Command: fmt.Sprintf(
						"openstack --os-placement-api-version 1.19 resource provider aggregate set --generation %d%s %s", p.Generation,
						strings.Join(others, ""), p.UUID),
				})
			}
		}
	}
}

func aggregateHostUnknown(x *records, r *report) {
	for i := range x.Compute.Aggregates {
		a := &x.Compute.Aggregates[i]
		for _, host := range a.Hosts {
			if len(x.Hypervisors[host]) == 0 {
				command := fmt.Sprintf("openstack aggregate remove host %d %s", a.ID, host)
				if x.Services[host] == nil { // Nova answers 404
					command = fmt.Sprintf("openstack aggregate show %d", a.ID)
				}
				r.add(Finding{
					About:    []Subject{aggregateSubject(a), {Kind: "host", ID: host}},
					Actual:   fmt.Sprintf("host %s is a member, and is not a compute node", host),
					Expected: "members that are compute nodes",
					Command:  command,
				})
			}
		}
	}
}

// ratioKeys are the keys of the metadata with which host aggregates set ratios, where Nova reads
// them.
var ratioKeys = []struct{ key, class string }{
	{"cpu_allocation_ratio", "VCPU"}, {"ram_allocation_ratio", "MEMORY_MB"}, {"disk_allocation_ratio", "DISK_GB"},
}

func aggregateRatioDiffers(x *records, r *report) {
	x.members(func(a *cloud.Aggregate, host string, p *cloud.Provider) {
		for _, k := range ratioKeys {
			ratio, err := strconv.ParseFloat(a.Metadata[k.key], 64)
			i, has := p.Inventories[k.class]
			if err == nil && has && i.AllocationRatio != ratio {
				r.add(Finding{
					About:    []Subject{aggregateSubject(a), x.providerSubject(p.UUID)},
					Actual:   fmt.Sprintf("the allocation ratio of %s is %g on %s", k.class, i.AllocationRatio, p.Name),
					Expected: fmt.Sprintf("%g, which the aggregate's metadata say (%s)", ratio, k.key),
					Command: fmt.Sprintf("openstack resource provider inventory set --amend --resource %s:allocation_ratio=%g %s",
						k.class, ratio, p.UUID),
				})
			}
		}
	})
}

func ratiosDifferInAggregate(x *records, r *report) {
	type first struct {
		host  string
		ratio float64
	}
	seen, reported := map[string]first{}, map[string]bool{}
	x.members(func(a *cloud.Aggregate, host string, p *cloud.Provider) {
		for _, class := range index.FlavorClasses {
			i, has := p.Inventories[class]
			if !has {
				continue
			}
			key := a.UUID + class
			other, ok := seen[key]
			if !ok {
				seen[key] = first{host, i.AllocationRatio}
			} else if other.ratio != i.AllocationRatio && !reported[key] {
				reported[key] = true
				r.add(Finding{
					About: []Subject{aggregateSubject(a), x.providerSubject(p.UUID)}, Actual: fmt.Sprintf(
						"the allocation ratio of %s is %g on host %s and %g on host %s", class, other.ratio, other.host,
						i.AllocationRatio, host),
					Expected: "one ratio for all hosts of the aggregate",
					Command:  "openstack resource provider inventory list " + p.UUID,
				})
			}
		}
	})
}

func sharingWithoutAggregate(x *records, r *report) {
	for i := range x.Placement.Providers {
		if p := &x.Placement.Providers[i]; index.Shares(p) && len(p.Aggregates) == 0 {
			r.add(Finding{
				About:    []Subject{x.providerSubject(p.UUID)},
				Actual:   "it has the trait MISC_SHARES_VIA_AGGREGATE and is in no aggregate",
				Expected: "an aggregate whose members use it",
				Command:  "openstack --os-placement-api-version 1.19 resource provider aggregate list " + p.UUID,
			})
		}
	}
}

func sharingAggregateEmpty(x *records, r *report) {
	members := map[string]int{} // that do not share
	for i := range x.Placement.Providers {
		if p := &x.Placement.Providers[i]; !index.Shares(p) {
			for _, a := range p.Aggregates {
				members[a]++
			}
		}
	}
	for i := range x.Placement.Providers {
		p := &x.Placement.Providers[i]
		if index.Shares(p) && len(p.Aggregates) > 0 &&
			!slices.ContainsFunc(p.Aggregates, func(a string) bool { return members[a] > 0 }) {
			r.add(Finding{
				About: []Subject{x.providerSubject(p.UUID)}, Actual: "no provider is in the aggregates through which it shares",
				Expected: "hosts that use it",
				Command:  "openstack --os-placement-api-version 1.19 resource provider aggregate list " + p.UUID,
			})
		}
	}
}
