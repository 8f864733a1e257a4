// Command berth is OpenStack's placement system in one program. This package is the command line:
// the commands with their flags and help texts, and the exit codes. What a command does is in
// another package: the services in daemon, the agents in daemon/hostagent, "berth up" in devcloud,
// the database's tools in dbtool.
//
// There is a file for each command, whose function newX returns it; run.go has the root command and
// the exit codes. Output of a command goes to standard output, messages to standard error; with -f
// json standard output has one JSON value, whose keys are part of the program's interface
// (docs/operations/README.md). The function main is the only one that uses the process's own streams
// and environment: tests run [run].
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], environment{
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		environ: os.Environ(),
	})
	stop()
	os.Exit(code)
}
