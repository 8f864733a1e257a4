package console

import (
	"context"
	"net/http"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/overview"
	"github.com/berthcloud/berth/ops/records"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Host is a tree of providers with who has what of it.
type Host struct {
	Time time.Time `json:"time"`
	// Row is that of the table of hosts.
	Row overview.Row `json:"row"`
	// Providers are those of the tree, parents before their children.
	Providers []records.Provider `json:"providers"`
	// Consumers are those that have something of the tree, by their UUID.
	Consumers map[string]Consumer `json:"consumers"`
	// AggregateNames are those that the compute service has, by UUID.
	AggregateNames map[string]string `json:"aggregate_names"`
}

// A Consumer is who has allocations: a server, a migration, or something that no service knows.
type Consumer struct {
	ID string `json:"id"`
	// Kind is "server", "migration" or "consumer".
	Kind    string `json:"kind"`
	Type    string `json:"consumer_type,omitempty"`
	Project string `json:"project_id"`
	User    string `json:"user_id"`
	// Name, Status, Host and Flavor are those of the server, and of a migration those of the server
	// that it moves, which is Server. Move is what a migration does, for people.
	Name   string `json:"name,omitempty"`
	Status string `json:"status,omitempty"`
	Host   string `json:"host,omitempty"`
	Flavor string `json:"flavor,omitempty"`
	Server string `json:"server,omitempty"`
	Move   string `json:"move,omitempty"`
	// Ports are those of the server that request resources.
	Ports []Port `json:"ports"`
}

// A Port is a port that requests resources, with the providers that serve it.
type Port struct {
	ID      string      `json:"id"`
	Name    string      `json:"name,omitempty"`
	Network string      `json:"network"` // its name, or its UUID
	Policy  string      `json:"policy,omitempty"`
	Status  string      `json:"status"`
	VNIC    string      `json:"vnic_type"`
	Groups  []PortGroup `json:"groups"`
}

// A PortGroup is a request group of a port.
type PortGroup struct {
	ID        string           `json:"id"`
	Resources map[string]int64 `json:"resources"`
	Required  []string         `json:"required"`
	// Provider is the UUID of the provider that the port names for it, "" for none.
	Provider string `json:"provider,omitempty"`
}

// host answers with the tree that has a provider of a UUID or a name.
func (c *Console) host(r *http.Request, s *state) (any, error) {
	tree := treeNamed(s.reading.Snapshot, r.PathValue("host"))
	if tree == nil {
		return nil, fault.New(fault.NotFound, "", "no provider has the name or UUID %q", r.PathValue("host"))
	}
	consumers, err := c.consumersOf(r.Context(), s, tree)
	if err != nil {
		return nil, err
	}
	root := string(tree.Root().UUID)
	h := Host{
		Time: s.reading.Time, Row: *s.table.Row(root), Consumers: map[string]Consumer{}, AggregateNames: map[string]string{},
	}
	h.Providers, err = records.Tree(&cloud.Placement{
		Providers: cloud.TreeProviders(s.reading.Snapshot, tree), Consumers: consumers,
	}, root)
	if err != nil {
		return nil, err
	}
	x := s.index()
	for i := range consumers {
		h.Consumers[consumers[i].UUID] = describe(x, &consumers[i])
	}
	for i := range x.Compute.Aggregates {
		h.AggregateNames[x.Compute.Aggregates[i].UUID] = x.Compute.Aggregates[i].Name
	}
	return h, nil
}

// treeNamed returns the tree that has a provider of a UUID or a name, nil when there is none.
func treeNamed(s *snapshot.Snapshot, word string) *snapshot.Tree {
	if p, tree := s.Provider(placement.UUID(word)); p != nil {
		return tree
	}
	_, tree := s.ProviderNamed(word)
	return tree
}

// consumersOf returns the consumers that have something of a tree, with all that they have.
func (c *Console) consumersOf(ctx context.Context, s *state, tree *snapshot.Tree) ([]cloud.Consumer, error) {
	if c.source.Consumers != nil {
		return c.source.Consumers(ctx, tree)
	}
	if s.reading.Cloud.Placement == nil {
		return nil, nil
	}
	within := map[string]bool{}
	for _, p := range tree.Providers {
		within[string(p.UUID)] = true
	}
	var list []cloud.Consumer
	for _, consumer := range s.reading.Cloud.Placement.Consumers {
		for provider := range consumer.Allocations {
			if within[provider] {
				list = append(list, consumer)
				break
			}
		}
	}
	return list, nil
}

// describe returns what is known of a consumer.
func describe(x *index.Index, c *cloud.Consumer) Consumer {
	d := Consumer{
		ID: c.UUID, Kind: "consumer", Type: c.Type, Project: c.Project, User: c.User, Ports: []Port{},
	}
	server := x.Servers[c.UUID]
	if m := x.Migrations[c.UUID]; m != nil {
		d.Kind, d.Server, server = "migration", m.Server, x.Servers[m.Server]
		d.Move = m.Type + " from " + m.SourceHost + " to " + m.DestHost + ", " + m.Status
	} else if server != nil {
		d.Kind = "server"
		for _, port := range x.PortsOf[c.UUID] {
			if port.Request != nil {
				d.Ports = append(d.Ports, describePort(x, port))
			}
		}
	}
	if server != nil {
		d.Name, d.Status, d.Host, d.Flavor = server.Name, server.Status, server.Host, server.Flavor.Name
	}
	return d
}

// describePort returns what is known of a port with a resource request.
func describePort(x *index.Index, p *cloud.Port) Port {
	d := Port{ID: p.UUID, Name: p.Name, Network: p.Network, Policy: p.Policy, Status: p.Status, VNIC: p.VNIC}
	for i := range x.Network.Networks {
		if n := &x.Network.Networks[i]; n.UUID == p.Network && n.Name != "" {
			d.Network = n.Name
		}
	}
	if d.Policy == "" {
		d.Policy = p.NetworkPolicy
	}
	for i := range x.Network.Policies {
		if q := &x.Network.Policies[i]; q.UUID == d.Policy && q.Name != "" {
			d.Policy = q.Name
		}
	}
	for _, g := range p.Request.Groups {
		d.Groups = append(d.Groups, PortGroup{
			ID: g.ID, Resources: g.Resources, Required: append([]string{}, g.Required...), Provider: index.NamedProvider(p, g),
		})
	}
	return d
}
