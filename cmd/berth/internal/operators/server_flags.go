package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/novaquery"
)

// serverFlags are the flags that describe servers to be created, as "openstack server create" has them. Ports and networks may be those
// of a server that failed, too: it has lost them.
type serverFlags struct {
	image           string
	ports, networks []string
	volume          bool
	zone            string
	project         string
}

// flags adds the flags to a command.
func (s *serverFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.image, "image", "", "from `IMAGE`, a name or id")
	f.StringArrayVar(&s.ports, "port", nil, "with `PORT`, a name or id, beside those that it has; may be repeated")
	f.StringArrayVar(&s.networks, "network", nil, "with a new port in `NETWORK`, a name or id; may be repeated")
	f.BoolVar(&s.volume, "boot-from-volume", false, "whose root disk is a volume")
	f.StringVar(&s.zone, "availability-zone", "", "in `ZONE`, or on a host with ZONE:HOST")
	f.StringVar(&s.project, "project", "", "of the project with `ID`, instead of the one that is logged in to")
}

// check refuses flags about a server to be created when there is none.
func (s *serverFlags) check(flavor bool) error {
	if !flavor && (s.image != "" || s.volume || s.project != "") {
		return errors.New("--image, --boot-from-volume and --project are about a server to be created, and want --flavor")
	}
	return nil
}

// A finder finds what Nova asks for servers, in the records and the APIs of a cloud.
type finder struct {
	serverFlags

	cloud    *cloud.Cloud
	client   *cloudapi.Client // nil when the records are those of a file
	nova     novaSettings
	notes    []string // what is not known, or ignored, a line each
	progress cloudapi.Progress
	owners   []string // of request groups, by their UUIDs, and what the user calls them, in turn
}

// finder returns a finder in records of the source, with the flags of a command. It logs in when the records are not those of a file, or
// when it needs to. End is called when all is found: it says on standard error what is not known.
func (s *cloudSource) finder(ctx context.Context, env cli.Env, c *cloud.Cloud, flags serverFlags, nova novaSettings, needs bool) (f *finder, end func(), err error) {
	p := cli.NewProgress(env)
	f = &finder{serverFlags: flags, cloud: c, nova: nova, progress: func(what string, done, of int) {
		p.Show(func() string { return fmt.Sprintf("reading %s: %d of %d", what, done, of) })
	}}
	if needs || flags.needsAPIs() || s.file == "" {
		if f.client, err = s.connect(ctx, env); err != nil {
			return nil, nil, cli.Fail(cli.ExitUsage, fmt.Errorf("servers, flavors and images are looked up in the cloud's APIs: %w", err))
		}
		if at := f.client.Source(); at != c.Source {
			f.note("servers, flavors, images, ports and networks are looked up in %s", at)
		}
	}
	return f, func() {
		p.End()
		nova.note(env)
		for _, text := range f.notes {
			fmt.Fprintf(env.Stderr, "note: %s\n", text)
		}
	}, nil
}

func (f *finder) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// needsAPIs reports whether the flags name what has to be looked up.
func (s *serverFlags) needsAPIs() bool { return len(s.ports)+len(s.networks) > 0 }

// toCreate returns a server to be created of a flavor.
func (f *finder) toCreate(ctx context.Context, flavor string) (s novaquery.Server, err error) {
	s.FromVolume, s.Project, s.Zone = f.volume, cmp.Or(f.project, f.client.Project()), f.nova.scheduleZone
	if s.Flavor, err = f.client.Flavor(ctx, flavor); err != nil {
		return s, err
	}
	if f.image != "" {
		if s.Image, err = f.client.Image(ctx, f.image); err != nil {
			return s, err
		}
	}
	return s, f.complete(ctx, &s)
}

// existing returns a server that exists, by its name or UUID.
func (f *finder) existing(ctx context.Context, word string) (novaquery.Server, error) {
	s, of, err := novaquery.Of(f.cloud, word)
	if err != nil {
		return s, cli.Fail(cli.ExitUsage, err)
	}
	if of.Host == "" && len(s.Ports) == 0 && !f.needsAPIs() {
		f.note("The server %s has no host and no ports. When the creation of a server fails, Nova tells no more which ports it was to have: name them with --port and --network.", word)
	}
	if zone := f.nova.scheduleZone; zone != "" && f.zone == "" && !f.cloud.Compute.ZonesKnown {
		f.note("Which zone the server %s was created for is not known (before 2.96): it is taken to be %s, nova.conf's default_schedule_zone.", word, zone)
		s.Zone = zone
	}
	switch {
	case f.client == nil:
		f.note("The image of the server %s is not among the records of a file: what it requires is not asked for.", word)
		if f.cloud.Compute.Groups == nil {
			f.note("The server group of the server %s is not among the records of the file: what it forbids is not looked at.", word)
		}
		return s, f.complete(ctx, &s)
	case of.Image != "":
		image, err := f.client.Image(ctx, of.Image)
		switch {
		case ctx.Err() != nil:
			return s, err
		case err != nil: // it may have been deleted since
			f.note("What the image of the server %s requires is not asked for: %v", word, err)
		default:
			s.Image = image
		}
	}
	if s.Hints.Group == nil { // its list may be that of another project
		group, err := f.client.GroupOf(ctx, of.UUID)
		if err == nil && group != "" {
			s.Hints.Group, err = f.group(ctx, group)
		}
		if err != nil {
			return s, err
		}
	}
	return s, f.complete(ctx, &s)
}

