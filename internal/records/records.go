// Package records decodes what the services record about servers, ports and allocations, for tests
// and measurements that compare these records. It sends no requests; the expected values are up to its users.
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
	for provider, of := range c.Allocations {
		all[provider] = of.Resources
	}
	return all
}

// A Server is the compute API's record of a server.
type Server struct {
	ID, Status string
	Task       *string `json:"OS-EXT-STS:task_state"`
	Host       *string `json:"OS-EXT-SRV-ATTR:host"`
	Fault      struct{ Message, Details string }
}

// At is where the server is, "" for nowhere.
func (s Server) At() string {
	if s.Host == nil {
		return ""
	}
	return *s.Host
}

// A Port is the network API's record of a port.
type Port struct {
	ID       string
	Device   string                                 `json:"device_id"`
	Host     string                                 `json:"binding:host_id"`
	VIF      string                                 `json:"binding:vif_type"`
	Profile  struct{ Allocation map[string]string } `json:"binding:profile"`
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
