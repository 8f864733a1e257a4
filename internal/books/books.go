// Package books has what the services say of servers, of their ports and of what they hold, for
// tests and measurements that hold the one against the other. It asks nobody, and what should
// be so is for those who use it to say.
package books

// Amounts are how much of each resource class.
type Amounts = map[string]int

// Holdings are what a server holds, by provider.
type Holdings map[string]Amounts

// On returns what is held of a provider, to be changed.
func (h Holdings) On(provider string) Amounts {
	if h[provider] == nil {
		h[provider] = Amounts{}
	}
	return h[provider]
}

// Add adds amounts to what is held of a provider.
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

// An Allocation is what placement says of a consumer.
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

// A Server is what the compute API says of one.
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

// A Port is what the network API says of one.
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

// A Group is a part of what a port asks for.
type Group struct {
	ID        string
	Resources Amounts
}