// lookupFailure gives the error of a lookup its exit code, unless it has one.
func lookupFailure(err error) error {
	if _, coded := cli.CodeOf(err); coded {
		return err
	}
	return cli.Fail(cli.ExitFailure, err)
}

// group returns a server group.
func (f *finder) group(ctx context.Context, id string) (*cloud.ServerGroup, error) {
	if f.cloud.Compute != nil {
		at := slices.IndexFunc(f.cloud.Compute.Groups, func(g cloud.ServerGroup) bool { return g.UUID == id })
		if at >= 0 {
			return &f.cloud.Compute.Groups[at], nil
		}
	}
	if f.client == nil {
		return nil, errors.New("server groups are looked up in the cloud's APIs")
	}
	g, err := f.client.Group(ctx, id)
	return &g, err
}

// complete adds the ports and the zone of the flags, and the segments of ports where Nova looks at them.
func (f *finder) complete(ctx context.Context, s *novaquery.Server) error {
	for _, word := range f.ports {
		p, err := f.client.Port(ctx, word)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.Ports, func(has cloud.Port) bool { return has.UUID == p.UUID }) {
			s.Ports = append(s.Ports, p)
		}
		f.owners = append(f.owners, "port "+p.UUID, "port "+word)
	}
	for i, word := range f.networks {
		n, err := f.client.Network(ctx, word)
		if err != nil {
			return err
		}
		var policy cloud.QoSPolicy
		if n.Policy != "" {
			if policy, err = f.client.Policy(ctx, n.Policy); err != nil {
				return err
			}
		}
		p, err := novaquery.PortIn(n, policy, i)
		if err != nil {
			return err
		}
		if p.Request != nil {
			f.owners = append(f.owners, "port "+p.UUID, "the port in network "+word)
			f.note("The QoS policy of network %s guarantees something: Nova does not boot servers with such a network, only with a port in it.", word)
		}
		s.Ports = append(s.Ports, p)
	}
	zone, node, _ := strings.Cut(f.zone, ":")
	if zone != "" {
		s.Zone, s.Pinned = zone, false
	}
	s.Node, s.DefaultZone = node, f.nova.defaultZone
	if !f.nova.settings.RoutedNetworks {
		return nil
	}
	if f.client == nil {
		f.note("The segments of networks are not among the records of a file: Nova's setting query_placement_for_routed_network_aggregates is left out.")
		f.nova.settings.RoutedNetworks = false
		return nil
	}
	for _, p := range s.Ports {
		segments, err := f.client.Segments(ctx, p.Network, p.Subnet)
		if err != nil {
			return err
		}
		s.Segments = append(s.Segments, segments)
	}
	return nil
}

// ask returns what Nova asks for a server, with a note for each part of the flavor that Nova ignores.
func (f *finder) ask(s novaquery.Server) (request.Request, error) {
	r, err := novaquery.Request(s, f.cloud, f.nova.settings)
	for _, warning := range r.Warnings {
		f.note("Nova ignores a part of the flavor: %s", warning)
	}
	return r, err
}

// owner says whose request group a suffix is.
func (f *finder) owner(r request.Request) func(suffix string) string {
	rename := strings.NewReplacer(f.owners...)
	return func(suffix string) string { return rename.Replace(r.Owner(suffix)) }
}

// A novaSettings is how Nova asks placement: by a nova.conf, or by default.
type novaSettings struct {
	file     string
	settings request.Settings
	assumed  []string // settings with Nova's defaults
	// The zone of hosts that are in no aggregate with one, and that of servers which are created without one, "" for none.
	defaultZone, scheduleZone string
}

func (n *novaSettings) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&n.file, "nova-config", "", "ask as Nova does with the request filters of `FILE`, a nova.conf")
}

// read reads the file. The error has its exit code.
func (n *novaSettings) read() error {
	var files []string
	if n.file != "" {
		files = []string{n.file}
	}
	r, assumed, err := config.LoadRequests(files...)
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	n.settings, n.assumed = daemon.RequestSettings(&r.Scheduler), assumed
	n.defaultZone, n.scheduleZone = r.DefaultZone, r.ScheduleZone
	return nil
}

// note says on standard error what was assumed.
func (n *novaSettings) note(env cli.Env) {
	if n.file == "" {
		fmt.Fprintf(env.Stderr, "note: Nova is taken to have the request filters of its default nova.conf; --nova-config FILE reads another\n")
		return
	}
	if len(n.assumed) > 0 {
		fmt.Fprintf(env.Stderr, "note: %s leaves to Nova's defaults: %s\n", path.Base(n.file), strings.Join(n.assumed, ", "))
	}
}
