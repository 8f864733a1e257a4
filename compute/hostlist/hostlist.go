// Package hostlist has what the compute service and the agents of its hosts exchange about servers,
// with its JSON: the list of the servers that a host should have, and the results of its work on
// them. Service and agents may be of different releases: members are added, not changed.
package hostlist

import "strconv"

// A List is the list of the servers of a host at a revision, which is never "".
type List struct {
	Revision string   `json:"revision"`
	Servers  []Server `json:"servers"`
}

// A Server is the desired state of a server on a host: it must be as this says or, if Deleted, be
// destroyed. A server that a host has and that is not in its list is reported and not touched: the
// host may have had another name before, or the service may have another database, or an older
// state of it.
type Server struct {
	ID      string `json:"id"`   // a UUID
	Name    string `json:"name"` // what hypervisors call it
	Deleted bool   `json:"deleted"`
	// Kept says that the host stops it, unplugs its ports and keeps the rest of it. It is not built if
	// the host does not have it.
	Kept bool `json:"kept"`
	// Generation counts how often it is rebuilt from its image: one of another generation is
	// destroyed, and built again.
	Generation int64 `json:"generation"`
	// Running says whether it must run. Boot, unless empty, is a start that it must have had: with a
	// new one it is restarted.
	Running bool   `json:"running"`
	Boot    string `json:"boot,omitempty"`
	// Power is Paused for one that is Running and must stand still, Suspended for one that is not and
	// goes on where it was when it is Running again, and "" for any other.
	Power string `json:"power,omitempty"`
	// Event is the event whose result the host must report, "" for none.
	Event  string `json:"event,omitempty"`
	Image  string `json:"image,omitempty"` // "" for none
	Flavor Flavor `json:"flavor"`
	Ports  []Port `json:"ports,omitempty"` // in their order
	// Assignment is what it has of the host of its own, also while it is Kept; nil for nothing.
	Assignment *Assignment `json:"assignment,omitempty"`
	// The server gets these as its metadata.
	Hostname    string            `json:"hostname,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	KeyName     string            `json:"key_name,omitempty"`  // "" for none
	KeyData     string            `json:"key_data,omitempty"`  // a public key
	UserData    string            `json:"user_data,omitempty"` // base64
	ConfigDrive bool              `json:"config_drive"`
}

// What Server.Power says.
const (
	Paused    = "paused"
	Suspended = "suspended"
)

// A Flavor is what a server is to have of its host.
type Flavor struct {
	Name        string            `json:"name"`
	VCPUs       int64             `json:"vcpus"`
	MemoryMB    int64             `json:"memory_mb"` // MiB
	RootGB      int64             `json:"root_gb"`   // GiB, as EphemeralGB
	EphemeralGB int64             `json:"ephemeral_gb"`
	SwapMB      int64             `json:"swap_mb"`
	Specs       map[string]string `json:"extra_specs,omitempty"`
}

// A Port is a port of a server.
type Port struct {
	ID              string    `json:"id"`
	Tag             string    `json:"tag,omitempty"`
	Network         string    `json:"network_id"`
	MAC             string    `json:"mac_address"`
	VNIC            string    `json:"vnic_type"`                  // "normal", "direct", …
	VIF             string    `json:"vif_type"`                   // "ovs", "hw_veb", …
	Slot            string    `json:"pci_slot,omitempty"`         // PCI address of its device, "" for none
	PhysicalNetwork string    `json:"physical_network,omitempty"` // "" for a tunnel
	Providers       []string  `json:"providers,omitempty"`        // UUIDs of the resource providers that serve it
	Addresses       []Address `json:"fixed_ips,omitempty"`
}

// An Address is an address of a port, with the length of its subnet's prefix, 0 if that is not
// known: it is alone in its subnet then.
type Address struct {
	Subnet string `json:"subnet_id"`
	IP     string `json:"ip_address"`
	Prefix int    `json:"prefix_length"`
}

// String writes the address with the length of its prefix ("10.0.4.7/24"), if that is known.
func (a Address) String() string {
	if a.Prefix == 0 {
		return a.IP
	}
	return a.IP + "/" + strconv.Itoa(a.Prefix)
}

// A Result is the result of an event on a host.
type Result struct {
	Server string `json:"server"`
	Event  string `json:"event,omitempty"`
	// Generation is that of the server as it was listed; 0 if the host does not know generations.
	Generation int64 `json:"generation"`
	// Power is that of the server as it was listed; "" if the host does not know it.
	Power string `json:"power,omitempty"`
	// Error is the error message, "" for success. Everywhere says that it would fail on any host.
	Error      string `json:"error,omitempty"`
	Everywhere bool   `json:"everywhere"`
}
