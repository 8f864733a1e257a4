package cli

import "github.com/spf13/cobra"

// AddConfigFlags adds the flags for settings files. OpenStack's name of the first, --config-file, is
// accepted too: see openStackNames.
func AddConfigFlags(cmd *cobra.Command, file string, files, dirs *[]string) {
	cmd.Flags().StringArrayVar(files, "config", nil, "read `FILE`, a "+file+"; may be given several times, later ones win; --config-file is the same")
	cmd.Flags().StringArrayVar(dirs, "config-dir", nil, "read all *.conf files of `DIR`, after the files")
}
