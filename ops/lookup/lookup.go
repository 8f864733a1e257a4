// Package lookup finds servers whose query to placement is to be built, in the records of a cloud
// and its APIs: one that exists or failed, or one to be created from a flavor with an image, ports
// and networks, as "openstack server create" describes it. Package novaquery builds the query; it
// knows no APIs.
package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
)

// Options describe servers. Ports and networks may be those of a server that failed, too: it has
// lost them.
type Options struct {
	Image           string // name or ID
	Ports, Networks []string
	FromVolume      bool
	Zone            string // ZONE or ZONE:HOST
	Project         string // ID, "" for that of the login
}

// NeedsAPIs reports whether the options name what is looked up in the APIs.
func (o *Options) NeedsAPIs() bool { return len(o.Ports)+len(o.Networks) > 0 }

// Settings are those of a nova.conf.
type Settings struct {
	Request request.Settings
	// DefaultZone is the zone of hosts that are in no aggregate with one, and ScheduleZone that of
	// servers which are created without one; "" for none.
	DefaultZone, ScheduleZone string
}

// A Finder finds servers. Client is nil when the records are those of a file; what needs APIs must
// not be looked up then.
type Finder struct {
	Options

	Cloud    *cloud.Cloud
	Client   *cloudapi.Client
	Settings Settings
	Progress cloudapi.Progress

	notes  []string
	owners []string // of request groups, by their UUIDs, and what the user calls them, alternately
}

// Notes are what is not known, or ignored, a line each.
func (f *Finder) Notes() []string { return f.notes }

// Note adds a note, once.
func (f *Finder) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// An UnknownServer is the error about a name or UUID that no server has.
type UnknownServer struct{ error }

// Unwrap returns the error of the records.
func (e UnknownServer) Unwrap() error { return e.error }

// New returns a server to be created of a flavor.
func (f *Finder) New(ctx context.Context, flavor string) (s novaquery.Server, err error) {
	s.FromVolume, s.Project, s.Zone = f.FromVolume, cmp.Or(f.Project, f.Client.Project()), f.Settings.ScheduleZone
	if s.Flavor, err = f.Client.Flavor(ctx, flavor); err != nil {
		return s, err
	}
	if f.Image != "" {
		if s.Image, err = f.Client.Image(ctx, f.Image); err != nil {
			return s, err
		}
	}
	return s, f.complete(ctx, &s)
}

// Existing returns a server that exists, by its name or UUID. The error about one that does not is
// an UnknownServer.
func (f *Finder) Existing(ctx context.Context, name string) (novaquery.Server, error) {
	s, record, err := novaquery.FromServer(f.Cloud, name)
	if err != nil {
		return s, UnknownServer{err}
	}
	if record.Host == "" && len(s.Ports) == 0 && !f.NeedsAPIs() {
		f.Note("The server %s has no host and no ports. When the creation of a server fails, Nova does not report any more "+
			"which ports it was to have: name them with --port and --network.", name)
	}
	if zone := f.Settings.ScheduleZone; zone != "" && f.Zone == "" && !f.Cloud.Compute.ZonesKnown {
		f.Note("Which zone the server %s was created for is not known (before 2.96): it is taken to be %s, nova.conf's "+
			"default_schedule_zone.", name, zone)
		s.Zone = zone
	}
	switch {
	case f.Client == nil:
		switch {
		case record.Image == "": // a volume
		case f.Cloud.Compute.ImagesKnown:
			f.Note("Which traits the image of the server %s requires is not among the records of a file: they are ignored.",
				name)
		default:
			f.Note("The image of the server %s is not among the records of a file: what it requires is ignored.", name)
		}
		if f.Cloud.Compute.Groups == nil {
			f.Note("The server group of the server %s is not among the records of the file: what it forbids is ignored.", name)
		}
		return s, f.complete(ctx, &s)
	case record.Image != "":
		image, err := f.Client.Image(ctx, record.Image)
		switch {
		case ctx.Err() != nil:
			return s, err
		case err != nil && f.Cloud.Compute.ImagesKnown: // it may have been deleted since
			f.Note("Traits that the image of the server %s requires are ignored: %v", name, err)
		case err != nil:
			f.Note("What the image of the server %s requires is ignored: %v", name, err)
		default:
			// What the server has kept counts, also when the image was changed since.
			kept := maps.Clone(record.ImageProperties)
			s.Image = image
			if f.Cloud.Compute.ImagesKnown {
				s.Image.Properties = kept
				for key, value := range image.Properties {
					if strings.HasPrefix(key, "trait:") {
						s.Image.Properties = with(s.Image.Properties, key, value)
					}
				}
			}
		}
	}
	if s.Hints.Group == nil { // its list may be that of another project
		group, err := f.Client.GroupOf(ctx, record.UUID)
		if err == nil && group != "" {
			s.Hints.Group, err = f.Group(ctx, group)
		}
		if err != nil {
			return s, err
		}
	}
	return s, f.complete(ctx, &s)
}

