package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
)

// newRecordsTop returns "berth records top".
func newRecordsTop(env environment) *cobra.Command {
	var source cloudSource
	var out *output
	var class string
	var limit int
	by := &choice{word: "providers", known: []string{"providers", "consumers", "projects"}}
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return fail(exitUsage, fmt.Errorf("--limit %d: want 0 or more", limit))
			}
			parts := cloud.Parts{Placement: cloud.Need}
			if by.word != "providers" {
				parts.Consumers = cloud.Need
			}
			c, err := source.read(cmd.Context(), env, parts)
			if err != nil {
				return err
			}
			var usages []records.Usage
			r := result{}
			switch by.word {
			case "providers":
				usages = records.Fullest(c.Placement, class)
				r.columns = []string{"Provider", "UUID", "Resource Class", "Used", "Capacity", "Percent"}
			case "consumers":
				usages = records.Biggest(c.Placement, class, false)
				r.columns = []string{"Consumer", "Type", "Project", "Resource Class", "Used", "Capacity", "Percent"}
			default:
				usages = records.Biggest(c.Placement, class, true)
				r.columns = []string{"Project", "Resource Class", "Used", "Capacity", "Percent"}
			}
			if class != "" && len(usages) == 0 {
				fmt.Fprintf(env.stderr, "note: there is nothing of the resource class %s\n", class)
			}
			if limit > 0 {
				usages = usages[:min(limit, len(usages))]
			}
			for _, l := range usages {
				row := []any{l.UUID}
				switch by.word {
				case "providers":
					row = []any{l.Name, l.UUID}
				case "consumers":
					row = []any{l.UUID, orNone(l.Type), l.Project}
				}
				r.rows = append(r.rows, append(row, l.Class, l.Used, l.Capacity, l.Percent))
			}
			r.value = append([]records.Usage{}, usages...)
			return fail(exitFailure, out.print(env.stdout, r))
		},
	}
	source.flags(cmd)
	out = addOutput(cmd)
	f := cmd.Flags()
	f.Var(by, "by", "show `WHAT`: providers, consumers or projects")
	_ = cmd.RegisterFlagCompletionFunc("by", oneOf(by.known...)) // the flag exists: the line above
	f.StringVar(&class, "class", "", "show the resource class `CLASS` only")
	f.IntVar(&limit, "limit", 20, "show `N` rows at most, 0 for all")
	return cmd
}
