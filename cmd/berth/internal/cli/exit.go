package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/berthcloud/berth/daemon"
)

// The exit codes of berth. They are part of its interface: scripts and service managers decide by
// them whether to retry.
const (
	ExitOK       = 0
	ExitFailure  = 1 // failures without a code of their own
	ExitUsage    = 2 // invalid arguments or settings
	ExitDatabase = 3 // the database cannot be used
	ExitInUse    = 4 // another process has the database
	ExitListen   = 5 // the address to listen on cannot be had
	ExitFindings = 6 // findings: something is wrong, differs, does not fit, or remains to be done
)

// The exit codes that nova-manage's commands have in common, for commands with --nova-exit-codes.
const (
	NovaBadInput   = 127
	NovaUnexpected = 255
)

// exitCodes are the exit codes of services' failures.
var exitCodes = map[daemon.Cause]int{
	daemon.Failed: ExitFailure, daemon.WrongSettings: ExitUsage, daemon.DatabaseUnusable: ExitDatabase,
	daemon.DatabaseInUse: ExitInUse, daemon.AddressUnusable: ExitListen,
}

// A failure is an error with an exit code.
type failure struct {
	code int
	err  error
}

// Error returns the message of the cause: the exit code is not part of it.
func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Fail returns an error with an exit code; nil stays nil.
func Fail(code int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{code, err}
}

// CodeOf returns the exit code of an error, or of its cause in package daemon.
func CodeOf(err error) (int, bool) {
	var f *failure
	if errors.As(err, &f) {
		return f.code, true
	}
	var s *daemon.Failure
	if errors.As(err, &s) {
		return exitCodes[s.Cause], true
	}
	return 0, false
}

// PrintError writes an error with the program's name before each line, which distinguishes it from
// the log. A line that several parts of the error have in common, about a file that each of them
// reads, is written once.
func PrintError(w io.Writer, err error) {
	printed := map[string]bool{"": true}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !printed[line] {
			fmt.Fprintf(w, "berth: %s\n", line)
		}
		printed[line] = true
	}
}
