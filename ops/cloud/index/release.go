package index

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/cloud"
)

// releases has the oldest release of Nova with each newest microversion
// (nova/api/openstack/compute/rest_api_version_history.rst). 2.95, 2.96 and 2.100 are those of two
// releases each.
var releases = []struct {
	version string
	oldest  request.Release
}{
	{"2.104", request.Hibiscus},
	{"2.103", request.Gazpacho},
	{"2.100", request.Epoxy},
	{"2.96", request.Caracal},
	{"2.95", request.Antelope},
	{"2.1", request.Zed},
}

// signs are traits that only hosts of a release and newer ones have. They tell releases with the
// same microversion apart, and are all that there is where the version was not read.
var signs = []struct {
	prefix string
	since  request.Release
}{
	{"COMPUTE_NET_VIRTIO_PACKED", request.Caracal},
	{"COMPUTE_ADDRESS_SPACE_", request.Caracal},
	{"COMPUTE_SECURITY_TPM_TIS", request.Dalmatian},
	{"COMPUTE_SECURITY_TPM_CRB", request.Dalmatian},
	{"COMPUTE_SECURITY_STATELESS_FIRMWARE", request.Dalmatian},
	{"COMPUTE_SOUND_MODEL_", request.Epoxy},
	{"HW_PCI_ONE_TIME_USE", request.Flamingo},
	{request.TraitTPMSecret, request.Gazpacho},
	{OwnerNova, request.Hibiscus},
}

// OwnerNova is the trait of the providers that are Nova's, since 2026.2.
const OwnerNova = "OWNER_NOVA"

// Release returns the release whose queries a cloud's Nova sends: the oldest one that has the
// newest microversion of its API, and what its hosts report. Hosts are not newer than the API of
// Nova; those of Berth's builds with Zed's microversions are, which send the queries of the newest.
// Known is false when the version was not read.
func Release(c *cloud.Cloud) (release request.Release, known bool) {
	release = request.Zed
	if c.Compute != nil {
		release, known = ofVersion(c.Compute.Version)
	}
	if c.Placement != nil {
		byTrait := map[string]request.Release{}
		for i := range c.Placement.Providers {
			release = max(release, reported(&c.Placement.Providers[i], byTrait))
		}
	}
	return release, known
}

func ofVersion(text string) (release request.Release, known bool) {
	version, err := microversion.Parse(text)
	if err != nil {
		return request.Zed, false
	}
	for _, r := range releases {
		if since, err := microversion.Parse(r.version); err == nil && version.Compare(since) >= 0 {
			return r.oldest, true
		}
	}
	return request.Zed, true
}

// words are extra specs that no release before has: Nova's API refuses a flavor with them.
var words = map[string]request.Release{
	"hw:virtio_packed_ring": request.Caracal, "hw:sound_model": request.Epoxy, "hw:mem_encryption_model": request.Flamingo,
	"hw:tpm_secret_security": request.Gazpacho,
}

// ReleaseFor returns the release whose query Nova sends for a flavor, in a cloud of a release that
// [Release] has returned: where the version was not read, one that has the flavor's extra specs.
func ReleaseFor(c *cloud.Cloud, release request.Release, f *cloud.Flavor) request.Release {
	if c.Compute != nil && c.Compute.Version != "" {
		return release
	}
	for name, since := range words {
		if _, ok := f.Specs[name]; ok {
			release = max(release, since)
		}
	}
	return release
}

// Owned returns whether Nova requires OWNER_NOVA of hosts: from 2026.2 on, once every nova-compute
// has version 73. The API does not show these versions. They report the trait, so that it is
// required where every compute node's provider has it. Others are those that lack it, and Nova's
// providers of PCI devices that do.
func Owned(c *cloud.Cloud) (required bool, others []*cloud.Provider) {
	if c.Compute == nil || c.Placement == nil {
		return false, nil
	}
	if release, _ := ofVersion(c.Compute.Version); release < request.Hibiscus {
		return false, nil
	}
	nodes := make(map[string]bool, len(c.Compute.Hypervisors))
	for _, h := range c.Compute.Hypervisors {
		nodes[h.UUID] = true
	}
	found := false
	for i := range c.Placement.Providers {
		switch p := &c.Placement.Providers[i]; {
		case !nodes[p.UUID] && !(nodes[p.Root] && slices.Contains(p.Traits, ManagedPCI)):
		case slices.Contains(p.Traits, OwnerNova):
			found = found || nodes[p.UUID]
		default:
			others = append(others, p)
		}
	}
	return found && !slices.ContainsFunc(others, func(p *cloud.Provider) bool { return nodes[p.UUID] }), others
}

// NUMA returns whether any host has its NUMA nodes as providers, and whether any has no servers
// with a NUMA topology. Berth's hosts may; Nova's do neither.
func NUMA(c *cloud.Cloud) (nodes, excluded bool) {
	if c.Placement == nil {
		return false, false
	}
	for i := range c.Placement.Providers {
		p := &c.Placement.Providers[i]
		nodes = nodes || p.Parent != "" && slices.Contains(p.Traits, request.TraitNUMARoot)
		excluded = excluded || p.Parent == "" && slices.Contains(p.Traits, request.TraitNonNUMA)
	}
	return nodes, excluded
}

// ManagedPCI is the trait of Nova's providers of PCI devices.
const ManagedPCI = "COMPUTE_MANAGED_PCI_DEVICE"

// reported returns the oldest release whose hosts report a provider like this one. ByTrait has the
// releases of traits that were seen before.
func reported(p *cloud.Provider, byTrait map[string]request.Release) (release request.Release) {
	for _, trait := range p.Traits {
		since, seen := byTrait[trait]
		if !seen {
			for _, s := range signs {
				if strings.HasPrefix(trait, s.prefix) {
					since = s.since
				}
			}
			byTrait[trait] = since
		}
		release = max(release, since)
	}
	// Before 2025.2 the contexts were the root's.
	if _, ok := p.Inventories["MEM_ENCRYPTION_CONTEXT"]; ok && p.Parent != "" {
		release = max(release, request.Flamingo)
	}
	return release
}
