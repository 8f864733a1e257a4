package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/osloconfig"
)

// The exit codes of berth. They are part of its interface: scripts and service managers decide by
// them whether to retry.
const (
	exitOK       = 0
	exitFailure  = 1 // failures without a code of their own
	exitUsage    = 2 // invalid arguments or settings
	exitDatabase = 3 // the database cannot be used
	exitInUse    = 4 // another process has the database
	exitListen   = 5 // the address to listen on cannot be had
	exitFound    = 6 // a command that looks has found something
)

// exitHelp documents the codes in the help texts of commands that serve.
const exitHelp = `Exit codes:
  0  stopped by a signal
  1  any other error
  2  wrong arguments or settings
  3  the database cannot be used; it is unchanged
  4  the database is in use by another process
  5  the address to listen on cannot be used`

// An environment is a command's access to the process, which tests replace.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string // as os.Environ returns it
}

// getenv returns a variable, "" for none.
func (e environment) getenv(name string) string {
	for _, v := range e.environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// process returns the environment for the services.
func (e environment) process() daemon.Process {
	return daemon.Process{Stderr: e.stderr, Getenv: e.getenv, Version: currentVersion().Version}
}

// exitCodes are the exit codes of services' failures.
var exitCodes = map[daemon.Cause]int{
	daemon.Failed: exitFailure, daemon.WrongSettings: exitUsage, daemon.DatabaseUnusable: exitDatabase, daemon.DatabaseInUse: exitInUse, daemon.AddressUnusable: exitListen,
}

// A failure is an error with an exit code.
type failure struct {
	code int
	err  error
}

// Error returns the message of the cause: the exit code is not part of it.
func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail returns an error with an exit code; nil stays nil.
func fail(code int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{code, err}
}

// run executes one command line until it is done or ctx ends, and returns the exit code. It writes
// the error, if any, to standard error.
func run(ctx context.Context, args []string, env environment) int {
	root := newRoot(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	complain(env.stderr, err)
	if code, ok := codeOf(err); ok {
		return code
	}
	return exitUsage // cobra's own: unknown commands and flags
}

// codeOf returns the exit code of an error, or of its cause in package daemon.
func codeOf(err error) (int, bool) {
	var f *failure
	if errors.As(err, &f) {
		return f.code, true
	}
	var s *daemon.Failure
	if errors.As(err, &s) {
		return exitCodes[s.Cause], true
	}
	return 0, false
}

// complain writes an error with the program's name before each line, which distinguishes it from the
// log. A line that several parts of the error have in common, about a file that each of them reads,
// is written once.
func complain(w io.Writer, err error) {
	said := map[string]bool{"": true}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !said[line] {
			fmt.Fprintf(w, "berth: %s\n", line)
		}
		said[line] = true
	}
}

// helpWidth is how many columns help may take, those of a terminal by default.
const helpWidth = 80

// newRoot returns the command "berth" with all its subcommands.
func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "OpenStack's placement system in one program",
		Long: `Berth tracks the resources of a cloud (which providers have them, which
consumers use them) and finds the hosts where the next server can run.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionText(),
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}")
	// Cobra's help breaks only the texts of flags; all others are written within the width.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", helpWidth)))
	root.SetFlagErrorFunc(suggestFlag)
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.CompletionOptions.HiddenDefaultCmd = false
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Services:", []*cobra.Command{newPlacement(env), newNetwork(env), newCompute(env), newAgent(env)}},
		{"On any OpenStack cloud:", []*cobra.Command{
			newDoctor(env), newExplain(env), newAudit(env), newHeal(env), newCapacity(env), newRecords(env), newWatch(env),
		}},
		{"Database of the placement service:", []*cobra.Command{newDB(env)}},
		{"To try it:", []*cobra.Command{newUp(env)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newVersion(env), newMan(env))
	root.SetGlobalNormalizationFunc(openStackNames)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = knownTopic
		case "completion":
			c.Args, c.RunE = knownCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range c.Commands() {
				shell.Args = noArguments
			}
		}
	}
	completeNames(root, env)
	completeValues(root)
	return root
}

// noArguments refuses arguments of a command that takes flags only. The error does not quote them: a
// URL with a password may have been given without its flag.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes flags and no arguments; %q lists them", cmd.CommandPath(), cmd.CommandPath()+" --help")
}

// knownTopic refuses to help with a command that does not exist.
func knownTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	return knownCommand(found, rest)
}

// knownCommand refuses arguments of a command that has subcommands only, and suggests the
// subcommand that was probably meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if strings.Contains(args[0], "://") {
		return fmt.Errorf("a URL is no command of %q; give it with its flag", cmd.CommandPath()) // it may have a password
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean("", osloconfig.Closest(args[0], names)))
}

// suggestFlag adds the most similar flag to the error about an unknown one, and describes valid
// values instead of the parser's error.
func suggestFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		switch f := invalid.GetFlag(); f.Value.Type() {
		case "int":
			return fmt.Errorf("--%s %s: want a whole number", f.Name, invalid.GetValue())
		case "bool":
			return fmt.Errorf("--%s=%s: want true or false", f.Name, invalid.GetValue())
		}
		return err
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return fmt.Errorf("%w%s", err, didYouMean("--", osloconfig.Closest(unknown.GetSpecifiedName(), names)))
}

// formerly returns a command under a former name: help does not list it, and it says on standard
// error what to type instead.
func formerly(env environment, cmd *cobra.Command, name, instead string) *cobra.Command {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	cmd.Use, cmd.Hidden = strings.TrimSpace(name+" "+arguments), true
	cmd.Annotations = map[string]string{formerName: instead}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fmt.Fprintf(env.stderr, "note: %s is %s now\n", cmd.CommandPath(), instead)
		return run(cmd, args)
	}
	return cmd
}

// formerName is the annotation of commands under a former name.
const formerName = "former-name"

// didYouMean is the end of an error that suggests a name; "" without one.
func didYouMean(prefix, name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + prefix + name + "?"
}
