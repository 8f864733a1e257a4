package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
)

// version is set by the linker in releases.
var version = ""

// versionInfo is what "berth version -f json" prints.
type versionInfo struct {
	Version   string `json:"version"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	Placement string `json:"placement_microversions"`
	Traits    string `json:"os_traits"`
}

func newVersion(env environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it speaks",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := currentVersion()
			switch format {
			case "json":
				return json.NewEncoder(env.stdout).Encode(info)
			case "text":
				fmt.Fprintf(env.stdout, "berth %s (%s, %s)\nplacement API %s, %s\n",
					info.Version, info.Go, info.Platform, info.Placement, info.Traits)
				return nil
			}
			return fail(exitUsage, fmt.Errorf("unknown format %q: text and json are known", format))
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "text", "output format: text or json")
	return cmd
}

func currentVersion() versionInfo {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return versionInfo{
		Version:   v,
		Go:        runtime.Version(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
		Placement: microversion.Placement.Min().String() + " to " + microversion.Placement.Max().String(),
		Traits:    placement.StandardTraitsVersion,
	}
}
