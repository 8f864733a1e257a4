package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// spaces is where `ip netns` keeps the names of namespaces: each is a file that the
// namespace is mounted on, which keeps it.
const spaces = "/run/netns"

// answerTime is how long the kernel may take to answer one request.
const answerTime = 10 * time.Second

// shareSpaces makes mounts below spaces visible in all mount namespaces, as `ip netns` does: else a
// namespace could not be removed by a program with mounts of its own.
func shareSpaces() error {
	if err := os.MkdirAll(spaces, 0o755); err != nil {
		return err
	}
	err := unix.Mount("", spaces, "none", unix.MS_SHARED|unix.MS_REC, "")
	if errors.Is(err, unix.EINVAL) { // it is no mount of its own
		if err = unix.Mount(spaces, spaces, "none", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = unix.Mount("", spaces, "none", unix.MS_SHARED|unix.MS_REC, "")
		}
	}
	if err != nil {
		return fmt.Errorf("sharing the mounts below %s: %w", spaces, err)
	}
	return nil
}

// Namespaces returns the names of all network namespaces that have one, sorted, as `ip netns` does.
func Namespaces() (names []string, err error) {
	entries, err := os.ReadDir(spaces)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

func spacePath(name string) string { return filepath.Join(spaces, name) }

// isSpace reports whether a path is that of a namespace, and not of a file that one was to be
// mounted on.
func isSpace(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && int64(s.Type) == unix.NSFS_MAGIC
}

// makeSpace makes a network namespace if there is none of the name.
func makeSpace(name string) error {
	path := spacePath(name)
	if isSpace(path) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o444)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		if err := unix.Mount("/proc/thread-self/ns/net", path, "none", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting a network namespace on %s: %w", path, err)
		}
		return nil
	})
}

// removeSpace removes the name of a namespace. The namespace is removed with it, unless a process
// is in it.
func removeSpace(name string) error {
	path := spacePath(name)
	for range 16 { // it may have been mounted more than once
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			break // what is no mount any more is removed
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a network namespace: %w", err)
	}
	return nil
}

// apart runs fn, which may leave the network namespace, on a thread that no other goroutine uses. A
// thread that cannot return to its namespace ends.
func apart(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := netns.Get()
		if err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("looking for the thread's network namespace: %w", err)
			return
		}
		defer home.Close()
		err = fn()
		if netns.Set(home) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

// A space is an open network namespace.
type space struct {
	*netlink.Handle
	ns netns.NsHandle
}

// openSpace opens the namespace at a path, or that of the process for "".
func openSpace(path string) (*space, error) {
	if path == "" {
		path = "/proc/self/ns/net"
	}
	ns, err := netns.GetFromPath(path)
	if err != nil {
		return nil, fmt.Errorf("opening the network namespace %s: %w", path, err)
	}
	s := &space{ns: ns}
	err = apart(func() error {
		if err := netns.Set(ns); err != nil {
			return err
		}
		var err error
		s.Handle, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	if err == nil {
		err = s.SetSocketTimeout(answerTime)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("reaching the kernel in the network namespace %s: %w", path, err)
	}
	return s, nil
}

func (s *space) close() {
	if s.Handle != nil {
		s.Close()
	}
	_ = s.ns.Close() // nothing was written
}

// link returns an interface, nil when there is none of the name.
func (s *space) link(name string) (netlink.Link, error) {
	link, err := s.LinkByName(name)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for interface %s: %w", name, err)
	}
	return link, nil
}

// absent reports whether an error says that there is no such interface.
func absent(err error) bool {
	var none netlink.LinkNotFoundError
	return errors.As(err, &none) || errors.Is(err, unix.ENODEV)
}

// drop removes an interface, which may not exist any more.
func (s *space) drop(link netlink.Link) error {
	if err := s.LinkDel(link); err != nil && !absent(err) {
		return fmt.Errorf("removing interface %s: %w", link.Attrs().Name, err)
	}
	return nil
}
