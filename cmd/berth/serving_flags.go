package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/config"
)

// serveFlags are the flags of the commands that serve by settings files.
type serveFlags struct {
	files, dirs []string
	listen      string
	remote      bool
}

// add adds the flags, given the usual names of the files and the default address.
func (f *serveFlags) add(cmd *cobra.Command, file, address string) {
	addConfigFlags(cmd, file, &f.files, &f.dirs)
	cmd.Flags().StringVar(&f.listen, "listen", "", "listen on `HOST:PORT` instead of what the settings say (default "+address+")")
	cmd.PreRunE = func(*cobra.Command, []string) error { return checkListen("listen", f.listen) }
	cmd.Flags().BoolVar(&f.remote, "allow-remote-noauth", false, "start although auth_strategy accepts any token and other machines can reach the address: every client that reaches it has full access")
}

// addConfigFlags adds the flags for settings files. OpenStack's name of the first, --config-file, is
// accepted too: see openStackNames.
func addConfigFlags(cmd *cobra.Command, file string, files, dirs *[]string) {
	cmd.Flags().StringArrayVar(files, "config", nil, "read this "+file+"; may be given several times, later ones win; --config-file is the same")
	cmd.Flags().StringArrayVar(dirs, "config-dir", nil, "read all *.conf files of this directory, after the files")
}

// openStackNames maps the names of flags in OpenStack's programs to those of Berth.
func openStackNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "config-file":
		name = "config"
	case "compute-config-file":
		name = "compute-config"
	}
	return pflag.NormalizedName(name)
}

// checkListen returns an error for a malformed address in a flag; "" is accepted.
func checkListen(flag, address string) error {
	if address == "" {
		return nil
	}
	if err := config.CheckAddresses(address); err != nil {
		return fail(exitUsage, fmt.Errorf("--%s %s: %w", flag, address, err))
	}
	return nil
}

// none reports whether no settings files are given: the service is started as a trial.
func (f *serveFlags) none() bool { return len(f.files) == 0 && len(f.dirs) == 0 }

// apply overrides the settings with the flags.
func (f *serveFlags) apply(cfg *config.Service) {
	if f.listen != "" {
		cfg.Berth.Listen = f.listen
	}
	if f.remote {
		cfg.Berth.AllowRemoteNoAuth = true
	}
}
