// Command bench measures Berth: it starts the real program, a canned server and,
// where they are installed, Debian's Placement and MariaDB, and holds what it
// measures against the table of what Berth has to reach. It is for developers on
// their own machines; what it starts is private and gone at its end.
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
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once, and with it what it started
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitReached = 0
	exitShort   = 1 // a row falls short of its bar, or could not be measured
	exitUsage   = 2
)

// run is the program, with what it needs of the world around it.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) == 1 && args[0] == servers.CannedCommand {
		fmt.Fprintln(errs, canned.Main(in, out))
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
