package main

import "github.com/spf13/cobra"

// newRecords returns "berth records", which has subcommands only.
func newRecords(env environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "records",
		Short: "Show, compare, export and import what placement has",
		Long: `Records are what the placement service of a cloud has: resource providers with
inventories, traits and aggregates, and consumers with their allocations. Export
writes them to a file, with those of the compute and the network service if
asked for, which the other commands read with --from-file.`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range recordsCommands(env) {
		cmd.AddCommand(sub)
	}
	return cmd
}

// recordsCommands returns the subcommands.
func recordsCommands(env environment) []*cobra.Command {
	return []*cobra.Command{newRecordsTree(env), newRecordsTop(env), newRecordsDiff(env), newRecordsExport(env), newRecordsImport(env)}
}
