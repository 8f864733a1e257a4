package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
)

// treeOptions are the flags of "berth records tree".
type treeOptions struct {
	env    cli.Env
	source cloudSource
	out    *cli.Output
}

// newRecordsTree returns "berth records tree".
func newRecordsTree(env cli.Env) *cobra.Command {
	o := &treeOptions{env: env}
	cmd := &cobra.Command{
		Use:   "tree HOST",
		Short: "Show a host's providers, what they have, and who uses it",
		Long: `Tree shows the tree of resource providers that has a provider of the name or
UUID HOST: each provider with its inventories, what is used and free of them,
its traits and aggregates, and the consumers with allocations from it. Free is
what remains of the capacity, which is (total - reserved) * allocation_ratio.

From the APIs only this tree is read.

` + showExitHelp,
		Example: `  berth records tree cn7 --os-cloud admin
  berth records tree cn7 --from-file cloud.json -f json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want one argument, the name or UUID of a provider")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	o.source.flags(cmd)
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run shows the tree of a host.
func (o *treeOptions) run(ctx context.Context, host string) error {
	c, err := o.source.read(ctx, o.env, cloud.Parts{Need: cloud.PlacementPart, Try: cloud.ConsumersPart, Tree: host})
	if err != nil {
		return err
	}
	providers, err := records.Tree(c.Placement, host)
	if err != nil {
		return cli.Fail(cli.ExitFailure, fmt.Errorf("%s: %w", c.Source, err))
	}
	r := cli.Result{
		Columns: []string{"Provider", "UUID", "Resource Class", "Total", "Reserved", "Ratio", "Capacity", "Used", "Free"},
		Value:   providers,
	}
	for _, p := range providers {
		for _, s := range p.Inventories {
			r.Rows = append(r.Rows, []any{p.Name, p.UUID, s.Class, s.Total, s.Reserved, s.Ratio, s.Capacity, s.Used, s.Free})
		}
		if len(p.Inventories) == 0 {
			r.Rows = append(r.Rows, []any{p.Name, p.UUID, nil, nil, nil, nil, nil, nil, nil})
		}
	}
	r.Text = func(w io.Writer) error { return treeText(w, providers) }
	return o.out.Print(o.env, r)
}

// treeText writes a tree for people.
func treeText(w io.Writer, providers []records.Provider) error {
	var b strings.Builder
	for _, n := range providers {
		indent := strings.Repeat("    ", n.Depth)
		line := func(format string, args ...any) { fmt.Fprintf(&b, indent+"  "+format+"\n", args...) }
		fmt.Fprintf(&b, "%s%s  (%s, generation %d)\n", indent, n.Name, n.UUID, n.Generation)
		for _, s := range n.Inventories {
			if s.Free == 0 && s.Used > s.Capacity {
				line("%s: %d of %d used, all reserved while it is in use", s.Class, s.Used, s.Total)
				continue
			}
			more := ""
			if s.Reserved != 0 || s.Ratio != 1 {
				more = fmt.Sprintf(" (total %d, reserved %d, ratio %v)", s.Total, s.Reserved, s.Ratio)
			}
			line("%s: %d of %d used, %d free%s", s.Class, s.Used, s.Capacity, s.Free, more)
		}
		if len(n.Traits) > 0 {
			line("traits: %s", strings.Join(n.Traits, ", "))
		}
		if len(n.Aggregates) > 0 {
			line("aggregates: %s", strings.Join(n.Aggregates, ", "))
		}
		for _, h := range n.Allocations {
			var amounts []string
			for _, class := range slices.Sorted(maps.Keys(h.Resources)) {
				amounts = append(amounts, fmt.Sprintf("%s %d", class, h.Resources[class]))
			}
			kind := h.Type
			if kind == "" {
				kind = "consumer"
			}
			line("%s %s of project %s has %s", kind, h.Consumer, h.Project, strings.Join(amounts, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
