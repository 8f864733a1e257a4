package sqlconn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// ErrInUse says that another process has the database open. It is in the chain
// of Open's error.
var ErrInUse = errors.New("it is in use")

// LockFile makes this process the only berth on a database, until release is
// called or the process ends in any way.
//
// The lock is on a file next to the database, because SQLite keeps its own locks
// on the database file: they belong to the process, and closing any other
// descriptor of that file would silently drop them.
func LockFile(path string) (release func(), err error) {
	name := path + ".lock"
	for {
		f, err := takeLock(name)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue // its last holder removed it in between
		}
		if err := writePID(f); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
		return func() {
			// Removed before it is unlocked: a process that locks the removed
			// file next finds that it is not there. One that others made
			// in its place is theirs.
			if isCurrent(f, name) {
				_ = os.Remove(name)
			}
			_ = f.Close()
		}, nil
	}
}

// takeLock opens and locks the named file, nil when it was removed meanwhile.
func takeLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("the lock file next to it cannot be created: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && isCurrent(f, name) {
		return f, nil
	}
	defer f.Close()
	switch {
	case err == nil:
		return nil, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, fmt.Errorf("%w by another berth%s, which holds %s", ErrInUse, holder(f), name)
	default:
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
}

// isCurrent reports whether the open file is still the one of that name.
func isCurrent(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(name)
	return err == nil && os.SameFile(mine, now)
}

// holder says which process wrote the lock file, if it did.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

// writePID writes the process id for the message of a process that finds the file locked. Only the
// lock counts: a file with the id of a process that crashed is no obstacle.
func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}
