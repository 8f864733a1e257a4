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

// add declares the flags, given the names of the files and the default addresses.
func (f *serveFlags) add(cmd *cobra.Command, file, address string) {
	addConfigFlags(cmd, file, &f.files, &f.dirs)
	cmd.Flags().StringVar(&f.listen, "listen", "", "listen on `HOST:PORT` instead of what the settings say (default "+address+")")
	cmd.PreRunE = func(*cobra.Command, []string) error { return checkListen("listen", f.listen) }
	cmd.Flags().BoolVar(&f.remote, "allow-remote-noauth", false, "start although auth_strategy accepts any token and other machines can reach the address: every client that reaches it has full access")
}

// addConfigFlags declares the flags for settings files, given the names of the files. OpenStack's
// name for the first, --config-file, is accepted everywhere: see newRoot.
func addConfigFlags(cmd *cobra.Command, file string, files, dirs *[]string) {
	cmd.Flags().StringArrayVar(files, "config", nil, "read this "+file+"; may be given several times, later ones win; --config-file is the same")
	cmd.Flags().StringArrayVar(dirs, "config-dir", nil, "read all *.conf files of this directory, after the files")
}

// openStackNames are flags by the names that OpenStack's programs have for them.
func openStackNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "config-file":
		name = "config"
	case "compute-config-file":
		name = "compute-config"
	}
	return pflag.NormalizedName(name)
}

// checkListen refuses an address of the command line that is none.
func checkListen(flag, address string) error {
	if address == "" {
		return nil
	}
	if err := config.CheckAddresses(address); err != nil {
		return fail(exitUsage, fmt.Errorf("--%s %s: %w", flag, address, err))
	}
	return nil
}

// none reports whether no files are named.
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
