package operators

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
)

// newRecordsDiff returns "berth records diff".
func newRecordsDiff(env cli.Env) *cobra.Command {
	var source cloudSource
	var out *cli.Output
	var byName bool
	cmd := &cobra.Command{
		Use:   "diff FILE [FILE]",
		Short: "Show what is different in two files of records, or in a cloud now",
		Long: `Diff shows which providers, inventories, traits, aggregates and allocations were
added, removed or changed between two files that berth records export has
written, or, with one FILE, between the file and a cloud now. Generations are no
difference. When one of both has no consumers, what is used of each provider is
compared instead of allocations.

Providers with the same UUID are compared. With --by-name they are those with
the same name, for two clouds of their own, such as a region and its twin; what
is used of each provider is compared then, and no allocations and aggregates.

` + cloudSourceHelp + `

` + operatorExitHelp,
		Example: `  berth records diff before.json after.json
  berth records diff before.json --os-cloud admin -f json
  berth records diff --by-name region1.json --os-cloud region2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return errors.New("want one or two arguments, files of records")
			}
			return nil
		},
		ValidArgsFunction: cli.Files(),
		RunE: func(cmd *cobra.Command, args []string) error {
			parts := cloud.Parts{Need: cloud.PlacementPart}
			before, err := (&cloudSource{file: args[0]}).readGiven(cmd.Context(), env, parts)
			if err != nil {
				return err
			}
			if len(args) == 2 {
				if source.ways() > 0 {
					return cli.Fail(cli.ExitUsage, errors.New("with two files no other source of records can be named"))
				}
				source.file = args[1]
			}
			if before.Placement.Consumers != nil && !byName {
				parts.Try |= cloud.ConsumersPart
			}
			after, err := source.read(cmd.Context(), env, parts)
			if err != nil {
				return err
			}
			diff := records.Diff
			if byName {
				diff = records.DiffByName
			}
			changes := diff(before.Placement, after.Placement)
			r := cli.Result{Columns: []string{"Change", "What", "Provider", "Consumer", "Subject", "Before", "After"}, Value: append([]records.Change{}, changes...)}
			for _, c := range changes {
				r.Rows = append(r.Rows, []any{c.Change, c.What, cli.OrNone(c.Provider), cli.OrNone(c.Consumer), cli.OrNone(c.Subject), cli.OrNone(c.Before), cli.OrNone(c.After)})
			}
			if len(changes) == 0 {
				r.Text = func(w io.Writer) error {
					_, err := fmt.Fprintln(w, "no differences")
					return err
				}
			}
			if err := out.Print(env.Stdout, r); err != nil {
				return cli.Fail(cli.ExitFailure, err)
			}
			if len(changes) > 0 {
				return cli.Fail(cli.ExitFindings, errors.New(cli.Count(len(changes), "difference")))
			}
			return nil
		},
	}
	source.flags(cmd)
	out = cli.AddOutput(cmd)
	cmd.Flags().BoolVar(&byName, "by-name", false, "compare providers of the same name, in two clouds")
	return cmd
}
