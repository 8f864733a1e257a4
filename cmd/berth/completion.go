package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/devcloud"
)

// flagValues are the shell completions of flags' values. A flag has the same meaning in every
// command.
var flagValues = map[string]cobra.CompletionFunc{
	"config":             cli.Files("conf", "ini"),
	"compute-config":     cli.Files("conf", "ini"),
	"config-dir":         cli.Directories,
	"compute-config-dir": cli.Directories,
	"data":               cli.Directories,
	"input":              cli.Files(),
	"output":             cli.Files(),
	"from-file":          cli.Files(),
	"from-plan":          cli.Files(),
	"moves":              cli.Files(),
	"plan":               cli.Files(),
	"nova-config":        cli.Files("conf", "ini"),
	"bundle":             cli.Files("tar.gz", "tgz"),
	"policy-file":        cli.Files("yaml", "json"),
	"tls-cert":           cli.Files("pem", "crt"),
	"tls-key":            cli.Files("pem", "key"),
	"tls-client-ca":      cli.Files("pem", "crt"),
	"settings":           cli.Files("conf", "ini"),
	"os-interface":       cli.OneOf("public", "internal", "admin"),
	"connection":         databaseURLs,
	"from":               databaseURLs,
	"to":                 databaseURLs,
	"driver":             cli.OneOf(devcloud.Fake, devcloud.Netns),
	"kind": cli.OneOf(string(agentsettings.OVS), string(agentsettings.SRIOV),
		string(agentsettings.OVS)+","+string(agentsettings.SRIOV)),
}

// completeValues adds completions to the flags of a command and all below it, and an empty one
// where no values are known: without one, shells offer file names.
func completeValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, ok := cmd.GetFlagCompletionFunc(f.Name); ok || f.NoOptDefVal != "" { // a switch takes none
			return
		}
		complete, ok := flagValues[f.Name]
		if !ok {
			complete = cobra.NoFileCompletions
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists, and has none
	})
	if cmd.ValidArgsFunction == nil && !cmd.HasAvailableSubCommands() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		completeValues(sub)
	}
}

// databaseURLs completes the scheme of a database URL, or the name of a file after @.
func databaseURLs(_ *cobra.Command, _ []string, begun string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	const unfinished = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	path, ok := strings.CutPrefix(begun, "@")
	if !ok {
		for _, url := range []string{"sqlite:////", "mysql+pymysql://", "postgresql+psycopg2://", "@"} {
			if strings.HasPrefix(url, begun) {
				all = append(all, url)
			}
		}
		return all, unfinished
	}
	directory, name := filepath.Split(path)
	entries, _ := os.ReadDir(cmp.Or(directory, ".")) // an unreadable directory has no completions
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name) {
			continue
		}
		path := "@" + directory + e.Name()
		if e.IsDir() {
			path, directive = path+"/", unfinished
		}
		all = append(all, path)
	}
	return all, directive
}
