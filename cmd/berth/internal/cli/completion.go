package cli

import "github.com/spf13/cobra"

// OneOf completes one of some words.
func OneOf(known ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)
}

// Files completes the names of files with one of the extensions, or of all without any.
func Files(extensions ...string) cobra.CompletionFunc {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// Directories completes the name of a directory.
func Directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
