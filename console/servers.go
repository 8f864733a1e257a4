package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
)

// Servers are the servers of a cloud, with the networks and policies that guarantee something: what
// a newcomer makes and watches.
type Servers struct {
	Time time.Time `json:"time"`
	// Servers are the newest, at most maxServers of those that have the text in their name, UUID, host
	// or project, and Total is how many have it.
	Servers  []Server  `json:"servers"`
	Total    int       `json:"total"`
	Networks []Network `json:"networks"`
	Policies []Policy  `json:"policies"`
}

// A Server is a server in a list.
type Server struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Task    string `json:"task,omitempty"`
	Fault   string `json:"fault,omitempty"`
	Host    string `json:"host,omitempty"`
	Flavor  string `json:"flavor"`
	Project string `json:"project_id"`
	// Allocated says that it has allocations.
	Allocated bool `json:"allocated"`
	// Ports are those that request resources.
	Ports []Port `json:"ports"`
}

// A Network is a network in a list.
type Network struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"`
	Physical string `json:"physical,omitempty"`
	// Policy is the name of its QoS policy, or its UUID.
	Policy string `json:"policy,omitempty"`
}

// A Policy is a QoS policy with its rules that guarantee something.
type Policy struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Rules []cloud.QoSRule `json:"rules"`
}

const maxServers = 500

// servers answers with the servers that have the text ?q= in their name, UUID, host or project.
func (c *Console) servers(r *http.Request, s *state) (any, error) {
	text := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("q")))
	x := s.index()
	var found []*cloud.Server
	for i := range x.Compute.Servers {
		server := &x.Compute.Servers[i]
		for _, word := range []string{server.Name, server.UUID, server.Host, server.Project} {
			if strings.Contains(strings.ToLower(word), text) {
				found = append(found, server)
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b *cloud.Server) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.UUID, b.UUID))
	})
	answer := Servers{
		Time: s.reading.Time, Servers: []Server{}, Total: len(found), Networks: []Network{}, Policies: []Policy{},
	}
	for _, server := range found[:min(len(found), maxServers)] {
		line := Server{
			ID: server.UUID, Name: server.Name, Status: server.Status, Task: server.Task, Fault: server.Fault,
			Host: server.Host, Flavor: server.Flavor.Name, Project: server.Project,
			Allocated: x.Consumers[server.UUID] != nil, Ports: []Port{},
		}
		for _, port := range x.PortsOf[server.UUID] {
			if port.Request != nil {
				line.Ports = append(line.Ports, describePort(x, port))
			}
		}
		answer.Servers = append(answer.Servers, line)
	}
	names := map[string]string{}
	for i := range x.Network.Policies {
		p := &x.Network.Policies[i]
		names[p.UUID] = cmp.Or(p.Name, p.UUID)
		answer.Policies = append(answer.Policies, Policy{p.UUID, p.Name, append([]cloud.QoSRule{}, p.Rules...)})
	}
	for i := range x.Network.Networks {
		n := &x.Network.Networks[i]
		answer.Networks = append(answer.Networks, Network{
			n.UUID, n.Name, n.Type, n.Physical, cmp.Or(names[n.Policy], n.Policy),
		})
	}
	slices.SortFunc(answer.Networks, func(a, b Network) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(answer.Policies, func(a, b Policy) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return answer, nil
}
