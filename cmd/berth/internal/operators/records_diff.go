package operators

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
)

// diffOptions are the flags of "berth records diff".
type diffOptions struct {
	env    cli.Env
	source cloudSource
	byName bool
	out    *cli.Output
}

// newRecordsDiff returns "berth records diff".
func newRecordsDiff(env cli.Env) *cobra.Command {
	o := &diffOptions{env: env}
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

` + exitHelp,
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
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.source.flags(cmd)
	o.out = cli.AddOutput(cmd)
	cmd.Flags().BoolVar(&o.byName, "by-name", false, "compare providers of the same name, in two clouds")
	return cmd
}

// run shows the differences of the first file to the second, or to the source.
func (o *diffOptions) run(ctx context.Context, files []string) error {
	parts := cloud.Parts{Need: cloud.PlacementPart}
	before, err := (&cloudSource{file: files[0]}).readGiven(ctx, o.env, parts)
	if err != nil {
		return err
	}
	if len(files) == 2 {
		if o.source.ways() > 0 {
			return cli.Fail(cli.ExitUsage, errors.New("with two files no other source of records can be named"))
		}
		o.source.file = files[1]
	}
	if before.Placement.Consumers != nil && !o.byName {
		parts.Try |= cloud.ConsumersPart
	}
	after, err := o.source.read(ctx, o.env, parts)
	if err != nil {
		return err
	}
	diff := records.Diff
	if o.byName {
		diff = records.DiffByName
	}
	changes := diff(before.Placement, after.Placement)
	r := cli.Result{Columns: changeColumns, Value: append([]records.Change{}, changes...)}
	for _, c := range changes {
		r.Rows = append(r.Rows, changeRow(c))
	}
	if len(changes) == 0 {
		r.Text = func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "no differences")
			return err
		}
	}
	if err := o.out.Print(o.env, r); err != nil {
		return err
	}
	if len(changes) > 0 {
		return cli.Fail(cli.ExitFindings, errors.New(cli.Count(len(changes), "difference")))
	}
	return nil
}

var changeColumns = []string{"Change", "What", "Provider", "Consumer", "Subject", "Before", "After"}

// changeRow is a change in a table with changeColumns.
func changeRow(c records.Change) []any {
	return []any{
		c.Change, c.What, cli.OrNone(c.Provider), cli.OrNone(c.Consumer), cli.OrNone(c.Subject), cli.OrNone(c.Before),
		cli.OrNone(c.After),
	}
}
