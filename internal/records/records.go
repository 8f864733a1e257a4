// Package records decodes what the services record about servers, ports and allocations, for tests
// and measurements that compare these records. It sends no requests; the expected values are up to
// its users.
package records

// Amounts are how much of each resource class.
type Amounts = map[string]int

// Allocations are the resources allocated to a server, by provider.
type Allocations map[string]Amounts

// On returns the amounts of a provider, which the caller may modify.
func (a Allocations) On(provider string) Amounts {
	if a[provider] == nil {
		a[provider] = Amounts{}
	}
	return a[provider]
}

// Add adds amounts to those of a provider.
func (a Allocations) Add(provider string, more Amounts) {
	on := a.On(provider)
	for class, n := range more {
		on[class] += n
	}
}

// AddAll adds those of others.
func (a Allocations) AddAll(others Allocations) {
	for provider, amounts := range others {
		a.Add(provider, amounts)
	}
}

// A Consumer is placement's record of a consumer.
type Consumer struct {
	Allocations map[string]struct{ Resources Amounts }
}

// ByProvider returns the consumer's allocations.
func (c Consumer) ByProvider() Allocations {
	all := Allocations{}
	for provider, rows := range c.Allocations {
		all[provider] = rows.Resources
	}
	return all
}

// A Server is the compute API's record of a server.
type Server struct {
	ID, Status string
	Task       *string `json:"OS-EXT-STS:task_state"`
	Power      int     `json:"OS-EXT-STS:power_state"`
	Host       *string `json:"OS-EXT-SRV-ATTR:host"`
	Fault      struct{ Message, Details string }
	Flavor     struct{ VCPUs, RAM, Disk int }
}

// Running and ShutDown are power states of servers.
const (
	Running  = 1
	ShutDown = 4
)

// Size returns the resources that a server of its flavor has of its host.
func (s Server) Size() Amounts {
	return Amounts{"VCPU": s.Flavor.VCPUs, "MEMORY_MB": s.Flavor.RAM, "DISK_GB": s.Flavor.Disk}
}

// At is where the server is, "" for nowhere.
func (s Server) At() string {
	if s.Host == nil {
		return ""
	}
	return *s.Host
}

// A Listed is what the compute service sends a host about a server that the host is to have, or to
// destroy.
type Listed struct {
	ID                     string
	Deleted, Kept, Running bool
	Power                  string // "paused", "suspended" or ""
	Event                  string // whose result is awaited
}

// A Migration is the compute API's record of a move of a server.
type Migration struct {
	ID     string `json:"uuid"`
	Number int    `json:"id"`
	Server string `json:"instance_uuid"`
	Status string
	Source string `json:"source_compute"`
	Dest   string `json:"dest_compute"`
}

// A Profile is that of a binding.
type Profile struct {
	Allocation map[string]string
	Slot       string `json:"pci_slot"`
}

// A Binding is the network API's record of a port's binding.
type Binding struct {
	Host, Status string
	VIF          string `json:"vif_type"`
	VNIC         string `json:"vnic_type"`
	Profile      Profile
}

// A Port is the network API's record of a port.
type Port struct {
	ID       string
	Device   string  `json:"device_id"`
	Owner    string  `json:"device_owner"`
	Host     string  `json:"binding:host_id"`
	VIF      string  `json:"binding:vif_type"`
	VNIC     string  `json:"binding:vnic_type"`
	Profile  Profile `json:"binding:profile"`
	FixedIPs []struct {
		IP string `json:"ip_address"`
	} `json:"fixed_ips"`
	Request struct {
		Groups []Group `json:"request_groups"`
	} `json:"resource_request"`
}

// A Group is one of the request groups of a port.
type Group struct {
	ID        string
	Resources Amounts
}
