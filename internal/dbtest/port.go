package dbtest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Ports are from a range outside the kernel's ephemeral ports: a restarted server must find its
// port free.
const (
	firstPort = 61000
	lastPort  = 65500
)

// ports are those of this process. For each, a byte of the file is locked, which other processes
// check.
var ports struct {
	sync.Mutex
	file  *os.File
	taken map[int]bool
}

// takePort reserves a port of 127.0.0.1 until releasePort.
func takePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	if ports.file == nil {
		if err := openPorts(); err != nil {
			return 0, err
		}
	}
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if !ports.taken[port] && lockPort(port, unix.F_WRLCK) == nil {
			if free(port) {
				ports.taken[port] = true
				return port, nil
			}
			_ = lockPort(port, unix.F_UNLCK)
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d", firstPort, lastPort)
}

func releasePort(port int) {
	ports.Lock()
	defer ports.Unlock()
	delete(ports.taken, port)
	_ = lockPort(port, unix.F_UNLCK)
}

func openPorts() error {
	root, err := base()
	if err != nil {
		return err
	}
	ports.file, err = os.OpenFile(filepath.Join(root, "ports"), os.O_CREATE|os.O_RDWR, 0o600)
	ports.taken = make(map[int]bool)
	return err
}

// lockPort changes the lock of a port. The lock belongs to the open file, not to
// the process, so that closing another file cannot lose it.
func lockPort(port int, kind int16) error {
	l := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: int64(port), Len: 1}
	return unix.FcntlFlock(ports.file.Fd(), unix.F_OFD_SETLK, &l)
}

func free(port int) bool {
	l, err := net.Listen("tcp", local(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// local returns the address of a port of this machine.
func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
