package compute

import (
	"github.com/berthcloud/berth/compute/inventory"
)

// A Report is what a host says of itself, and its JSON. Services and hosts may be of different
// releases: members are added, not changed.
type Report struct {
	Host    string  `json:"host"`
	Version int     `json:"version"` // of its service
	Node    NodeRow `json:"node"`
	// Inventory is for the tree in placement, with the id and the name of the Node. Nil: the host
	// does not say.
	Inventory *inventory.Host `json:"inventory,omitempty"`
	// Starting says that the host has started, and that no report since was answered with its tree in
	// placement: only then allocations move with its inventory.
	Starting bool `json:"starting,omitempty"`
	// DryRun requests what the report would change in placement if the host started. Nothing is
	// changed.
	DryRun bool `json:"dry_run,omitempty"`
	// Unknown are the servers that it has and that were not in its last list.
	Unknown []ID `json:"unknown_servers,omitempty"`
	// Hosts are the names that the sender has proved to have. A new hypervisor has one of them, or
	// that of the host but for the domain. Nil: that is not checked.
	Hosts []string `json:"-"`
}
