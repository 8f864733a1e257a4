package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/database"
	"github.com/berthcloud/berth/cmd/berth/internal/operators"
)

// run executes one command line until it is done or ctx ends, and returns the exit code. It writes
// the error, if any, to standard error.
func run(ctx context.Context, args []string, env cli.Env) int {
	root := newRoot(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return cli.ExitOK
	}
	cli.PrintError(env.Stderr, err)
	if code, ok := cli.CodeOf(err); ok {
		return code
	}
	return cli.ExitUsage // cobra's own: unknown commands and flags
}

// newRoot returns the command "berth" with all its subcommands.
func newRoot(env cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "OpenStack's placement system in one program",
		Long: `Berth tracks the resources of a cloud (which providers have them, which
consumers use them) and finds the hosts where the next server can run.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionText(),
		Args:          cli.KnownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}")
	cli.SetUsage(root)
	root.SetFlagErrorFunc(cli.SuggestFlag)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = false
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Services:", []*cobra.Command{newPlacement(env), newNetwork(env), newCompute(env), newAgent(env)}},
		{"On any OpenStack cloud:", []*cobra.Command{
			operators.NewDoctor(env), operators.NewExplain(env), operators.NewAudit(env), operators.NewHeal(env),
			operators.NewCapacity(env), operators.NewRecords(env), operators.NewWatch(env), operators.NewExporter(env),
			operators.NewConsole(env), operators.NewUpgradeCheck(env), operators.NewReshape(env),
		}},
		{"Database of the placement service:", []*cobra.Command{database.New(env)}},
		{"To try it:", []*cobra.Command{newUp(env)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newVersion(env), newMan(env), operators.NewSources(), operators.NewExitCodes())
	root.SetGlobalNormalizationFunc(openStackNames)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = knownTopic
		case "completion":
			c.Args, c.RunE = cli.KnownCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range c.Commands() {
				shell.Args = cli.NoArguments
			}
		}
	}
	operators.CompleteNames(root, env)
	completeValues(root)
	return root
}

// knownTopic refuses to help with a command that does not exist.
func knownTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	return cli.KnownCommand(found, rest)
}
