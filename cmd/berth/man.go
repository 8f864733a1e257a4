package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/internal/manpages"
)

// newMan returns "berth man", with which packages write the manual pages. It is hidden in help.
func newMan(cli.Env) *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:   "man [--date YYYY-MM-DD] DIR",
		Short: "Write the manual pages into a directory",
		Long: `Man writes a page for each command (section 1) and one for the settings
of each service (section 5) into DIR, which it creates. The same program and
date give the same files.`,
		Hidden:            true,
		ValidArgsFunction: cli.Directories,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want one argument, the directory to write to")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Fail(cli.ExitFailure, writeManual(args[0], cmd.Root(), date))
		},
	}
	cmd.Flags().StringVar(&date, "date", "", "`YYYY-MM-DD`: date at the foot of the pages")
	return cmd
}

// writeManual writes the pages of all commands (section 1) and of the services' settings (section
// 5) into dir.
func writeManual(dir string, root *cobra.Command, date string) error {
	s := manpages.Stamp{Version: currentVersion().Version, Date: date}
	var settings []manpages.Page
	pages := map[string]manpages.Page{} // by the first word of a command that reads them
	for _, c := range manuals() {
		page := manpages.Settings(c, s)
		settings, pages[c.Service] = append(settings, page), page
	}
	pages["db"] = pages["placement"]
	commands := manpages.Commands(root, s, func(c *cobra.Command) []manpages.Page {
		if !c.HasParent() {
			return settings
		}
		page, ok := pages[strings.Fields(c.CommandPath())[1]]
		if !ok || c.Flags().Lookup("config") == nil { // agents have Neutron's
			return nil
		}
		return []manpages.Page{page}
	})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the manual: %w", err)
	}
	for _, p := range append(commands, settings...) {
		if err := os.WriteFile(filepath.Join(dir, p.File()), []byte(p.Text), 0o644); err != nil {
			return fmt.Errorf("writing the manual: %w", err)
		}
	}
	return nil
}

// manuals describe the settings of the services for their pages. The rows are those of the
// defaults, which are the same tables that the services load by.
func manuals() []manpages.Configuration {
	placement, network, compute := config.DefaultPlacement(), config.DefaultNetwork(), config.DefaultCompute()
	return []manpages.Configuration{{
		Page: "berth-placement.conf", Service: "placement",
		Files:    "the file that OpenStack Placement reads",
		Variable: "OS_PLACEMENT_DATABASE__CONNECTION", Option: "`connection` in `[placement_database]`",
		Paths:    []manpages.Path{{Name: "/etc/berth/placement.conf", Meaning: "What the packaged service reads."}},
		Settings: placement.Settings(), Ignored: placement.Ignores(),
	}, {
		Page: "berth-network.conf", Service: "network",
		Files:    "the files that a Neutron server reads, neutron.conf and ml2_conf.ini, given one after the other",
		Variable: "OS_DATABASE__CONNECTION", Option: "`connection` in `[database]`",
		Paths: []manpages.Path{
			{Name: "/etc/neutron/neutron.conf", Meaning: "Neutron's. Its database is not Berth's: name another one."},
			{
				Name:    "/etc/neutron/plugins/ml2/ml2_conf.ini",
				Meaning: "What Neutron's ML2 reads: networks and the drivers that bind ports.",
			},
		},
		Settings: network.Settings(), Ignored: network.Ignores(),
	}, {
		Page: "berth-compute.conf", Service: "compute",
		Files:    "the file that Nova's services read, nova.conf, or several",
		Variable: "OS_DATABASE__CONNECTION", Option: "`connection` in `[database]`",
		Paths: []manpages.Path{
			{Name: "/etc/nova/nova.conf", Meaning: "Nova's. Its database is not Berth's: name another one."},
		},
		Settings: compute.Settings(), Ignored: compute.Ignores(),
	}}
}
