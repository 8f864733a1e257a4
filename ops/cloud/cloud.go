// Package cloud has the records of a cloud's services, as the operators' tools use them:
// placement's providers and allocations, the servers and hosts of the compute service, the ports
// and agents of the network service. It is plain data, and reads no service: ops/cloudapi fills it
// from the APIs and dbtool from placement's database, [Write] and [Read] have the file that it is
// kept in.
//
// JSON keys are those of the services' APIs. Amounts are in the units of placement's resource
// classes: NET_BW_* in kbit/s, MEMORY_MB in MiB, DISK_GB in GiB.
package cloud

import (
	"slices"
	"strings"
	"time"
)

// A Cloud is what was read of a cloud. A part that was not read is nil.
type Cloud struct {
	// Source names where the records are from, for people: the URL of an API without credentials, a
	// database, a file.
	Source string `json:"source"`
	// Begun and Ended are when reading began and ended. Records of several services, or read from
	// APIs, are not of one moment.
	Begun time.Time `json:"begun"`
	Ended time.Time `json:"ended"`

	Placement *Placement `json:"placement,omitempty"`
	Compute   *Compute   `json:"compute,omitempty"`
	Network   *Network   `json:"network,omitempty"`
	// Environment are measured for doctor only.
	Environment *Environment `json:"surroundings,omitempty"`

	// Unread says what could not be read and why, in one sentence each: a service that the caller
	// may not query, a field that an older service does not have. Tools repeat it next to their
	// results.
	Unread []string `json:"unread,omitempty"`
}

// A Placement is the records of the placement service. Providers are in the order of their UUIDs,
// and consumers too.
type Placement struct {
	// Classes and Traits are all names, sorted.
	Classes   []string   `json:"resource_classes"`
	Traits    []string   `json:"traits"`
	Providers []Provider `json:"resource_providers"`
	// Consumers are those with allocations; nil when they were not read.
	Consumers []Consumer `json:"consumers,omitzero"`
}

// A Provider is a resource provider with all that belongs to it. After [Placement.Sort] no list and
// no map is nil.
type Provider struct {
	UUID       string `json:"uuid"`
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
	// Parent is "" for a root. Root is the provider's own UUID then.
	Parent      string               `json:"parent_provider_uuid,omitempty"`
	Root        string               `json:"root_provider_uuid"`
	Inventories map[string]Inventory `json:"inventories"`
	// Usages is how much of each class is allocated. Readers omit classes that nothing is allocated
	// of.
	Usages     map[string]int64 `json:"usages"`
	Traits     []string         `json:"traits"`     // sorted
	Aggregates []string         `json:"aggregates"` // sorted
}

// An Inventory is what a provider has of a class.
type Inventory struct {
	Total           int64   `json:"total"`
	Reserved        int64   `json:"reserved"`
	MinUnit         int64   `json:"min_unit"`
	MaxUnit         int64   `json:"max_unit"`
	StepSize        int64   `json:"step_size"`
	AllocationRatio float64 `json:"allocation_ratio"`
}

// A Consumer is a consumer with its allocations.
type Consumer struct {
	UUID       string `json:"uuid"`
	Generation int64  `json:"consumer_generation"`
	Project    string `json:"project_id"`
	User       string `json:"user_id"`
	// Type is "" when it is not known, as "unknown" in the API.
	Type string `json:"consumer_type,omitempty"`
	// Allocations are amounts by the UUID of the provider and the class.
	Allocations map[string]map[string]int64 `json:"allocations"`
}

// A Compute is the records of the compute service.
type Compute struct {
	// Version is the newest microversion of the service's API, "" when it is not known.
	Version     string       `json:"version,omitempty"`
	Services    []Service    `json:"services"`
	Hypervisors []Hypervisor `json:"hypervisors"`
	Aggregates  []Aggregate  `json:"aggregates"`
	Servers     []Server     `json:"servers"`
	// Migrations are those that may have allocations: all but the completed, confirmed, reverted,
	// failed and cancelled ones that have none.
	Migrations []Migration `json:"migrations"`
	// Groups are the server groups of all projects; nil when they were not read. Files of before
	// have none.
	Groups []ServerGroup `json:"server_groups,omitzero"`
	// ZonesKnown says that Pinned of the servers was read.
	ZonesKnown bool `json:"pinned_zones_known,omitempty"`
	// ImagesKnown says that ImageProperties of the servers was read, and HintsKnown that Hints was.
	ImagesKnown bool `json:"image_properties_known,omitempty"`
	HintsKnown  bool `json:"scheduler_hints_known,omitempty"`
}

// A Service is a process of the compute service, on a host.
type Service struct {
	ID             string `json:"id"`
	Binary         string `json:"binary"` // nova-compute, …
	Host           string `json:"host"`
	Zone           string `json:"zone"`
	Status         string `json:"status"` // enabled, disabled
	State          string `json:"state"`  // up, down
	ForcedDown     bool   `json:"forced_down"`
	DisabledReason string `json:"disabled_reason,omitempty"`
	// StartError is why the host does not serve since its start: only Berth's service says it.
	StartError string `json:"berth:start_error,omitempty"`
}

