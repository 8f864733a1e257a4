// Command bench measures Berth: it starts the real program, a canned server and, where they are
// installed, Debian's Placement and MariaDB, and compares the measurements with the table of limits
// for Berth. It is for developers on their own machines; the servers are private and stopped at its
// end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/berthcloud/berth/bench/canned"
	"github.com/berthcloud/berth/bench/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once, and with it all servers
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitReached = 0
	exitShort   = 1 // a row falls short of its bar, or could not be measured
	exitUsage   = 2
)

// run is the program, with its access to the outside.
func run(ctx context.Context, args []string, src io.Reader, out, errs io.Writer) int {
	if len(args) == 1 && args[0] == servers.CannedCommand {
		fmt.Fprintln(errs, canned.Main(src, out))
		return exitShort
	}
	opts, err := parse(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return exitReached
	}
	if err != nil {
		return exitUsage
	}
	ok, err := opts.do(ctx, out, errs)
	switch {
	case err != nil:
		fmt.Fprintln(errs, "bench:", err)
		return exitShort
	case !ok:
		return exitShort
	default:
		return exitReached
	}
}
