// Package novaquery builds the query that Nova sends to placement for a server, from records of a
// cloud, so that tools can send the query that Nova would. It is pure. The rules are those of
// compute/request: filters that an operator has switched on in nova.conf ([scheduler]
// query_placement_…, limit_tenants_to_placement_aggregate) are chosen with request.Settings.
package novaquery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/placement"
)

// A Server is what is requested: a server to be created, or one that exists.
type Server struct {
	Flavor cloud.Flavor
	Image  cloud.Image
	// FromVolume says that the root disk is a volume, which takes no disk of the host.
	FromVolume bool
	Ports      []cloud.Port
	// Segments are, for each port in a routed network, the UUIDs of the segments that it can be in.
	Segments [][]string
	Project  string // "" when it does not matter
	Zone     string // availability zone, "" for any
	// Pinned says that the server exists, and was created for the zone.
	Pinned bool
	// DefaultZone is the zone of hosts that are in no aggregate with one, "" for Nova's default. It
	// is examined when there are no records of services.
	DefaultZone string
	// Node is the name of the provider of the only host that will do, "" for any; Nova takes it
	// from a forced host.
	Node string
	// Hints are scheduler hints.
	Hints Hints
	// UUID is the server's, "" for one to be created.
	UUID string
}

// Hints are the scheduler hints that Nova's default filters have. They are not part of the query:
// Nova drops hosts that placement offers. Refusals says which.
type Hints struct {
	// Same and Different are servers whose host the server is to be on, or not.
	Same, Different []string
	// Group is the server group that the server is in, or is to be in; nil for none.
	Group *cloud.ServerGroup
}

// any reports whether there are any, with which Nova requests all candidates that there are.
func (h *Hints) any() bool { return len(h.Same)+len(h.Different) > 0 || h.Group != nil }

// Settings returns settings for the release that the cloud's Nova is, and for the NUMA nodes that
// its hosts have as providers. [Request] does it when it is called without a release; with many
// servers it is done once.
func Settings(c *cloud.Cloud, settings request.Settings) request.Settings {
	settings.Release, _ = index.Release(c)
	settings.Owner, _ = index.Owned(c)
	settings.NUMA, settings.NonNUMA = index.NUMA(c)
	return settings
}

// Request returns what Nova queries placement for, with the warnings of what it ignores in the
// flavor. The error says why Nova sends no query and answers that there is no valid host, or
// refuses the request.
func Request(s Server, c *cloud.Cloud, settings request.Settings) (request.Request, error) {
	zone, err := s.zone(c)
	if err != nil {
		return request.Request{}, err
	}
	spec := request.Spec{
		Flavor: extraspecs.Flavor{
			Name: s.Flavor.Name, VCPUs: s.Flavor.VCPUs, MemoryMB: s.Flavor.RAM, RootGB: s.Flavor.Disk,
			EphemeralGB: s.Flavor.Ephemeral, SwapMB: s.Flavor.Swap, Specs: s.Flavor.Specs,
		},
		Image: extraspecs.Image{
			ID: s.Image.UUID, Name: s.Image.Name, DiskFormat: s.Image.DiskFormat, Properties: s.Image.Properties,
		},
		FromVolume: s.FromVolume,
		Project:    s.Project,
		Zone:       zone,
		Unlimited:  s.Hints.any(),
	}
	for i := range s.Ports {
		if p, ok := port(&s.Ports[i]); ok {
			spec.Ports = append(spec.Ports, p)
		}
	}
	if settings.RoutedNetworks {
		if spec.Routed, err = routed(s.Segments, c); err != nil {
			return request.Request{}, err
		}
	}
	if s.Node != "" {
		i := -1
		if c.Placement != nil {
			i = slices.IndexFunc(c.Placement.Providers, func(p cloud.Provider) bool {
				return p.Name == s.Node || p.UUID == s.Node
			})
		}
		if i < 0 {
			return request.Request{}, fmt.Errorf("no provider has the name or UUID %q", s.Node)
		}
		spec.InTree = placement.UUID(c.Placement.Providers[i].UUID)
	}
	var aggregates []request.Aggregate
	if c.Compute != nil {
		for _, a := range c.Compute.Aggregates {
			aggregates = append(aggregates, request.Aggregate{UUID: placement.UUID(a.UUID), Metadata: a.Metadata})
		}
	}
	if settings.Release == 0 {
		settings = Settings(c, settings)
	}
	settings.Release = index.ReleaseFor(c, settings.Release, &s.Flavor)
	return request.New(spec, settings, aggregates)
}