// A Hypervisor is a compute node. Its provider has its UUID, and its hostname as name.
type Hypervisor struct {
	UUID     string `json:"id"`
	Hostname string `json:"hypervisor_hostname"`
	Host     string `json:"host"` // of its service
}

// An Aggregate is a host aggregate of the compute service.
type Aggregate struct {
	ID       int64             `json:"id"`
	UUID     string            `json:"uuid"`
	Name     string            `json:"name"`
	Zone     string            `json:"availability_zone,omitempty"`
	Hosts    []string          `json:"hosts"`
	Metadata map[string]string `json:"metadata"`
}

// A Server is a server, without what users keep in it.
type Server struct {
	UUID   string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Task   string `json:"task_state,omitempty"`
	Host   string `json:"host,omitempty"` // "" before it is scheduled, and when it is offloaded
	Node   string `json:"hypervisor_hostname,omitempty"`
	Zone   string `json:"availability_zone,omitempty"`
	// Pinned is the zone that it was created for, in which it stays when it moves; "" for none.
	// Services say it from 2.96 on.
	Pinned  string    `json:"pinned_availability_zone,omitempty"`
	Project string    `json:"tenant_id"`
	User    string    `json:"user_id"`
	Created time.Time `json:"created"`
	Flavor  Flavor    `json:"flavor"`
	// Image is "" for a server that boots from a volume.
	Image string `json:"image,omitempty"`
	// ImageProperties are those that the server's image had when the server was created, without the
	// traits that it requires and its format. Services say them from 2.98 on.
	ImageProperties map[string]string `json:"image_properties,omitempty"`
	// Hints are the scheduler hints same_host, different_host and group. Services say them from 2.100
	// on.
	Hints map[string][]string `json:"scheduler_hints,omitempty"`
	Fault string              `json:"fault,omitempty"`
}

// A Flavor is a flavor, or what a server has kept of its.
type Flavor struct {
	Name      string            `json:"name"`
	VCPUs     int64             `json:"vcpus"`
	RAM       int64             `json:"ram"`       // MiB
	Disk      int64             `json:"disk"`      // GiB
	Ephemeral int64             `json:"ephemeral"` // GiB
	Swap      int64             `json:"swap"`      // MiB
	Specs     map[string]string `json:"extra_specs"`
}

// An Image is an image, as far as scheduling reads it.
type Image struct {
	UUID       string            `json:"id"`
	Name       string            `json:"name"`
	DiskFormat string            `json:"disk_format"`
	Properties map[string]string `json:"properties"`
}

// A ServerGroup is a server group, whose servers are to be on the same host or on different ones.
type ServerGroup struct {
	UUID   string `json:"id"`
	Name   string `json:"name"`
	Policy string `json:"policy"` // affinity, anti-affinity, soft-affinity, soft-anti-affinity
	Rules  struct {
		MaxPerHost int `json:"max_server_per_host,omitempty"` // 0 for the default, 1
	} `json:"rules"`
	Members []string `json:"members"` // UUIDs of servers
}

// A Migration is a move of a server from a host to another one.
type Migration struct {
	UUID       string `json:"uuid"`
	Server     string `json:"instance_uuid"`
	Status     string `json:"status"`
	Type       string `json:"migration_type"`
	SourceHost string `json:"source_compute"`
	SourceNode string `json:"source_node"`
	DestHost   string `json:"dest_compute"`
	DestNode   string `json:"dest_node"`
}

// A Network is the records of the network service.
type Network struct {
	Agents   []Agent     `json:"agents"`
	Ports    []Port      `json:"ports"` // those with a device, or with a key allocation in their binding profile
	Networks []NetworkOf `json:"networks"`
	Policies []QoSPolicy `json:"policies"`
	Trunks   []Trunk     `json:"trunks,omitzero"` // nil when they were not read
}

// An Agent is a network agent of a host.
type Agent struct {
	UUID      string `json:"id"`
	Type      string `json:"agent_type"`
	Binary    string `json:"binary"`
	Host      string `json:"host"`
	Alive     bool   `json:"alive"`
	AdminUp   bool   `json:"admin_state_up"`
	Heartbeat string `json:"heartbeat_timestamp"`
	// Created is when the service first heard of it, and Started when it was started last.
	Created string `json:"created_at,omitempty"`
	Started string `json:"started_at,omitempty"`
	// Synced is whether its resources are in placement, nil when the service does not say.
	Synced *bool `json:"resources_synced"`
	// SyncError is why they are not, where the service says: only Berth's does.
	SyncError      string         `json:"berth:sync_error,omitempty"`
	Configurations map[string]any `json:"configurations"`
}

