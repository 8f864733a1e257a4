package audit

import (
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// hostsOf are the names of the hosts that a subject is on.
func (x *records) hostsOf(s Subject) []string {
	switch s.Kind {
	case "host":
		return []string{s.ID, s.Name}
	case "provider":
		p := x.ByUUID[s.ID]
		if p == nil {
			return nil
		}
		root := x.RootOf(p)
		names := []string{root.Name}
		if h := x.HypervisorOf(root); h != nil {
			names = append(names, h.Host)
		}
		return names
	case "server", "consumer":
		if s := x.Servers[s.ID]; s != nil {
			return []string{s.Host, s.Node}
		}
	case "migration":
		if m := x.Migrations[s.ID]; m != nil {
			return []string{m.SourceHost, m.SourceNode, m.DestHost, m.DestNode}
		}
	case "port":
		if p := x.Ports[s.ID]; p != nil {
			return []string{p.Host}
		}
	case "agent":
		for _, a := range x.Agents {
			if a.UUID == s.ID {
				return append(a.State.Hypervisors(), a.Host)
			}
		}
	}
	return nil
}

func (x *records) providerSubject(uuid string) Subject {
	s := Subject{Kind: "provider", ID: uuid}
	if p := x.ByUUID[uuid]; p != nil {
		s.Name = p.Name
	}
	return s
}

func (x *records) consumerSubject(uuid string) Subject {
	switch {
	case x.Servers[uuid] != nil:
		return serverSubject(x.Servers[uuid])
	case x.Migrations[uuid] != nil:
		return Subject{Kind: "migration", ID: uuid}
	}
	return Subject{Kind: "consumer", ID: uuid}
}

func portSubject(p *cloud.Port) Subject { return Subject{Kind: "port", ID: p.UUID, Name: p.Name} }

func agentSubject(a *index.Agent) Subject {
	return Subject{Kind: "agent", ID: a.UUID, Name: a.Type + " on " + a.Host}
}

func hostSubject(h *cloud.Hypervisor) Subject {
	return Subject{Kind: "host", ID: h.Host, Name: h.Hostname}
}

func serverSubject(s *index.Server) Subject { return Subject{Kind: "server", ID: s.UUID, Name: s.Name} }
