// Package inventory computes what placement should know of a compute host: from the host's report
// and the tree in placement it derives the providers to create, change and remove. A Plan is
// arithmetic; Sync carries it out.
//
// The rules are those of Nova's compute agent: its own inventories and traits are set to the
// reported state, and what operators and other services have added stays.
//
// An inventory with allocations whose device or class is removed remains, fully reserved, and is
// subtracted from the device that replaces it. A concurrent claim changes a generation, and the
// plan is made again. The plan is in plan.go, the sync in sync.go; package providertree has what
// does not depend on whose tree it is.
package inventory

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// The resource classes of a host.
const (
	VCPU     = "VCPU"
	PCPU     = "PCPU"
	MemoryMB = "MEMORY_MB"
	DiskGB   = "DISK_GB"
)

// The traits of a host that say what it is.
const (
	TraitComputeNode = "COMPUTE_NODE"
	TraitDisabled    = "COMPUTE_STATUS_DISABLED"
	TraitPCIDevice   = "COMPUTE_MANAGED_PCI_DEVICE"
	// TraitSocketAffinity is of a host that can keep the PCI NUMA affinity policy socket.
	TraitSocketAffinity = "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"
	// TraitOneTimeUse is of a device that one server gets: what of it was allocated stays reserved
	// until an operator changes that.
	TraitOneTimeUse = "HW_PCI_ONE_TIME_USE"
	// TraitRemoved marks a provider below the host of which Berth has reserved the remainder,
	// because the device, or the class that it had, was removed while it has allocations.
	TraitRemoved = "CUSTOM_BERTH_REMOVED"
)

// ImageTypes returns the traits of a host that supports images of every disk format except the
// excluded ones: names of Glance's, as in Nova's [compute] image_type_exclude_list.
func ImageTypes(out []string) (all []string) {
	const prefix = "COMPUTE_IMAGE_TYPE_"
	for _, name := range placement.StandardTraits {
		if format, ok := strings.CutPrefix(name, prefix); ok && !slices.Contains(out, strings.ToLower(format)) {
			all = append(all, name)
		}
	}
	return all
}

// A Host is the inventory in a compute host's report. In JSON it is the part of reports besides the
// compute node.
type Host struct {
	ID   guarantee.UUID `json:"-"` // of the compute node, and of its provider
	Name string         `json:"-"` // hypervisor hostname, and the provider's name

	VCPU     Amount `json:"vcpu"`
	PCPU     Amount `json:"pcpu"`
	MemoryMB Amount `json:"memory_mb"`
	DiskGB   Amount `json:"disk_gb"`

	// Traits are what the host can do: COMPUTE_… and HW_CPU_….
	Traits []string `json:"traits"`
	// KnowsCPU says that Traits has all HW_CPU_… traits. Else those that placement
	// has stay.
	KnowsCPU bool `json:"knows_cpu"`
	// Disabled says that an administrator has disabled its service.
	Disabled bool `json:"-"`

	// Nodes are the NUMA nodes of a host that reports them: they have its CPUs and its memory, and the
	// root has none. Nil for others.
	Nodes []Node `json:"numa_nodes,omitempty"`

	Devices []Device `json:"devices,omitempty"`
	// PCI says whether the host has providers of its PCI devices; nil: it does not say.
	PCI        *bool        `json:"pci_in_placement,omitempty"`
	Additional []Additional `json:"additional,omitempty"`

	// Starting says that the host starts: what its servers have, and placement does not know, is
	// allocated to them.
	Starting bool `json:"-"`
	// Added is what earlier syncs have added by the files of then.
	Added Additions `json:"-"`

	// Units are the units of devices that the host's servers have, by server. Nil: the host does not
	// know.
	Units map[string][]Unit `json:"units,omitzero"`
	// Consumers are what the compute service knows of the consumers of Tree.Allocations, by UUID:
	// servers and migrations.
	Consumers map[string]Consumer `json:"-"`
}

// A Unit is units of a device that a server has.
type Unit struct {
	Device string `json:"device"` // its Suffix
	Class  string `json:"resource_class"`
	Count  int64  `json:"count"`
	// Addresses are those of PCI devices, as the compute service has assigned them; hosts do not
	// report them.
	Addresses []string `json:"-"`
}

// A Consumer is a server on the host, or a migration from it.
type Consumer struct {
	Label string // for messages: "server 5e57b85f-… (db1)"
	// Server is the server of which the host reports the units of a migration, "" for none: the host
	// reports what a server has now.
	Server string
	// CPUs are those of its flavor; a server that is resized has two.
	CPUs []CPUs
	// Topologies are the NUMA topologies of its flavor, a list of cells each, for flavors that have
	// one.
	Topologies [][]Cell
	// Units are the units of devices that the compute service has assigned it on the host. What the
	// host itself reports of a server wins.
	Units []Unit
	// Devices are how many PCI devices of each class its flavor requests; nil when that is not known,
	// or it is being moved.
	Devices map[string]int64
	// Unbuilt says that the host has not built the server yet. It has no units of devices, and gets
	// them of the providers of its allocations.
	Unbuilt bool
}

