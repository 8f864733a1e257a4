package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
)

// The linker sets these: the version in releases, and the revision of the source, with
// "+changed" when files differ from it, in every build that make does.
var (
	version  = ""
	revision = ""
)

// versionInfo is the output of "berth version -f json". Its keys are part of the program's
// interface.
type versionInfo struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	Placement string `json:"placement_microversions"`
	Traits    string `json:"os_traits"`
}

// newVersion returns "berth version".
func newVersion(env environment) *cobra.Command {
	var format *choice
	cmd := &cobra.Command{
		Use:   "version [-f FORMAT]",
		Short: "Print the version of the program and of the APIs",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if format.json() {
				return fail(exitFailure, writeJSON(env.stdout, currentVersion()))
			}
			_, err := io.WriteString(env.stdout, versionText())
			return fail(exitFailure, err)
		},
	}
	format = addFormat(cmd, "text")
	return cmd
}

// versionText is the output of "berth version" and "berth --version".
func versionText() string {
	info := currentVersion()
	return fmt.Sprintf("berth %s, revision %s (%s, %s)\nplacement API %s, %s\n",
		info.Version, info.Revision, info.Go, info.Platform, info.Placement, info.Traits)
}

// currentVersion returns the version that the linker has set, or else what the Go toolchain has
// recorded.
func currentVersion() versionInfo {
	v, r := version, revision
	if info, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && r == "" {
				r = s.Value
			}
		}
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	if r == "" {
		r = "unknown"
	}
	return versionInfo{
		Version:   v,
		Revision:  r,
		Go:        runtime.Version(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
		Placement: microversion.Placement.Min().String() + " to " + microversion.Placement.Max().String(),
		Traits:    placement.StandardTraitsVersion,
	}
}
