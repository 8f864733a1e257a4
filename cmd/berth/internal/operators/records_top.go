package operators

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
)

// topOptions are the flags of "berth records top".
type topOptions struct {
	env    cli.Env
	source cloudSource
	by     cli.Choice
	class  string
	limit  int
	out    *cli.Output
}

// newRecordsTop returns "berth records top".
func newRecordsTop(env cli.Env) *cobra.Command {
	o := &topOptions{env: env, by: cli.Choice{Word: "providers", Known: []string{"providers", "consumers", "projects"}}}
	cmd := &cobra.Command{
		Use:   "top [--by WHAT] [--class CLASS]",
		Short: "Show the fullest providers and the largest consumers",
		Long: `Top shows the providers whose capacity of a resource class is used most, or,
with --by consumers or --by projects, who uses the largest share of the cloud's
capacity of a class. Without --class it compares all classes.

` + showExitHelp,
		Example: `  berth records top --os-cloud admin
  berth records top --from-file cloud.json --by projects --class VCPU`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.flags(cmd)
	o.out = cli.AddOutput(cmd)
	f := cmd.Flags()
	f.Var(&o.by, "by", "`WHAT`: what is compared: providers, consumers or projects")
	_ = cmd.RegisterFlagCompletionFunc("by", cli.OneOf(o.by.Known...)) // the flag exists: the line above
	f.StringVar(&o.class, "class", "", "`CLASS`: resource class to compare, all if none is given")
	f.IntVar(&o.limit, "limit", 20, "`N`: number of rows at most, 0 for all")
	return cmd
}

// run shows the fullest or the largest.
func (o *topOptions) run(ctx context.Context) error {
	if o.limit < 0 {
		return cli.Fail(cli.ExitUsage, fmt.Errorf("--limit %d: want 0 or more", o.limit))
	}
	parts := cloud.Parts{Need: cloud.PlacementPart}
	if o.by.Word != "providers" {
		parts.Need |= cloud.ConsumersPart
	}
	c, err := o.source.read(ctx, o.env, parts)
	if err != nil {
		return err
	}
	var usages []records.Usage
	r := cli.Result{}
	switch o.by.Word {
	case "providers":
		usages = records.Fullest(c.Placement, o.class)
		r.Columns = []string{"Provider", "UUID", "Resource Class", "Used", "Capacity", "Percent"}
	case "consumers":
		usages = records.Largest(c.Placement, o.class, false)
		r.Columns = []string{"Consumer", "Type", "Project", "Resource Class", "Used", "Capacity", "Percent"}
	default:
		usages = records.Largest(c.Placement, o.class, true)
		r.Columns = []string{"Project", "Resource Class", "Used", "Capacity", "Percent"}
	}
	if o.class != "" && len(usages) == 0 {
		fmt.Fprintf(o.env.Stderr, "note: there is nothing of the resource class %s\n", o.class)
	}
	if o.limit > 0 {
		usages = usages[:min(o.limit, len(usages))]
	}
	for _, u := range usages {
		row := []any{u.UUID}
		switch o.by.Word {
		case "providers":
			row = []any{u.Name, u.UUID}
		case "consumers":
			row = []any{u.UUID, cli.OrNone(u.Type), u.Project}
		}
		r.Rows = append(r.Rows, append(row, u.Class, u.Used, u.Capacity, u.Percent))
	}
	r.Value = append([]records.Usage{}, usages...)
	return o.out.Print(o.env, r)
}
