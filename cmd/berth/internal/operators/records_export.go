package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
)

// exportOptions are the flags of "berth records export".
type exportOptions struct {
	env                   cli.Env
	source                cloudSource
	compute, network, all bool
	force                 bool
}

// newRecordsExport returns "berth records export".
func newRecordsExport(env cli.Env) *cobra.Command {
	o := &exportOptions{env: env}
	cmd := &cobra.Command{
		Use:   "export [--compute] [--network] [--all] [FILE]",
		Short: "Write the records of a cloud to a file",
		Long: `Export writes what the placement service knows to a file: providers with
inventories, traits and aggregates, and consumers with their allocations; with
--compute also servers, hosts, host aggregates and migrations; with --network
agents, ports, networks and QoS policies. The operators' commands read it with
--from-file instead of a cloud. It is for support, tests and planning.

The file is JSON. It has the ids of projects and users and the names of servers,
and no secrets. Without FILE it goes to standard output. A file that exists is
not replaced, unless --force is given.

Exit codes:
  0  written
  1  could not read the cloud or write the file; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used`,
		Example: `  berth records export --os-cloud admin --all cloud.json
  berth records export --config /etc/placement/placement.conf cloud.json
  ssh controller berth records export --os-cloud admin > cloud.json`,
		Args:              atMostOneFile,
		ValidArgsFunction: cli.Files(),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) == 1 && args[0] != "-" {
				path = args[0]
			}
			return o.run(cmd.Context(), path)
		},
	}
	o.source.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.compute, "compute", false, "write the records of the compute service too")
	f.BoolVar(&o.network, "network", false, "write the records of the network service too")
	f.BoolVar(&o.all, "all", false, "write the records of all services that this user may read")
	f.BoolVar(&o.force, "force", false, "replace FILE if it exists")
	return cmd
}

// run writes the records to a file, or to standard output for "".
func (o *exportOptions) run(ctx context.Context, path string) error {
	parts := cloud.Parts{Need: cloud.PlacementPart | cloud.ConsumersPart}
	if o.all {
		parts = cloud.All
	}
	if o.compute {
		parts.Need |= cloud.ComputePart
	}
	if o.network {
		parts.Need |= cloud.NetworkPart
	}
	if err := o.writable(path); err != nil { // before a cloud is read in vain
		return err
	}
	c, err := o.source.read(ctx, o.env, parts)
	if err != nil {
		return err
	}
	if err := o.writable(path); err != nil {
		return err
	}
	return cli.Fail(cli.ExitFailure, cli.WriteFile(o.env, path, func(w io.Writer) error { return cloud.Write(w, c) }))
}

// writable returns an error for a file that cannot be written, or exists and is not to be replaced.
func (o *exportOptions) writable(path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	if _, err := os.Lstat(path); err == nil && !o.force {
		return cli.Fail(cli.ExitFailure, fmt.Errorf("%s exists; --force replaces it", path))
	}
	return nil
}

// atMostOneFile refuses more than one argument.
func atMostOneFile(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return errors.New("want at most one argument, the file")
	}
	return nil
}
