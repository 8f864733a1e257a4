package operators

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// NewCapacity returns "berth capacity", which has subcommands only.
func NewCapacity(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capacity",
		Short: "Count what still fits, and plan how to drain a host",
		Args:  cli.KnownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCapacityHeadroom(env), newCapacityDrain(env),
		cli.Formerly(env, newCapacityHeadroom(env), "left", "berth capacity headroom"),
		cli.Formerly(env, newCapacityDrain(env), "empty", "berth capacity drain"))
	return cmd
}

// snapshot reads parts of the records and returns them with their snapshot.
func (s *cloudSource) snapshot(
	ctx context.Context, env cli.Env, parts cloud.Parts,
) (*cloud.Cloud, *snapshot.Snapshot, error) {
	c, err := s.read(ctx, env, parts)
	if err != nil {
		return nil, nil, err
	}
	snap, err := c.Snapshot()
	return c, snap, cli.Fail(cli.ExitFailure, err)
}

// hostNamed finds the tree of a host by the name or UUID of a provider in it.
func hostNamed(s *snapshot.Snapshot, name string) (*snapshot.Tree, error) {
	_, t := s.ProviderNamed(name)
	if t == nil {
		_, t = s.Provider(placement.UUID(name))
	}
	if t == nil {
		return nil, fmt.Errorf("there is no provider with the name or UUID %q", name)
	}
	return t, nil
}
