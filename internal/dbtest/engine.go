package dbtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// An engine is everything the two kinds of server do not agree on.
type engine interface {
	name() string
	packages() string // of Debian, to install
	account() string  // the user that root starts it as

	// program returns the path of the server.
	program() (string, error)

	// initialise creates an empty data directory, with an administrator.
	initialise(data, password string) error

	// arguments are the server's arguments, and slack those that disable its waits for the disk.
	arguments(data string, port int) []string
	setting(name, value string) []string
	slack() []string

	// stopSignal shuts a server down in an orderly manner, dropSignal at once.
	stopSignal() syscall.Signal
	dropSignal() syscall.Signal

	// open connects to a database, for an administrator to that of the server.
	open(ctx context.Context, address string, d Database) (session, error)
	create(d Database) []string
	drop(d Database) []string
	url(d Database, addresses []string) string
}

// A session is an administrative connection to a server. It is used by one goroutine at a time.
type session interface {
	exec(ctx context.Context, statement string) error

	// text returns the first column of the first row, "" when it is null or there is no row.
	text(ctx context.Context, query string) (string, error)

	close()
}

// administrator is the account that each server has from the beginning.
const administrator = "berth_admin"

// newest returns the path of a program in the directory that sorts last among those that match one
// of the patterns; earlier patterns take precedence. Only directories of the distribution's
// packages are searched, since PATH may contain other builds.
func newest(program string, patterns ...string) (string, error) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(pattern, program))
		if err != nil {
			return "", err
		}
		slices.SortFunc(found, byVersion)
		for _, path := range slices.Backward(found) {
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("no %s in %q", program, patterns)
}

// byVersion compares paths so that 9 sorts before 15.
func byVersion(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
