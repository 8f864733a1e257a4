package audit

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// Unknown returns the servers, ports and hosts in the options that no record has. A UUID of a
// consumer, of a migration or of a port's device counts as a server, since findings about these are
// selected by it.
func Unknown(x *index.Index, o Options) (list []Subject) {
	hosts := map[string]bool{} // in lower case
	host := func(names ...string) {
		for _, name := range names {
			hosts[strings.ToLower(name)] = true
		}
	}
	if len(o.Hosts) > 0 {
		for root := range x.Roots() {
			host(root.Name)
		}
		for _, h := range x.Compute.Hypervisors {
			host(h.Host, h.Hostname)
		}
		for _, s := range x.Compute.Services {
			host(s.Host)
		}
		for _, a := range x.Compute.Aggregates {
			host(a.Hosts...)
		}
		for _, s := range x.Compute.Servers {
			host(s.Host, s.Node)
		}
		for _, m := range x.Compute.Migrations {
			host(m.SourceHost, m.SourceNode, m.DestHost, m.DestNode)
		}
		for _, p := range x.Network.Ports {
			host(p.Host)
		}
		for _, a := range x.Agents {
			host(append(a.State.Hypervisors(), a.Host)...)
		}
	}
	for _, name := range o.Servers {
		if name == "" || x.Servers[name] == nil && x.Consumers[name] == nil && x.Migrations[name] == nil &&
			x.Moves[name] == nil && x.PortsOf[name] == nil &&
			!slices.ContainsFunc(x.Compute.Servers, func(s cloud.Server) bool { return s.Name == name }) {
			list = append(list, Subject{Kind: "server", ID: name})
		}
	}
	for _, name := range o.Ports {
		if name == "" ||
			x.Ports[name] == nil && !slices.ContainsFunc(x.Network.Ports, func(p cloud.Port) bool { return p.Name == name }) {
			list = append(list, Subject{Kind: "port", ID: name})
		}
	}
	for _, name := range o.Hosts {
		if name == "" || !hosts[strings.ToLower(name)] {
			list = append(list, Subject{Kind: "host", ID: name})
		}
	}
	return list
}
