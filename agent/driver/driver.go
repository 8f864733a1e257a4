// Package driver runs servers on one host. A Driver creates them on the host: the fake one has them
// in memory, for trials and tests with as many hosts as wanted. Package host decides what to do,
// and when.
package driver

import (
	"context"
	"errors"
	"strconv"
)

// A Driver runs the servers of one host. It is called for one thing at a time about a server, and
// for several servers concurrently. Every call may be repeated: it succeeds when its result exists
// already.
type Driver interface {
	// Servers returns the servers that exist, also half built ones.
	Servers(ctx context.Context) ([]State, error)
	// Build creates a server with its ports, and starts it if it should run. One that fails leaves
	// something behind, which Destroy removes. ErrEverywhere says that it would fail on any host.
	Build(ctx context.Context, s Server) error
	// Destroy removes a server.
	Destroy(ctx context.Context, id string) error
	// Plug gives a port to a server, and Unplug takes it.
	Plug(ctx context.Context, id string, p Port) error
	Unplug(ctx context.Context, id, port string) error
	// Start starts a server that does not run, and restarts one that does with another boot. Stop
	// stops it.
	Start(ctx context.Context, id, boot string) error
	Stop(ctx context.Context, id string) error
}

// ErrEverywhere is among the causes of failures of what cannot be built anywhere.
var ErrEverywhere = errors.New("it would fail on any host")

// A Server is a server to build.
type Server struct {
	ID       string // a UUID
	Name     string // what hypervisors call it
	VCPUs    int64
	MemoryMB int64 // MiB
	DiskGB   int64 // GiB
	Image    string
	Ports    []Port // in their order
	Running  bool
	Boot     string // the start that it must have had, "" for the first
	// Generation counts how often the server is built on the host anew, from an image.
	Generation int64

	Hostname    string
	Metadata    map[string]string
	KeyData     string // a public key, "" for none
	UserData    string // base64
	ConfigDrive bool
}

// A Port is a port of a server.
type Port struct {
	ID              string
	MAC             string
	VNIC            string // "normal", "direct", …
	VIF             string // "ovs", "hw_veb", …
	PhysicalNetwork string // "" for a tunnel
	Slot            string // PCI address of its device, "" for none
	// Addresses have the lengths of their subnets' prefixes ("10.0.4.7/24"). One without
	// is alone in its subnet.
	Addresses []string
	Providers []string // UUIDs of the resource providers that serve it
}

// Address writes an address of a Port, with the length of its subnet's prefix unless that is
// not known (0).
func Address(ip string, prefix int) string {
	if prefix == 0 {
		return ip
	}
	return ip + "/" + strconv.Itoa(prefix)
}

// A State is what a server is.
type State struct {
	ID      string
	Built   bool // its build was completed
	Running bool
	Boot    string   // of its last start, "" for the first
	Ports   []string // ids, sorted
	// Generation is that of the Server that was built.
	Generation int64
}
