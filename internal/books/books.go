// Package books has the records of the services about servers, ports and allocations, for tests and
// measurements that compare them. It sends no requests; the expected values are up to its users.
package books

// Amounts are how much of each resource class.
type Amounts = map[string]int

// Holdings are the resources allocated to a server, by provider.
type Holdings map[string]Amounts

// On returns the amounts of a provider, which the caller may modify.
func (h Holdings) On(provider string) Amounts {
	if h[provider] == nil {
		h[provider] = Amounts{}
	}
	return h[provider]
}

// Add adds amounts to those of a provider.
func (h Holdings) Add(provider string, more Amounts) {
	on := h.On(provider)
	for class, n := range more {
		on[class] += n
	}
}

// AddAll adds other holdings.
func (h Holdings) AddAll(others Holdings) {
	for provider, amounts := range others {
		h.Add(provider, amounts)
	}
}

// An Allocation is placement's record of a consumer.
type Allocation struct {
	Allocations map[string]struct{ Resources Amounts }
}

// Holdings are those of the consumer.
func (a Allocation) Holdings() Holdings {
	h := Holdings{}
	for provider, of := range a.Allocations {
		h[provider] = of.Resources
	}
	return h
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
