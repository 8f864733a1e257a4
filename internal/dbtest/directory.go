package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// base returns the directory of all files of the package, and creates it when missing. Other users
// may pass through it, since servers run as other users.
var base = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("berth-dbtest-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s belongs to somebody else: remove it or set TMPDIR", dir)
	}
	return dir, os.Chmod(dir, 0o711) // regardless of the umask
})

// A scratch is the directory of this process's servers. Its lock marks it as in use for other
// processes.
type scratch struct {
	mu   sync.Mutex
	dir  string
	lock *os.File
}

var running scratch

// new creates a directory for one server.
func (s *scratch) new() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		if err := s.open(); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(s.dir, "s")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

func (s *scratch) open() error {
	root, err := base()
	if err != nil {
		return err
	}
	guard, err := lockFile(filepath.Join(root, "run.lock"), true)
	if err != nil {
		return err
	}
	defer guard.Close()
	sweep(root)
	dir, err := os.MkdirTemp(root, "run-")
	if err != nil {
		return err
	}
	lock, err := lockFile(filepath.Join(dir, "lock"), true)
	if err != nil {
		return err
	}
	s.dir, s.lock = dir, lock
	return os.Chmod(dir, 0o711)
}

// close removes the directory, which must have no servers left.
func (s *scratch) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		remove(s.dir)
		s.lock.Close()
		s.dir = ""
	}
}

// sweep removes what killed processes have left behind. The caller has locked run.lock, so that no
// directory is without its own lock at any moment.
func sweep(root string) {
	dirs, _ := filepath.Glob(filepath.Join(root, "run-*"))
	for _, dir := range dirs {
		lock, err := lockFile(filepath.Join(dir, "lock"), false)
		if err != nil {
			continue // in use
		}
		remove(dir)
		lock.Close()
	}
}

// lockFile opens and locks a file until it is closed or the process ends.
func lockFile(path string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(f.Fd()), how)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f, nil
}
