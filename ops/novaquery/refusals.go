package novaquery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
)

// Refusals returns a function that says why Nova does not take a host that placement offers, ""
// when it may: its service is disabled or down, or a hint forbids it. The host is the name of its
// provider. What the records do not have is not examined. It may be called from several goroutines
// while the records do not change.
func (s Server) Refusals(c *cloud.Cloud) func(host string) string {
	if c.Compute == nil {
		return func(string) string { return "" }
	}
	services := make(map[string]string, len(c.Compute.Hypervisors)) // of nodes
	for _, h := range c.Compute.Hypervisors {
		services[h.Hostname] = h.Host
	}
	unavailable := map[string]string{} // why, by the host of the service
	for _, service := range c.Compute.Services {
		switch {
		case service.Binary != "nova-compute" || unavailable[service.Host] != "":
		case service.Status == "disabled":
			unavailable[service.Host] = strings.TrimSuffix("its compute service is disabled: "+service.DisabledReason, ": ")
		case service.State != "up":
			unavailable[service.Host] = "its compute service is down"
		}
	}
	nodes := map[string]string{} // of the servers of hints, by their UUIDs
	var members []*cloud.Server  // with a host
	for i := range c.Compute.Servers {
		server := &c.Compute.Servers[i]
		if slices.Contains(s.Hints.Different, server.UUID) || slices.Contains(s.Hints.Same, server.UUID) {
			nodes[server.UUID] = server.Node
		}
		if server.Host != "" && s.Hints.Group != nil && slices.Contains(s.Hints.Group.Members, server.UUID) {
			members = append(members, server)
		}
	}
	return func(host string) string {
		onHost := func(uuid string) bool { return nodes[uuid] == host }
		service, known := services[host]
		if !known {
			service = host
		}
		if reason := unavailable[service]; reason != "" {
			return reason
		}
		if i := slices.IndexFunc(s.Hints.Different, onHost); i >= 0 {
			return "server " + s.Hints.Different[i] + " is there (hint different_host)"
		}
		if len(s.Hints.Same) > 0 && !slices.ContainsFunc(s.Hints.Same, onHost) {
			return "no server of the hint same_host is there"
		}
		if s.Hints.Group != nil {
			return s.apart(members, service)
		}
		return ""
	}
}

// apart returns why the server group forbids a host, by the name of its service. As in Nova, a
// group with a soft policy forbids none, and anti-affinity leaves a server where it is.
func (s Server) apart(members []*cloud.Server, host string) string {
	g, onHost := s.Hints.Group, 0
	var hosts []string
	for _, member := range members {
		if member.UUID == s.UUID && member.Host == host && g.Policy == "anti-affinity" {
			return ""
		}
		if member.Host == host {
			onHost++
		}
		hosts = append(hosts, member.Host)
	}
	switch most := max(1, g.Rules.MaxPerHost); {
	case g.Policy == "affinity" && len(hosts) > 0 && onHost == 0:
		slices.Sort(hosts)
		return fmt.Sprintf("the servers of the group %s are on %s (affinity)", g.Name,
			strings.Join(slices.Compact(hosts), ", "))
	case g.Policy == "anti-affinity" && onHost >= most:
		return fmt.Sprintf("servers of the group %s that are there: %d, of %d at most (anti-affinity)", g.Name, onHost, most)
	}
	return ""
}
