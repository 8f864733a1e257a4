package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
)

// Pages that say how something is done.
const (
	slurpPage  = "https://docs.openstack.org/project-team-guide/release-cadence-adjustment.html"
	rbacPage   = "https://docs.openstack.org/nova/latest/configuration/policy-concepts.html"
	pciPage    = "https://docs.openstack.org/nova/latest/admin/pci-passthrough.html"
	sevPage    = "https://docs.openstack.org/nova/latest/admin/sev.html"
	vgpuPage   = "https://docs.openstack.org/nova/latest/admin/virtual-gpu.html"
	bridgePage = "https://docs.openstack.org/neutron/latest/ovn/migration.html"
	novaPage   = "https://docs.openstack.org/nova/latest/configuration/config.html"
)

// path checks that the release can be reached in one step. Releases that are in between are named.
func path(x *run, r *findings) {
	switch {
	case !x.known:
		r.unknown("The version of the compute service is not known: the checks are those of all releases since %s.", x.from)
	case x.To <= x.from:
		r.ok("Nova is of %s already", x.from)
	case request.Direct(x.from, x.To):
		r.ok("from %s to %s in one step", x.from, x.To)
	default:
		var steps []string
		for at := x.from; at < x.To; {
			next := at + 1
			if request.Direct(at, at+2) && at+2 <= x.To {
				next = at + 2
			}
			if at = next; at < x.To {
				steps = append(steps, at.String())
			}
		}
		r.required(slurpPage,
			"from %s to %s by way of %s: every compute service has to be of each of these before the next", x.from, x.To,
			strings.Join(steps, " and "))
	}
}

func oldServices(x *run, r *findings) {
	for _, s := range x.index.Compute.Services {
		switch {
		case s.Binary != "nova-compute":
		case s.ForcedDown:
			r.required("openstack compute service delete "+s.ID, "%s on %s is forced down: upgrade it, or delete it where the "+
				"host is gone for good", s.Binary, s.Host)
		case s.State != "up":
			r.required("openstack compute service delete "+s.ID, "%s on %s is %s: upgrade it, or delete it where the host is "+
				"gone for good", s.Binary, s.Host, s.State)
		}
	}
}

// reported are traits that nova-compute reports from a release on.
var reported = []struct {
	trait string
	since request.Release
}{
	{"COMPUTE_NET_VIRTIO_PACKED", request.Caracal},
	{"COMPUTE_ADDRESS_SPACE_EMULATED", request.Caracal},
	{"COMPUTE_ADDRESS_SPACE_PASSTHROUGH", request.Caracal},
	{"COMPUTE_SECURITY_TPM_TIS", request.Dalmatian},
	{"COMPUTE_SECURITY_TPM_CRB", request.Dalmatian},
	{"COMPUTE_SECURITY_STATELESS_FIRMWARE", request.Dalmatian},
	{"COMPUTE_SOUND_MODEL_VIRTIO", request.Epoxy},
	{"HW_CPU_X86_AMD_SEV_ES", request.Flamingo},
	{"HW_PCI_ONE_TIME_USE", request.Flamingo},
	{request.TraitTPMSecret + "USER", request.Gazpacho},
	{index.OwnerNova, request.Hibiscus},
	{"HW_PCI_LIVE_MIGRATABLE", request.Hibiscus},
}

func knownTraits(x *run, r *findings) {
	if x.index.Placement.Traits == nil {
		r.unknown("The traits that placement knows were not read.")
		return
	}
	for _, t := range reported {
		if t.since > x.from && t.since <= x.To && !slices.Contains(x.index.Placement.Traits, t.trait) {
			r.required("openstack --os-placement-api-version 1.39 trait list",
				"placement does not know %s, which hosts of %s report", t.trait, t.since)
		}
	}
}

