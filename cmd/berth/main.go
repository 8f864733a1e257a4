// Command berth is OpenStack's placement system in one program. This package has the root command,
// the services, the agents and "berth up"; what these do is in daemon, daemon/hostagent and
// devcloud. The other commands are in internal/operators (those for any OpenStack cloud) and
// internal/database ("berth db"), and what all have in common is in internal/cli.
//
// There is a file for each command, whose function newX returns it. Output of a command goes to
// standard output, messages to standard error; with -f json standard output has one JSON value,
// whose keys are part of the program's interface (docs/operations/README.md). The function main is
// the only one that uses the process's own streams and environment: tests run [run].
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], cli.Env{
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Environ: os.Environ(),
		Version: currentVersion(),
	})
	stop()
	os.Exit(code)
}
