package operators

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/lookup"
)

// serverFlags are the flags that describe servers to be created, as "openstack server create" has
// them.
type serverFlags struct {
	lookup.Options
	nova novaSettings
}

// flags adds the flags to a command.
func (s *serverFlags) flags(cmd *cobra.Command) {
	cli.Group(cmd, cli.ServerFlags, func(f *pflag.FlagSet) {
		f.StringVar(&s.Image, "image", "", "`IMAGE`: image of the server (name or ID)")
		f.StringArrayVar(&s.Ports, "port", nil,
			"`PORT`: port of the server (name or ID), in addition to those that it has; may be repeated")
		f.StringArrayVar(&s.Networks, "network", nil,
			"`NETWORK`: network of a new port of the server (name or ID); may be repeated")
		f.BoolVar(&s.FromVolume, "boot-from-volume", false, "the root disk of the server is a volume")
		f.StringVar(&s.Zone, "availability-zone", "", "`ZONE`: availability zone of the server, or ZONE:HOST for one host")
		f.StringVar(&s.Project, "project", "", "`ID`: project of the server (default that of the login)")
	})
	s.nova.flags(cmd)
}

// check refuses flags about a server to be created when there is none.
func (s *serverFlags) check(flavor bool) error {
	if !flavor && (s.Image != "" || s.FromVolume || s.Project != "") {
		return errors.New("--image, --boot-from-volume and --project are about a server to be created, and want --flavor")
	}
	return nil
}

// finder returns a finder in records of the source, with the flags of a command. It logs in when
// the records are not those of a file, or when it needs to. end is called after the last look-up:
// it says on standard error what is not known.
func (s *cloudSource) finder(
	ctx context.Context, env cli.Env, c *cloud.Cloud, flags serverFlags, needs bool,
) (f *lookup.Finder, end func(), err error) {
	p := cli.NewProgress(env)
	f = &lookup.Finder{
		Options: flags.Options, Cloud: c, Settings: flags.nova.Settings,
		Progress: func(what string, done, all int) {
			p.Show(func() string { return fmt.Sprintf("reading %s: %d of %d", what, done, all) })
		},
	}
	if needs || flags.NeedsAPIs() || s.file == "" {
		if f.Client, err = s.connect(ctx, env); err != nil {
			return nil, nil, cli.Fail(cli.ExitUsage,
				fmt.Errorf("servers, flavors and images are looked up in the cloud's APIs: %w", err))
		}
		if source := f.Client.Source(); source != c.Source {
			f.Note("servers, flavors, images, ports and networks are looked up in %s", source)
		}
	}
	return f, func() {
		p.End()
		flags.nova.note(env)
		for _, text := range f.Notes() {
			fmt.Fprintf(env.Stderr, "note: %s\n", text)
		}
	}, nil
}

// lookupFailure gives the error of a look-up its exit code, unless it has one.
func lookupFailure(err error) error {
	if _, coded := cli.CodeOf(err); coded {
		return err
	}
	if errors.As(err, new(lookup.UnknownServer)) {
		return cli.Fail(cli.ExitUsage, err)
	}
	return cli.Fail(cli.ExitFailure, err)
}

// A novaSettings is how Nova queries placement: by a nova.conf, or by default.
type novaSettings struct {
	lookup.Settings

	file    string
	assumed []string // settings with Nova's defaults
	silent  bool     // about which settings are assumed: the user has no nova.conf
	// inPlacement is [filter_scheduler] pci_in_placement, and aliases [pci] alias.
	inPlacement bool
	aliases     []string
}

func (n *novaSettings) flags(cmd *cobra.Command) {
	cli.Group(cmd, cli.ServerFlags, func(f *pflag.FlagSet) {
		f.StringVar(&n.file, "nova-config", "",
			"`FILE`: nova.conf with the request filters that apply (default Nova's defaults)")
	})
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
	n.Request, n.assumed = daemon.RequestSettings(&r.Scheduler), assumed
	n.DefaultZone, n.ScheduleZone = r.DefaultZone, r.ScheduleZone
	n.inPlacement, n.aliases = r.PCIInPlacement, r.Aliases
	if r.PCIInPlacement {
		if n.Request.PCI, err = request.ParseAliases(r.Aliases); err != nil {
			return cli.Fail(cli.ExitUsage, fmt.Errorf("%s: [pci] alias: %w", n.file, err))
		}
	}
	return nil
}

// note says on standard error what was assumed.
func (n *novaSettings) note(env cli.Env) {
	if n.silent {
		return
	}
	if n.file == "" {
		fmt.Fprintf(env.Stderr,
			"note: Nova is taken to have the request filters of its default nova.conf; --nova-config FILE reads another\n")
		return
	}
	if len(n.assumed) > 0 {
		fmt.Fprintf(env.Stderr, "note: %s has Nova's defaults for: %s\n", path.Base(n.file), strings.Join(n.assumed, ", "))
	}
}