// zone returns the zone that Nova requests: with a host that is named, none unless the host is in
// it. The error says why Nova refuses the request: a zone is one of enabled services.
func (s Server) zone(c *cloud.Cloud) (string, error) {
	switch {
	case s.Zone == "" || s.Pinned:
		return s.Zone, nil
	case c.Compute == nil && s.Zone == cmp.Or(s.DefaultZone, "nova"):
		return s.Zone, nil
	case c.Compute == nil:
		return "", fmt.Errorf(
			"whether there is an availability zone %q is not known: there are no records of the compute service", s.Zone)
	case s.Node != "":
		host := serviceOf(c, s.Node)
		if !slices.ContainsFunc(c.Compute.Services, func(service cloud.Service) bool {
			return service.Binary == "nova-compute" && service.Host == host && service.Zone == s.Zone
		}) {
			return "", nil
		}
	case !slices.ContainsFunc(c.Compute.Services, func(service cloud.Service) bool {
		return service.Zone == s.Zone && service.Status != "disabled"
	}):
		return "", fmt.Errorf("no enabled service is in the availability zone %q: Nova refuses the request", s.Zone)
	}
	return s.Zone, nil
}

// serviceOf returns the host of the compute service of a node.
func serviceOf(c *cloud.Cloud, node string) string {
	for _, h := range c.Compute.Hypervisors {
		if h.Hostname == node {
			return h.Host
		}
	}
	return node
}

// port returns the request of a port, false when it requests nothing.
func port(p *cloud.Port) (request.Port, bool) {
	if p.Request == nil || len(p.Request.Groups) == 0 {
		return request.Port{}, false
	}
	requested := request.Port{ID: p.UUID, VNIC: p.VNIC, SameSubtree: p.Request.SameSubtree}
	for _, g := range p.Request.Groups {
		id := g.ID
		if id == "" { // the format before groups
			id, requested.LegacyFormat = p.UUID, true
		}
		requested.Groups = append(requested.Groups, request.Group{ID: id, Resources: g.Resources, Required: g.Required})
	}
	return requested, true
}

// PortIn returns the port that Nova creates for the nth network of a new server, as far as
// placement reads it: with the request that the network's QoS policy gives it. The policy may be
// empty.
func PortIn(n cloud.NetworkOf, policy cloud.QoSPolicy, nth int) (cloud.Port, error) {
	p, err := NewPort(n, policy, "normal", nth)
	p.Policy, p.NetworkPolicy = "", p.Policy
	return p, err
}

// NewPort returns a new port of a VNIC type in a network with a QoS policy of its own, as far as
// placement reads it: with the request that Neutron computes. The policy may be empty. Ports in a
// network with different nth have different UUIDs.
func NewPort(n cloud.NetworkOf, policy cloud.QoSPolicy, vnic string, nth int) (cloud.Port, error) {
	network, err := guarantee.ParseUUID(n.UUID)
	if err != nil {
		return cloud.Port{}, fmt.Errorf("the network %s: %w", n.Name, err)
	}
	port := guarantee.Port{
		ID: network.Derive(fmt.Sprint(nth)), VNICType: vnic,
		Segments: []guarantee.Segment{{Type: n.Type, PhysicalNetwork: n.Physical}},
	}
	for _, physical := range n.Segments {
		port.Segments = append(port.Segments, guarantee.Segment{Type: n.Type, PhysicalNetwork: physical})
	}
	for _, r := range policy.Rules {
		port.Rules = append(port.Rules, guarantee.Rule{
			ID: r.UUID, Type: guarantee.RuleType(r.Type), Direction: r.Direction, Amount: r.MinKbps + r.MinKpps,
		})
	}
	p := cloud.Port{UUID: port.ID.String(), Network: n.UUID, VNIC: port.VNICType, Policy: policy.UUID}
	r := port.Request(guarantee.Extensions{Tunnels: true})
	if len(r.Groups) == 0 {
		return p, nil
	}
	p.Request = &cloud.PortRequest{}
	for _, g := range r.Groups {
		p.Request.Groups = append(p.Request.Groups, cloud.PortGroup{
			ID: g.ID.String(), Required: g.Required, Resources: g.Resources,
		})
	}
	for _, id := range r.SameSubtree() {
		p.Request.SameSubtree = append(p.Request.SameSubtree, id.String())
	}
	return p, nil
}