// A Port is a port of the network service.
type Port struct {
	UUID    string `json:"id"`
	Name    string `json:"name"`
	Network string `json:"network_id"`
	Subnet  string `json:"subnet_id,omitempty"` // of its first address
	Device  string `json:"device_id"`
	Owner   string `json:"device_owner"`
	Project string `json:"project_id"`
	Status  string `json:"status"`
	AdminUp bool   `json:"admin_state_up"`
	Host    string `json:"binding:host_id"`
	VNIC    string `json:"binding:vnic_type"`
	VIF     string `json:"binding:vif_type"`
	// Allocation is the key "allocation" of the binding profile: the provider of each group. A port
	// of an older service has one provider and no groups; it is under "".
	Allocation map[string]string `json:"allocation,omitempty"`
	// Profile are the other keys of the binding profile.
	Profile map[string]any `json:"binding:profile,omitempty"`
	// Revision grows with each change of the port; 0 when the service does not say it.
	Revision int64  `json:"revision_number,omitempty"`
	Policy   string `json:"qos_policy_id,omitempty"`
	// NetworkPolicy is the policy that the port has from its network.
	NetworkPolicy string       `json:"qos_network_policy_id,omitempty"`
	Request       *PortRequest `json:"resource_request,omitempty"`
}

// A PortRequest is what a port requests from placement, in the format of
// port-resource-request-groups.
type PortRequest struct {
	Groups      []PortGroup `json:"request_groups"`
	SameSubtree []string    `json:"same_subtree,omitempty"`
}

// A PortGroup is one group of a port's request. ID is "" in the older format, with one group.
type PortGroup struct {
	ID        string           `json:"id,omitempty"`
	Required  []string         `json:"required"`
	Resources map[string]int64 `json:"resources"`
}

// A NetworkOf is a network of the network service.
type NetworkOf struct {
	UUID     string   `json:"id"`
	Name     string   `json:"name"`
	Type     string   `json:"provider:network_type,omitempty"`
	Physical string   `json:"provider:physical_network,omitempty"`
	Segments []string `json:"segments,omitempty"` // physical networks, where there are several
	Policy   string   `json:"qos_policy_id,omitempty"`
}

// A Trunk is a trunk: the port of a server that carries the packets of other ports too, each with a
// tag.
type Trunk struct {
	UUID     string      `json:"id"`
	Name     string      `json:"name"`
	Parent   TrunkPort   `json:"port"`
	Subports []TrunkPort `json:"sub_ports"`
}

// A TrunkPort is a port of a trunk. It need not be among the ports of the records: it may have no
// device. All but its UUID is "" when it was removed while the records were read.
type TrunkPort struct {
	UUID          string `json:"port_id"`
	Name          string `json:"name,omitempty"`
	Policy        string `json:"qos_policy_id,omitempty"`
	NetworkPolicy string `json:"qos_network_policy_id,omitempty"`
}

// A QoSPolicy is a policy with its rules that guarantee something.
type QoSPolicy struct {
	UUID  string    `json:"id"`
	Name  string    `json:"name"`
	Rules []QoSRule `json:"rules"`
}

// A QoSRule is a rule of a policy. Amounts are in kbit/s or kilopackets/s.
type QoSRule struct {
	UUID      string `json:"id"`
	Type      string `json:"type"` // minimum_bandwidth, minimum_packet_rate, …
	Direction string `json:"direction,omitempty"`
	MinKbps   int64  `json:"min_kbps,omitempty"`
	MinKpps   int64  `json:"min_kpps,omitempty"`
}

// Provider returns the provider with a UUID, nil when there is none. Providers must be in the order
// of their UUIDs.
func (p *Placement) Provider(uuid string) *Provider {
	i, ok := slices.BinarySearchFunc(p.Providers, uuid, func(p Provider, uuid string) int {
		return strings.Compare(p.UUID, uuid)
	})
	if !ok {
		return nil
	}
	return &p.Providers[i]
}

// Sort puts the records in the order that the documentation of the fields names. Readers call it
// once, at their end.
func (p *Placement) Sort() {
	slices.Sort(p.Classes)
	slices.Sort(p.Traits)
	slices.SortFunc(p.Providers, func(a, b Provider) int { return strings.Compare(a.UUID, b.UUID) })
	slices.SortFunc(p.Consumers, func(a, b Consumer) int { return strings.Compare(a.UUID, b.UUID) })
	for i := range p.Providers {
		provider := &p.Providers[i]
		provider.Traits, provider.Aggregates = append([]string{}, provider.Traits...),
			append([]string{}, provider.Aggregates...)
		slices.Sort(provider.Traits)
		slices.Sort(provider.Aggregates)
		if provider.Inventories == nil {
			provider.Inventories = map[string]Inventory{}
		}
		if provider.Usages == nil {
			provider.Usages = map[string]int64{}
		}
	}
}
