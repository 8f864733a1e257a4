package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
)

// The linker sets these: the version in releases, and the revision of the source, with
// "+changed" when files differ from it, in every build that make does.
var (
	version  = ""
	revision = ""
)

// versionOptions are the flags of "berth version".
type versionOptions struct {
	env cli.Env
	out *cli.Output
}

// newVersion returns "berth version".
func newVersion(env cli.Env) *cobra.Command {
	o := &versionOptions{env: env}
	cmd := &cobra.Command{
		Use:   "version [-f FORMAT]",
		Short: "Print the version of the program and of the APIs",
		Args:  cli.NoArguments,
		RunE:  func(*cobra.Command, []string) error { return o.run() },
	}
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run prints the version.
func (o *versionOptions) run() error {
	v := o.env.Version
	return o.out.Print(o.env, cli.Result{
		Columns: []string{"Version", "Revision", "Go", "Platform", "Placement Microversions", "OS Traits"},
		Rows:    [][]any{{v.Version, v.Revision, v.Go, v.Platform, v.Placement, v.Traits}},
		Value:   v,
		Text: func(w io.Writer) error {
			_, err := io.WriteString(w, versionText())
			return err
		},
	})
}

// versionText is the output of "berth version" and "berth --version".
func versionText() string {
	info := currentVersion()
	return fmt.Sprintf("berth %s, revision %s (%s, %s)\nplacement API %s, %s\n",
		info.Version, info.Revision, info.Go, info.Platform, info.Placement, info.Traits)
}

// currentVersion returns the version that the linker has set, or else what the Go toolchain has
// recorded.
func currentVersion() cli.Version {
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
	return cli.Version{
		Version:   v,
		Revision:  r,
		Go:        runtime.Version(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
		Placement: microversion.Placement.Range(),
		Traits:    placement.StandardTraitsVersion,
	}
}
