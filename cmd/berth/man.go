package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/internal/manpages"
)

// newMan returns the command that packagers write the manual pages with. Help
// does not show it.
func newMan(environment) *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:   "man [--date YYYY-MM-DD] DIR",
		Short: "Write the manual pages into a directory",
		Long: `Man writes a page for each command (section 1) and one for the settings
(section 5) into DIR, which it makes. The same program and date give the same
files.`,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return fail(exitFailure, writeManual(args[0], cmd.Root(), date))
		},
	}
	cmd.Flags().StringVar(&date, "date", "", "date at the foot of the pages, as `YYYY-MM-DD`")
	return cmd
}

// writeManual writes the pages of the program into dir.
func writeManual(dir string, root *cobra.Command, date string) error {
	s := manpages.Stamp{Version: currentVersion().Version, Date: date}
	settings := manpages.Settings("berth-placement.conf", config.DefaultPlacement().Settings(), s)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the manual: %w", err)
	}
	for _, p := range append(manpages.Commands(root, s, settings), settings) {
		if err := os.WriteFile(filepath.Join(dir, p.File()), []byte(p.Text), 0o644); err != nil {
			return fmt.Errorf("writing the manual: %w", err)
		}
	}
	return nil
}
