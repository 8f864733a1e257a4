// Command release makes the parts of a release that need more than the Go tool and dpkg: a
// container image in the OCI format, without a daemon or a registry, and a bill of materials
// in the CycloneDX format. Both depend on nothing but their arguments, so that a release can
// be made again byte for byte.
//
//	release image -program FILE -arch ARCH -version V -revision R -epoch SECONDS -settings FILE -o image.tar
//	release sbom -program FILE -version V -epoch SECONDS -o sbom.json
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A release is what the arguments say of it: the built program, what it is, the settings that the
// image has, and the file to write.
type release struct {
	program, arch, version, revision, settings, out string
	made                                            time.Time
}

// run makes the part that the first argument names. The time of everything in it is an argument
// too, since the same source has to give the same bytes.
func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which part: image or sbom")
	}
	var r release
	var epoch int64
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&r.program, "program", "", "the `file` with the program")
	flags.StringVar(&r.arch, "arch", "", "Go's name of the program's architecture")
	flags.StringVar(&r.version, "version", "", "the version")
	flags.StringVar(&r.revision, "revision", "", "the commit")
	flags.StringVar(&r.settings, "settings", "", "the `file` that becomes /etc/berth/placement.conf")
	flags.Int64Var(&epoch, "epoch", 0, "the time of everything in it, in `seconds` since 1970")
	flags.StringVar(&r.out, "o", "", "the `file` to write")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	r.made = time.Unix(epoch, 0).UTC()
	switch args[0] {
	case "image":
		return r.image()
	case "sbom":
		return r.sbom()
	}
	return fmt.Errorf("unknown part %s: image and sbom are known", args[0])
}
