package operators

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
)

// newRecordsTop returns "berth records top".
func newRecordsTop(env cli.Env) *cobra.Command {
	var source cloudSource
	var out *cli.Output
	var class string
	var limit int
	by := &cli.Choice{Word: "providers", Known: []string{"providers", "consumers", "projects"}}
	cmd := &cobra.Command{
		Use:   "top [--by WHAT] [--class CLASS]",
		Short: "Show the fullest providers and the biggest holders",
		Long: `Top shows the providers whose capacity of a resource class is used most, or,
with --by consumers or --by projects, who holds the biggest share of the cloud's
capacity of a class. Without --class it compares all classes.

` + cloudSourceHelp + `

` + lookExitHelp,
		Example: `  berth records top --os-cloud admin
  berth records top --from-file cloud.json --by projects --class VCPU`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return cli.Fail(cli.ExitUsage, fmt.Errorf("--limit %d: want 0 or more", limit))
			}
			parts := cloud.Parts{Need: cloud.PlacementPart}
			if by.Word != "providers" {
				parts.Need |= cloud.ConsumersPart
			}
			c, err := source.read(cmd.Context(), env, parts)
			if err != nil {
				return err
			}
			var usages []records.Usage
			r := cli.Result{}
			switch by.Word {
			case "providers":
				usages = records.Fullest(c.Placement, class)
				r.Columns = []string{"Provider", "UUID", "Resource Class", "Used", "Capacity", "Percent"}
			case "consumers":
				usages = records.Biggest(c.Placement, class, false)
				r.Columns = []string{"Consumer", "Type", "Project", "Resource Class", "Used", "Capacity", "Percent"}
			default:
				usages = records.Biggest(c.Placement, class, true)
				r.Columns = []string{"Project", "Resource Class", "Used", "Capacity", "Percent"}
			}
			if class != "" && len(usages) == 0 {
				fmt.Fprintf(env.Stderr, "note: there is nothing of the resource class %s\n", class)
			}
			if limit > 0 {
				usages = usages[:min(limit, len(usages))]
			}
			for _, l := range usages {
				row := []any{l.UUID}
				switch by.Word {
				case "providers":
					row = []any{l.Name, l.UUID}
				case "consumers":
					row = []any{l.UUID, cli.OrNone(l.Type), l.Project}
				}
				r.Rows = append(r.Rows, append(row, l.Class, l.Used, l.Capacity, l.Percent))
			}
			r.Value = append([]records.Usage{}, usages...)
			return cli.Fail(cli.ExitFailure, out.Print(env.Stdout, r))
		},
	}
	source.flags(cmd)
	out = cli.AddOutput(cmd)
	f := cmd.Flags()
	f.Var(by, "by", "show `WHAT`: providers, consumers or projects")
	_ = cmd.RegisterFlagCompletionFunc("by", cli.OneOf(by.Known...)) // the flag exists: the line above
	f.StringVar(&class, "class", "", "show the resource class `CLASS` only")
	f.IntVar(&limit, "limit", 20, "show `N` rows at most, 0 for all")
	return cmd
}
