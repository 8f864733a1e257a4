package operators

import (
	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// NewRecords returns "berth records", which has subcommands only.
func NewRecords(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "records",
		Short: "Show, compare, export, import and change what placement has",
		Long: `Records are what the placement service of a cloud has: resource providers with
inventories, traits and aggregates, and consumers with their allocations. Export
writes them to a file, on request with those of the compute and the network
service, which the other commands read with --from-file.`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range append(RecordsCommands(env), newRecordsTraits(env)) {
		cmd.AddCommand(sub)
	}
	return cmd
}

// RecordsCommands returns the subcommands that berth placement has had too.
func RecordsCommands(env cli.Env) []*cobra.Command {
	return []*cobra.Command{
		newRecordsTree(env), newRecordsTop(env), newRecordsDiff(env), newRecordsExport(env), newRecordsImport(env),
	}
}