// routed returns, for each port, the aggregates of the hosts that reach one of its segments.
// Neutron keeps a provider for each segment, in the aggregate of these hosts. The error is a
// *request.NoValidHost when there is none.
func routed(ports [][]string, c *cloud.Cloud) (all [][]placement.UUID, err error) {
	for _, segments := range ports {
		var reach []placement.UUID
		for _, segment := range segments {
			var p *cloud.Provider
			if c.Placement != nil {
				p = c.Placement.Provider(segment)
			}
			if p == nil || len(p.Aggregates) == 0 {
				return nil, &request.NoValidHost{
					Reason:  "Scheduling failed: Aggregates not found",
					Details: []string{fmt.Sprintf("placement has no provider for the segment %s, or it is in no aggregate", segment)},
				}
			}
			for _, a := range p.Aggregates {
				reach = append(reach, placement.UUID(a))
			}
		}
		if len(reach) > 0 {
			all = append(all, reach)
		}
	}
	return all, nil
}

// FromServer returns what a server that exists requests, with its ports, its server group and the
// zone that it is bound to, as far as they are among the records. The image is to be filled in by
// the caller, who can look it up. It is an error when there is no such server, by its UUID or,
// where that is unique, its name.
func FromServer(c *cloud.Cloud, server string) (Server, *cloud.Server, error) {
	if c.Compute == nil {
		return Server{}, nil, fmt.Errorf("the records of the compute service are needed to find the server %q", server)
	}
	var matches []*cloud.Server
	for i := range c.Compute.Servers {
		if s := &c.Compute.Servers[i]; s.UUID == server || s.Name == server {
			matches = append(matches, s)
		}
	}
	switch len(matches) {
	case 0:
		return Server{}, nil, fmt.Errorf("there is no server with the name or UUID %q", server)
	case 1:
	default:
		return Server{}, nil, fmt.Errorf("%d servers have the name %q; take the UUID of one", len(matches), server)
	}
	s := matches[0]
	request := Server{
		UUID: s.UUID, Flavor: s.Flavor, Image: cloud.Image{UUID: s.Image, Properties: s.ImageProperties},
		FromVolume: s.Image == "", Project: s.Project,
	}
	request.Hints.Same, request.Hints.Different = s.Hints["same_host"], s.Hints["different_host"]
	// Nova requests the zone that a server was created for whenever it moves, and for none when no
	// aggregate is that zone.
	if slices.ContainsFunc(c.Compute.Aggregates, func(a cloud.Aggregate) bool {
		return a.Metadata["availability_zone"] == s.Pinned
	}) {
		request.Zone, request.Pinned = s.Pinned, true
	}
	for i := range c.Compute.Groups {
		if g := &c.Compute.Groups[i]; slices.Contains(g.Members, s.UUID) {
			request.Hints.Group = g
			break
		}
	}
	if c.Network != nil {
		for _, p := range c.Network.Ports {
			if p.Device == s.UUID {
				request.Ports = append(request.Ports, p)
			}
		}
	}
	return request, s, nil
}

// Like returns Nova's query for a server like one that exists, by its records: without
// segments of its networks, and what is not known of its image; in its zone, or in any.
func Like(c *cloud.Cloud, settings request.Settings, name string, inZone bool) (placement.Query, error) {
	if c.Network == nil {
		return placement.Query{},
			fmt.Errorf("the ports of server %q are not known: there are no records of the network service", name)
	}
	server, _, err := FromServer(c, name)
	if err != nil {
		return placement.Query{}, err
	}
	if !inZone {
		server.Zone, server.Pinned = "", false
	}
	settings.RoutedNetworks = false
	r, err := Request(server, c, settings)
	return r.Query, err
}
