package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/osloconfig"
)

// NoArguments refuses arguments of a command that takes flags only. The error does not quote them:
// a URL with a password may have been given without its flag.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes flags and no arguments; %q lists them", cmd.CommandPath(), cmd.CommandPath()+" --help")
}

// KnownCommand refuses arguments of a command that has subcommands only, and suggests the
// subcommand that was probably meant.
func KnownCommand(cmd *cobra.Command, args []string) error {
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
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(),
		didYouMean("", osloconfig.Closest(args[0], names)))
}

// SuggestFlag adds the most similar flag to the error about an unknown one, and describes valid
// values instead of the parser's error.
func SuggestFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		switch f := invalid.GetFlag(); f.Value.Type() {
		case "int":
			return fmt.Errorf("--%s %s: want a whole number", f.Name, invalid.GetValue())
		case "bool":
			if f.DefValue == "" { // a flag that takes a value too, whose error says what it wants
				return err
			}
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

// Formerly returns a command under a former name: help does not list it, and it says on standard
// error what to type instead.
func Formerly(env Env, cmd *cobra.Command, name, instead string) *cobra.Command {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	cmd.Use, cmd.Hidden = strings.TrimSpace(name+" "+arguments), true
	cmd.Annotations = map[string]string{FormerName: instead}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fmt.Fprintf(env.Stderr, "note: %s is %s now\n", cmd.CommandPath(), instead)
		return run(cmd, args)
	}
	return cmd
}

// FormerName is the annotation of commands under a former name.
const FormerName = "former-name"

// didYouMean is the end of an error that suggests a name; "" without one.
func didYouMean(prefix, name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + prefix + name + "?"
}
