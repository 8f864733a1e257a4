package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// umask guards the process's mask for new files, which is one for all threads.
var umask sync.Mutex

// ListenUnix listens at a Unix socket with the permissions of mode. A socket file without a
// listener, as a crash leaves it, is replaced; one that is in use and a file that is no socket are
// errors. The file is removed when the listener is closed.
func ListenUnix(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	umask.Lock()
	defer umask.Unlock()
	// The mask is there from the beginning, unlike what a chmod would set later.
	defer syscall.Umask(syscall.Umask(int(^mode & fs.ModePerm)))
	var lc net.ListenConfig
	return lc.Listen(ctx, "unix", path)
}

// removeStale removes the socket that an ended process left at path. Only a socket that refuses a
// connection has no listener. One that times out, or that this user may not connect to, counts as
// in use and is an error (EADDRINUSE).
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket", path)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close() // it was only to see whether a program listens
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("the socket %s is in use, or not this user's: %w", path, errors.Join(syscall.EADDRINUSE, err))
	}
	return os.Remove(path)
}