// CPUs are how many CPUs a flavor has, and how many of them are dedicated ones.
type CPUs struct{ Total, Dedicated int64 }

// An Amount is how much a host has of a class.
type Amount struct {
	Total    int64 `json:"total"`
	Reserved int64 `json:"reserved"`
	// Ratio is the allocation ratio that an operator has set, nil when none has. Then
	// the one in placement stays, and Initial is for a host that is new.
	Ratio   *float64 `json:"allocation_ratio,omitempty"`
	Initial float64  `json:"initial_allocation_ratio"`
	// Why is the setting or the part of the machine that it follows from, for people on the host.
	Why string `json:"-"`
}

// A Node is a NUMA node of a host: a provider below the host's.
type Node struct {
	ID    int     `json:"id"`
	VCPU  Amount  `json:"vcpu"`
	PCPU  Amount  `json:"pcpu"`
	Pages []Pages `json:"pages,omitempty"` // by size
}

// Pages is the memory of a node in pages of one size, in MiB: a provider below the node's.
type Pages struct {
	SizeKB int64 `json:"size_kb"`
	Small  bool  `json:"small,omitempty"` // the ordinary size of the machine
	Amount
}

// A Device is something that servers get of its own: a provider below the host's.
type Device struct {
	// the end of the provider's, after the host's and an underscore: "0000:81:00.0" or
	// "pci_0000_84_00_0"
	Suffix string   `json:"name"`
	Class  string   `json:"resource_class"`
	Total  int64    `json:"total"`
	Traits []string `json:"traits"`
	// Addresses are those of the PCI devices that it consists of, one for each unit.
	Addresses []string `json:"addresses,omitempty"`
	// MdevType is the type of its units, if these are mediated devices.
	MdevType string `json:"mdev_type,omitempty"`
	Why      string `json:"-"` // as of an Amount
}

// ComputeNode stands for every compute node in an Additional.
const ComputeNode placement.UUID = "$COMPUTE_NODE"

// An Additional is what an operator adds to a provider in a file (provider.yaml). One
// that names the provider wins over the one for ComputeNode.
type Additional struct {
	ID          placement.UUID   `json:"uuid,omitempty"` // ComputeNode, or "" when it has a Name
	Name        string           `json:"name,omitempty"`
	Inventories map[string]Extra `json:"inventories,omitempty"`
	Traits      []string         `json:"traits,omitempty"`
	File        string           `json:"file"` // for messages
}

// An Extra is an inventory with what a person has said of it.
type Extra struct {
	Total           int64    `json:"total"`
	Reserved        *int64   `json:"reserved,omitempty"`
	MinUnit         *int64   `json:"min_unit,omitempty"`
	MaxUnit         *int64   `json:"max_unit,omitempty"`
	StepSize        *int64   `json:"step_size,omitempty"`
	AllocationRatio *float64 `json:"allocation_ratio,omitempty"`
}

// inventory is the inventory with placement's defaults for what was not said.
func (e Extra) inventory() placement.Inventory {
	return placement.Inventory{
		Total: e.Total, Reserved: or(e.Reserved, 0), MinUnit: or(e.MinUnit, 1), MaxUnit: or(e.MaxUnit, placement.MaxInt),
		StepSize: or(e.StepSize, 1), AllocationRatio: or(e.AllocationRatio, 1),
	}
}

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// DeviceName is the name of a device's provider.
func (h *Host) DeviceName(d Device) string { return h.Name + "_" + d.Suffix }

// DeviceID is the UUID of a device's provider when it is new: it follows from the host's
// and the name, so that making it twice makes one.
func (h *Host) DeviceID(d Device) placement.UUID {
	return placement.UUID(h.ID.Derive(h.DeviceName(d)).String())
}

// namedProviders are the providers of devices that placement has by their names under other UUIDs,
// by Suffix; nil for none.
func (h *Host) namedProviders(actual providertree.Tree) map[string]placement.UUID {
	var all map[string]placement.UUID
	for _, d := range h.Devices {
		name := h.DeviceName(d)
		i := slices.IndexFunc(actual.Providers, func(p providertree.Provider) bool { return p.Name == name })
		if i < 0 || actual.Providers[i].ID == h.DeviceID(d) {
			continue
		}
		if all == nil {
			all = map[string]placement.UUID{}
		}
		all[d.Suffix] = actual.Providers[i].ID
	}
	return all
}
