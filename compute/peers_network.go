package compute

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
)

// Network is what the compute service needs of the network service: Berth's, or any over REST. It
// is called with the rights of a service. A failed call returns a fault: Unavailable when the
// service cannot be reached, one of the errors below, or the fault that it answered. Methods may be
// called concurrently.
type Network interface {
	// Networks returns the networks that a project may use, its own and those that
	// are shared: those with the ids, all without any.
	Networks(ctx context.Context, project string, ids ...ID) ([]ProjectNetwork, error)
	// FreePorts returns how many ports a project may still make, -1 for any number.
	FreePorts(ctx context.Context, project string) (int64, error)
	// SecurityGroups returns the ids of a project's security groups, given by
	// name or id. One that is not there is a fault of the code
	// SecurityGroupNotFound.
	SecurityGroups(ctx context.Context, project string, names []string) ([]ID, error)

	// Port returns a port, ErrNoPort when there is none.
	Port(ctx context.Context, id ID) (Port, error)
	// Ports returns the ports with the ids, in any order, without those that do not exist.
	Ports(ctx context.Context, ids ...ID) ([]Port, error)
	// ServerPorts returns the ports of servers.
	ServerPorts(ctx context.Context, servers ...ID) ([]Port, error)
	// Segments returns the segments that a port can be in when its network has some of
	// its own: that of its first address or, while it has none, all in which its network
	// has subnets.
	Segments(ctx context.Context, p Port) ([]ID, error)
	// PortWithAddress returns the port that has an address in a network, ErrNoPort
	// when there is none.
	PortWithAddress(ctx context.Context, network ID, address string) (Port, error)
	// CreatePort makes a port for a server, which is bound to no host. Faults, as
	// Nova calls them: PortLimitExceeded, NoMoreFixedIps, InvalidInput,
	// FixedIpAlreadyInUse.
	CreatePort(ctx context.Context, p PortSpec) (Port, error)
	// BindPort binds a port to a server's host and names the providers that serve it. It does so only
	// while the port is as it was read, and sends the request once. It returns ErrNoPort when the port
	// does not exist, ErrRevision when it was changed since, and ErrPortChanged when its resource
	// request is not the one that the providers were chosen for. A port of another server is a
	// conflict, PortInUse. A failed binding is no error: see Port.Failed.
	BindPort(ctx context.Context, p Port, b Binding) (Port, error)
	// NameProviders names the providers that serve a bound port, or none, and changes nothing else of
	// it. It does so only while the port has the revision, 0 for any, and sends the request once:
	// after an error that is none of the following, the port may name them. It returns ErrNoPort when
	// the port does not exist, ErrRevision when it has another revision, and ErrPortChanged as
	// BindPort does.
	NameProviders(ctx context.Context, id ID, revision int64, a guarantee.ProfileAllocation) (Port, error)
	// NameDestination notes in the profile of a bound port the host that its server is being moved to,
	// or removes that when the host is "". Other than that the port stays as it is; BindPort,
	// UnbindPort and bindings of other hosts do not have it. It returns ErrNoPort when the port does
	// not exist, ErrRevision when it was changed concurrently, and ErrPortChanged as BindPort does.
	NameDestination(ctx context.Context, id ID, host string) error
	// UnbindPort removes the server, the host and the providers from a port, and returns it as it
	// is then. It does so only while the port has the revision, 0 for any, and sends the request
	// once: after an error that is none of the following, the port may be unbound. It returns
	// ErrNoPort when the port does not exist and ErrRevision when it has another revision. A port
	// of another server is a conflict, PortInUse; one without a server is unchanged.
	UnbindPort(ctx context.Context, server, id ID, revision int64) (Port, error)
	// DeletePort removes a port. One that is not there is removed.
	DeletePort(ctx context.Context, id ID) error

	// Settle completes what is under way with the allocations of a server, such as the release of a
	// port that was deleted: nothing takes effect later that was requested before. It is a conflict
	// while a request changes them. It does nothing when the network service has none of that.
	Settle(ctx context.Context, server ID) error

	// CreateBinding binds a server's port to a second host, Binding.Host, with the providers and the
	// device that serve it there. The port stays bound as it is until ActivateBinding. A binding
	// that exists there with these providers and this device is returned as it is, one with others is
	// replaced; the active one is returned whatever it has, see PortBinding.Active. It returns
	// ErrNoPort when the port does not exist and ErrPortChanged when its resource request is not the
	// one that the providers were chosen for. A port that is not the server's is a conflict,
	// PortInUse. A failed binding is no error and is not kept: see PortBinding.Failed. After an error
	// that is none of these the binding may exist.
	CreateBinding(ctx context.Context, id ID, b Binding) (PortBinding, error)
	// ActivateBinding makes a port's binding to a host the active one, and returns the port as it is
	// then: on that host, and DOWN until it is plugged in there. The binding that was active becomes
	// inactive and stays until DeleteBinding. An active binding is activated. It returns ErrNoPort
	// when the port does not exist and ErrNoBinding when it has no binding to the host. After an
	// error that is neither the binding may be active.
	ActivateBinding(ctx context.Context, id ID, host string) (Port, error)
	// DeleteBinding removes an inactive binding of a port. One that is not there, or whose port is not
	// there, is removed. The active one is not: ErrBindingActive.
	DeleteBinding(ctx context.Context, id ID, host string) error
}