func initialRatios(x *run, r *findings) {
	old := map[string]float64{"VCPU": 16, "MEMORY_MB": 1.5}
	var names []string
	for p := range x.index.Roots() {
		if x.index.HypervisorOf(p) == nil {
			continue
		}
		for class, ratio := range old {
			if inventory, ok := p.Inventories[class]; ok && inventory.AllocationRatio == ratio {
				names = append(names, p.Name)
				break
			}
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		r.changes(novaPage+"#DEFAULT.initial_cpu_allocation_ratio",
			"%s with a ratio of 16.0 for VCPU or 1.5 for MEMORY_MB: %s", count(len(names), "host"), list(names))
	}
}

// zones checks the aggregates with zones by the rules of audit about all aggregates.
func zones(x *run, r *findings) {
	if x.Settings != nil && !x.Requests.Zones {
		r.changes(novaPage+"#scheduler", "nova.conf has query_placement_for_availability_zone off, which has no effect from "+
			"2023.2 on")
	}
	zoned := map[string]bool{}
	for _, a := range x.index.Compute.Aggregates {
		if a.Metadata["availability_zone"] != "" || a.Zone != "" {
			zoned[a.UUID] = true
		}
	}
	found := audit.Check(x.index, audit.Options{
		Codes: []audit.Code{audit.AggregateMirrorMissing, audit.AggregateMirrorSuperfluous, audit.AggregateHostUnknown},
		Heals: heal.Heals,
	})
	for _, f := range found.Findings {
		if slices.ContainsFunc(f.About, func(s audit.Subject) bool { return zoned[s.ID] }) {
			r.required(f.Command, "%s: %s; expected: %s", f.About[0], f.Actual, f.Expected)
		}
	}
}

// encryptionContexts are the encrypted guests that a host has room for.
const encryptionContexts = "MEM_ENCRYPTION_CONTEXT"

// encrypting are the hosts whose own provider has encryptionContexts.
func (x *run) encrypting() (hosts []*cloud.Provider) {
	for p := range x.index.Roots() {
		if _, ok := p.Inventories[encryptionContexts]; ok {
			hosts = append(hosts, p)
		}
	}
	return hosts
}

func memoryEncryption(x *run, r *findings) {
	for _, p := range x.encrypting() {
		servers := 0
		for _, c := range x.index.Placement.Consumers {
			if c.Allocations[p.UUID][encryptionContexts] > 0 {
				servers++
			}
		}
		allocated := "nothing of it is allocated"
		if n := int(p.Usages[encryptionContexts]); n > 0 {
			allocated = fmt.Sprintf("allocated: %s, by %s", count(n, "unit"), count(servers, "consumer"))
		}
		r.changes(sevPage, "%s: %s is reshaped to %s_amd_sev; %s", p.Name, encryptionContexts, p.Name, allocated)
	}
}

// vgpuGroups finds flavors with VGPUs in several groups by the query of Nova.
func vgpuGroups(x *run, r *findings) {
	if x.Flavors == nil && x.Cloud.Compute == nil {
		r.unknown("The records of the compute service were not read.")
		return
	}
	for _, f := range x.flavors() {
		q, err := x.query(f, x.To, nil)
		if err != nil {
			continue // Nova refuses it before and after
		}
		groups := 0
		for _, g := range q.Groups {
			for _, amount := range g.Resources {
				if amount.Class == "VGPU" && amount.Amount > 0 {
					groups++
				}
			}
		}
		if groups < 2 {
			continue
		}
		var servers []string
		for _, s := range x.index.Compute.Servers {
			if s.Flavor.Name == f.Name {
				servers = append(servers, s.UUID)
			}
		}
		text := ""
		if len(servers) > 0 {
			text = "; rebuild or resize what is to have all of its devices: " + list(servers)
		}
		r.changes(vgpuPage, "flavor %s has VGPUs in %d groups, and %s%s", f.Name, groups, count(len(servers), "server"), text)
	}
	x.unlisted(r)
}

// ownerTrait says of which hosts Nova will require the trait, and which roots with CPUs or memory
// are none of Nova's.
func ownerTrait(x *run, r *findings) {
	nodes := 0
	var services []string
	for _, s := range x.index.Compute.Services {
		if s.Binary == "nova-compute" && (s.ForcedDown || s.State != "up") {
			services = append(services, s.Host)
		}
	}
	for i := range x.index.Placement.Providers {
		p := &x.index.Placement.Providers[i]
		if p.Parent != "" {
			continue
		}
		if x.index.HypervisorOf(p) != nil {
			nodes++
			continue
		}
		if hasServers(p) && !index.Shares(p) {
			r.changes("berth records tree "+p.Name, "%s has VCPU, PCPU or MEMORY_MB and is no compute node: Nova does not take "+
				"it unless it gets OWNER_NOVA", p.Name)
		}
	}
	if nodes == 0 {
		return
	}
	r.changes("berth audit --code owner-trait-missing", "%s: after the upgrade audit names those that lack it",
		count(nodes, "compute node"))
	if len(services) > 0 {
		r.changes("openstack compute service list", "Nova does not require it as long as one of these services is not "+
			"upgraded: %s", list(services))
	}
}

// hasServers reports whether a provider has what servers run on.
func hasServers(p *cloud.Provider) bool {
	for _, class := range []string{"VCPU", "PCPU", "MEMORY_MB"} {
		if _, ok := p.Inventories[class]; ok {
			return true
		}
	}
	return false
}

func bridgeAgents(x *run, r *findings) {
	for _, a := range x.index.Network.Agents {
		if a.Binary == "neutron-linuxbridge-agent" || a.Type == "Linux bridge agent" {
			r.required(bridgePage, "the %s on %s", a.Type, a.Host)
		}
	}
}

func bridgePorts(x *run, r *findings) {
	byHost := map[string]int{}
	var hosts []string
	for _, p := range x.index.Network.Ports {
		if p.VIF != "bridge" {
			continue
		}
		if byHost[p.Host]++; byHost[p.Host] == 1 {
			hosts = append(hosts, p.Host)
		}
	}
	slices.Sort(hosts)
	for _, host := range hosts {
		r.required(bridgePage, "%s on %s with the VIF type bridge", count(byHost[host], "port"), host)
	}
}