// with returns properties with one more.
func with(properties map[string]string, key, value string) map[string]string {
	if properties == nil {
		properties = map[string]string{}
	}
	properties[key] = value
	return properties
}

// OfRequest returns the server one of whose actions has a request id.
func (f *Finder) OfRequest(ctx context.Context, id string) (novaquery.Server, error) {
	var servers []string // those that failed first
	for _, failed := range []bool{true, false} {
		for _, s := range f.Cloud.Compute.Servers {
			if (s.Status == "ERROR") == failed {
				servers = append(servers, s.UUID)
			}
		}
	}
	server, err := f.Client.ServerOfRequest(ctx, servers, id, f.Progress)
	switch {
	case err != nil:
		return novaquery.Server{}, err
	case server == "":
		return novaquery.Server{}, fmt.Errorf("no server has an action with the request id %s", id)
	}
	return f.Existing(ctx, server)
}

// Group returns a server group.
func (f *Finder) Group(ctx context.Context, id string) (*cloud.ServerGroup, error) {
	if f.Cloud.Compute != nil {
		i := slices.IndexFunc(f.Cloud.Compute.Groups, func(g cloud.ServerGroup) bool { return g.UUID == id })
		if i >= 0 {
			return &f.Cloud.Compute.Groups[i], nil
		}
	}
	if f.Client == nil {
		return nil, errors.New("server groups are looked up in the cloud's APIs")
	}
	g, err := f.Client.Group(ctx, id)
	return &g, err
}

// complete adds the ports and the zone of the options, and the segments of ports where Nova
// considers them.
func (f *Finder) complete(ctx context.Context, s *novaquery.Server) error {
	for _, name := range f.Ports {
		p, err := f.Client.Port(ctx, name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.Ports, func(has cloud.Port) bool { return has.UUID == p.UUID }) {
			s.Ports = append(s.Ports, p)
		}
		f.owners = append(f.owners, "port "+p.UUID, "port "+name)
	}
	for i, name := range f.Networks {
		n, err := f.Client.Network(ctx, name)
		if err != nil {
			return err
		}
		var policy cloud.QoSPolicy
		if n.Policy != "" {
			if policy, err = f.Client.Policy(ctx, n.Policy); err != nil {
				return err
			}
		}
		p, err := novaquery.PortIn(n, policy, i)
		if err != nil {
			return err
		}
		if p.Request != nil {
			f.owners = append(f.owners, "port "+p.UUID, "the port in network "+name)
			f.Note("The QoS policy of network %s guarantees something: Nova does not boot servers with such a network, only "+
				"with a port in it.", name)
		}
		s.Ports = append(s.Ports, p)
	}
	zone, node, _ := strings.Cut(f.Zone, ":")
	if zone != "" {
		s.Zone, s.Pinned = zone, false
	}
	s.Node, s.DefaultZone = node, f.Settings.DefaultZone
	if !f.Settings.Request.RoutedNetworks {
		return nil
	}
	if f.Client == nil {
		f.Note("The segments of networks are not among the records of a file: Nova's setting " +
			"query_placement_for_routed_network_aggregates is ignored.")
		f.Settings.Request.RoutedNetworks = false
		return nil
	}
	for _, p := range s.Ports {
		segments, err := f.Client.Segments(ctx, p.Network, p.Subnet)
		if err != nil {
			return err
		}
		s.Segments = append(s.Segments, segments)
	}
	return nil
}

// Query returns what Nova queries placement for, with a note for each part of the flavor that Nova
// ignores.
func (f *Finder) Query(s novaquery.Server) (request.Request, error) {
	if f.Settings.Request.Release == 0 {
		f.Settings.Request = novaquery.Settings(f.Cloud, f.Settings.Request)
	}
	r, err := novaquery.Request(s, f.Cloud, f.Settings.Request)
	for _, warning := range r.Warnings {
		f.Note("Nova ignores a part of the flavor: %s", warning)
	}
	if r.OnNodes() && len(r.Fallbacks()) > 0 {
		f.Note("This is about hosts that report NUMA nodes. When none of them fits, hosts that report none are requested.")
	}
	if groups := vgpuGroups(r.Query); groups > 1 && !f.Settings.Request.Release.Since(request.Gazpacho) {
		f.Note("Flavor %s has VGPUs in %d request groups, and Nova is of %s: before 2026.1 it allocates all of them, and "+
			"gives a server the devices of one group only.",
			s.Flavor.Name, groups, f.Settings.Request.Release)
	}
	return r, err
}

// vgpuGroups returns how many groups of a query request VGPUs.
func vgpuGroups(q placement.Query) (n int) {
	for _, g := range q.Groups {
		if slices.ContainsFunc(g.Resources, func(r placement.ClassAmount) bool { return r.Class == "VGPU" }) {
			n++
		}
	}
	return n
}

// Owner returns a function that says whose request group a suffix is, with the names that the user
// has given.
func (f *Finder) Owner(r request.Request) func(suffix string) string {
	rename := strings.NewReplacer(f.owners...)
	return func(suffix string) string { return rename.Replace(r.Owner(suffix)) }
}