// The errors of a Network besides faults.
var (
	ErrNoPort        = errors.New("compute: the port does not exist")
	ErrPortChanged   = errors.New("compute: the resource request of the port has changed")
	ErrRevision      = errors.New("compute: the port was changed concurrently")
	ErrNoBinding     = errors.New("compute: the port has no binding to the host")
	ErrBindingActive = errors.New("compute: the binding is the active one of the port")
)

// A ProjectNetwork is a network that a project may use.
type ProjectNetwork struct {
	ID       ID
	Name     string
	Subnets  int
	External bool // and not shared
}

// A Port is a port of the network service. It is stored as JSON: its names are not to
// change.
type Port struct {
	ID          ID     `json:"id"`
	Network     ID     `json:"network"`
	NetworkName string `json:"network_name"`
	Project     string `json:"project"`
	Server      string `json:"server"` // device_id
	MAC         string `json:"mac"`
	Status      string `json:"status"`
	// Addresses are its fixed IPs.
	Addresses []Address `json:"addresses,omitempty"`
	// IPDeferred says that it gets its addresses when it is bound (deferred), Bare that it has none.
	IPDeferred bool   `json:"later,omitempty"`
	NoIP       bool   `json:"bare,omitempty"`
	VNIC       string `json:"vnic"`
	VIF        string `json:"vif"` // binding:vif_type
	// Reason is why the port could not be bound, for administrators. Only BindPort says it, and
	// only when the network service does.
	Reason string `json:"-"`
	Host   string `json:"host"`
	// Revision rises with each change of the port, 0 when the network service does not say it.
	Revision int64 `json:"revision,omitempty"`
	// PhysicalNetwork is that of its network, "" for none.
	PhysicalNetwork string                      `json:"physical_network,omitempty"`
	Allocation      guarantee.ProfileAllocation `json:"allocation"`
	// Slot is the PCI address of its device, "" for none.
	Slot string `json:"slot,omitempty"`
	// Profile is its binding:profile as it was read, with the keys of others, which BindPort keeps.
	Profile []byte `json:"-"`
	// ResourceRequest is its resource request.
	ResourceRequest request.Port `json:"asks"`
}

// Failed reports whether the port could not be bound to its host.
func (p Port) Failed() bool { return p.VIF == VifFailed }

// VifFailed is the binding:vif_type of a binding that failed.
const VifFailed = "binding_failed"

// An Address is a fixed IP.
type Address struct {
	IP     string `json:"ip"`
	Subnet ID     `json:"subnet"`
	Prefix int    `json:"prefix,omitempty"` // length of the subnet's prefix, 0 if it is not known
}

// A PortSpec describes a port to create.
type PortSpec struct {
	Project        string
	Server         ID
	Owner          string // device_owner
	Network        ID
	Address        string // "" for any
	SecurityGroups []ID   // none: the project's default
}

// A Binding is the request to bind a port. CreateBinding uses Server, Host, Allocation and Device
// only.
type Binding struct {
	Server     ID
	Owner      string // device_owner
	Host       string
	Allocation guarantee.ProfileAllocation
	Device     *Device // the port's device, nil for a virtual port
}

// A PortBinding is the binding of a port to one host.
type PortBinding struct {
	Host   string
	Active bool // the port is there; otherwise it can be activated
	VNIC   string
	VIF    string // binding:vif_type
	// Reason is as in Port.
	Reason     string
	Allocation guarantee.ProfileAllocation
	Slot       string // the PCI address of its device, "" for none
}

// Failed reports whether the port could not be bound to the host.
func (b PortBinding) Failed() bool { return b.VIF == VifFailed }

// A Device is a PCI device that a host can give to a server.
type Device struct {
	// Slot is its PCI address; "" for one that is no PCI device and that any number of ports can be,
	// which get no address: an interface of a host that is simulated.
	Slot            string `json:"slot"`
	Vendor          string `json:"vendor"`                     // vendor and product: "8086:154d"
	PhysicalNetwork string `json:"physical_network,omitempty"` // that it leads to
	// Parent is the interface that the device is a function of: its own, if the
	// device is a whole one. It is how placement's provider is named.
	Parent string `json:"parent,omitempty"`
	Whole  bool   `json:"whole,omitempty"` // a physical function
}

// Images is what the compute service needs of the image service. Methods may be called
// from many goroutines.
type Images interface {
	// Image returns an image, ErrNoImage when there is none that the project may
	// see.
	Image(ctx context.Context, project string, id ID) (Image, error)
}

// ErrNoImage says that the image does not exist.
var ErrNoImage = errors.New("compute: the image does not exist")

// An Image is what the image service says of an image.
type Image struct {
	extraspecs.Image
	Status      string // "active" when it can be used
	MinMemoryMB int64
	MinDiskGB   int64
	Size        int64 // in bytes
}
