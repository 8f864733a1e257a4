package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
)

// serveFlags are the flags of the commands that serve by settings files. Those that are given
// override the files at each reload too.
type serveFlags struct {
	files, dirs []string
	listen      string
	remote      bool
}

// add adds the flags, given the usual names of the files and the default address. The address is
// checked before any file is read, so that the error names the flag.
func (f *serveFlags) add(cmd *cobra.Command, file, address string) {
	cli.AddConfigFlags(cmd.Flags(), file, &f.files, &f.dirs)
	cmd.Flags().StringVar(&f.listen, "listen", "",
		"`HOST:PORT`: address to listen on, instead of that of the settings (default "+address+")")
	cmd.PreRunE = func(*cobra.Command, []string) error { return checkListen("listen", f.listen) }
	cmd.Flags().BoolVar(&f.remote, "allow-remote-noauth", false, "start although auth_strategy accepts any token and "+
		"other machines can reach the address: every client that reaches it has full access")
}

// openStackNames maps the names of flags in OpenStack's programs, and former names, to those of
// Berth.
func openStackNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "config-file":
		name = "config"
	case "compute-config-file":
		name = "compute-config"
	case "codes": // the former name in audit
		name = "list"
	}
	return pflag.NormalizedName(name)
}

// checkListen returns an error for a malformed address in a flag; "" is accepted.
func checkListen(flag, address string) error {
	if address == "" {
		return nil
	}
	if err := config.CheckAddresses(address); err != nil {
		return cli.Fail(cli.ExitUsage, fmt.Errorf("--%s %s: %w", flag, address, err))
	}
	return nil
}

// readSettings returns a function that reads the settings of a service with load and applies the
// flags; it is called at the start and at each reload. trial, unless it is nil, changes the
// settings of a start without files.
func readSettings[C interface{ Common() *config.Service }](
	f *serveFlags, load func(files, dirs []string) (C, []string, error), trial func(C),
) func() (C, []string, error) {
	return func() (cfg C, warnings []string, err error) {
		cfg, warnings, err = load(f.files, f.dirs)
		if err != nil {
			return cfg, nil, fmt.Errorf("reading the settings:\n%w", err)
		}
		if trial != nil && len(f.files)+len(f.dirs) == 0 {
			trial(cfg)
		}
		common := cfg.Common()
		if f.listen != "" {
			common.Berth.Listen = f.listen
		}
		if f.remote {
			common.Berth.AllowRemoteNoAuth = true
		}
		return cfg, warnings, nil
	}
}

// exitHelp documents the codes in the help texts of commands that serve.
const exitHelp = `Exit codes:
  0  stopped by a signal
  1  any other error
  2  wrong arguments or settings
  3  the database cannot be used; it is unchanged
  4  the database is in use by another process
  5  the address to listen on cannot be used`

// process returns the environment of the services.
func process(env cli.Env) daemon.Process {
	return daemon.Process{Stderr: env.Stderr, Getenv: env.Getenv, Version: env.Version.Version}
}
