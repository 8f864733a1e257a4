package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// A Port is a port's resource_request, in either of its formats.
type Port struct {
	ID   string
	VNIC string // binding:vnic_type
	// Groups are its request groups; in the old format one whose ID is the port's.
	Groups []Group
	// SameSubtree are the ids of groups that belong below one provider.
	SameSubtree []string
	// NUMAPolicy is numa_affinity_policy, "" for none: where the port's device is to be.
	NUMAPolicy string `json:",omitempty"`
	// LegacyFormat says that it is in the format that was before groups.
	LegacyFormat bool `json:"Old"`
}

// A Group is what one provider must give to a port.
type Group struct {
	ID        string
	Resources map[string]int64
	Required  []string // traits, all of them
	AnyOf     []string // traits, one of them at least; nil for no such choice
}

// deviceVNICs are the types of ports that are a device of the host.
var deviceVNICs = []string{"direct", "direct-physical", "macvtap"}

// affinity refuses ports with the policy socket for their devices while no host can keep it.
func affinity(ports []Port, settings Settings) error {
	for _, p := range ports {
		if slices.Contains(deviceVNICs, p.VNIC) && p.NUMAPolicy == "socket" && settings.NoSocketAffinity {
			return &NoValidHost{Details: []string{fmt.Sprintf("port %s has the NUMA affinity policy %s: no host reports "+
				TraitSocketAffinity+", that it can keep it", p.ID, p.NUMAPolicy)}}
		}
	}
	return nil
}

// empty reports whether the group requests no resources. Placement refuses groups of traits alone,
// and a port without a request has no such group.
func (g Group) empty() bool {
	for _, n := range g.Resources {
		if n > 0 {
			return false
		}
	}
	return true
}

// Mappings are the providers that serve each group of a candidate, by suffix.
type Mappings map[string][]placement.UUID

// Binding returns the allocation for a port's binding:profile, empty for a port without a request.
// It is an error when the mappings do not have one provider for each group of the port.
func (p Port) Binding(m Mappings) (guarantee.ProfileAllocation, error) {
	var a guarantee.ProfileAllocation
	for _, g := range p.Groups {
		if g.empty() {
			continue
		}
		provider, err := m.one(g.ID)
		if err != nil {
			return a, fmt.Errorf("port %s: %w", p.ID, err)
		}
		if p.LegacyFormat {
			return guarantee.ProfileAllocation{Old: provider}, nil
		}
		group, err := guarantee.ParseUUID(g.ID)
		if err != nil {
			return a, fmt.Errorf("port %s: its group: %w", p.ID, err)
		}
		if a.Groups == nil {
			a.Groups = map[guarantee.UUID]guarantee.UUID{}
		}
		a.Groups[group] = provider
	}
	return a, nil
}

// one returns the only provider of a group.
func (m Mappings) one(suffix string) (guarantee.UUID, error) {
	if n := len(m[suffix]); n != 1 {
		return guarantee.UUID{}, fmt.Errorf("group %s is served by %d providers, not by one", suffix, n)
	}
	return guarantee.ParseUUID(string(m[suffix][0]))
}

// bandwidth is what the classes of bandwidth begin with.
const bandwidth = "NET_BW_"

// Device returns the provider of the port's bandwidth, and whether there is one. A
// virtual function for the port has to come from the device that this is.
func (p Port) Device(m Mappings) (placement.UUID, bool) {
	for _, g := range p.Groups {
		for class, n := range g.Resources {
			if n > 0 && strings.HasPrefix(class, bandwidth) && len(m[g.ID]) == 1 {
				return m[g.ID][0], true
			}
		}
	}
	return "", false
}

// Bindings returns Binding of each port with a request, by port.
func (r Request) Bindings(m Mappings) (map[string]guarantee.ProfileAllocation, error) {
	all := map[string]guarantee.ProfileAllocation{}
	for _, p := range r.ports {
		a, err := p.Binding(m)
		if err != nil {
			return nil, err
		}
		if !a.Empty() {
			all[p.ID] = a
		}
	}
	return all, nil
}
