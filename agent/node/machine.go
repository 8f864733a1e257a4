package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// A Machine is what a host runs on, as the kernel's files show it. The zero value is the
// one that this process runs on.
type Machine struct {
	Root string // directory that has /proc and /sys; "/" when empty
	// Disk returns the size in bytes of the file system that a directory is on; that of
	// the machine when nil.
	Disk func(dir string) (int64, error)
	// Address returns the address by which other machines reach this one; that of the
	// interface with the default route when nil.
	Address func() string
	// Arch is the processor's architecture as Linux calls it; that of this process when
	// empty.
	Arch string
	// PageKB is the size in kB of a page of memory that is not a huge one; that of this machine when
	// 0.
	PageKB int64
}

// path is where a file of the kernel's is.
func (m Machine) path(parts ...string) string {
	return filepath.Join(append([]string{cmp.Or(m.Root, "/")}, parts...)...)
}

// read returns what is in a file, without blanks around it; "" when there is no such file.
func (m Machine) read(parts ...string) (string, error) {
	text, err := os.ReadFile(m.path(parts...))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// number reads a file with a number; 0 when there is no such file.
func (m Machine) number(parts ...string) (int64, error) {
	text, err := m.read(parts...)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: want a number, not %.40q", m.path(parts...), text)
	}
	return n, nil
}

// list returns the names in a directory, sorted; none when there is no such directory.
func (m Machine) list(parts ...string) ([]string, error) {
	entries, err := os.ReadDir(m.path(parts...))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// target returns the name that a link leads to; "" when there is no such link.
func (m Machine) target(parts ...string) (string, error) {
	dst, err := os.Readlink(m.path(parts...))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return filepath.Base(dst), err
}

// online are the CPUs that are in use.
func (m Machine) online() (cpuSet, error) {
	const file = "/sys/devices/system/cpu/online"
	text, err := m.read(file)
	if err != nil {
		return nil, err
	}
	set, err := parseCPUs(text)
	if err == nil && len(set) == 0 {
		err = errors.New("it names no CPU")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path(file), err)
	}
	return set, nil
}

// memoryMB is the size of the memory.
func (m Machine) memoryMB() (int64, error) {
	const file = "/proc/meminfo"
	text, err := m.read(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		if name != "MemTotal" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: MemTotal: want a number of kB, not %.40q", m.path(file), value)
		}
		return n / 1024, nil
	}
	return 0, fmt.Errorf("%s has no MemTotal", m.path(file))
}

// diskGB is the size of the file system that a directory is on, or will be: then it is
// that of the nearest one above that is there.
func (m Machine) diskGB(dir string) (int64, error) {
	size := m.Disk
	if size == nil {
		size = diskSize
	}
	for path := filepath.Clean(dir); ; path = filepath.Dir(path) {
		n, err := size(path)
		if err == nil {
			return n >> 30, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return 0, fmt.Errorf("reading the size of the disk of %s: %w", dir, err)
		}
	}
}

func (m Machine) address() string {
	if m.Address != nil {
		return m.Address()
	}
	return localAddress()
}

// localAddress reads from the kernel the source address of packets to a remote address. None is
// sent.
func localAddress() string {
	const loopback = "127.0.0.1"
	conn, err := net.Dial("udp4", "192.0.2.0:80")
	if err != nil {
		return loopback
	}
	defer func() { _ = conn.Close() }()
	if a, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		return a.IP.String()
	}
	return loopback
}

// arch is the architecture in Linux's words.
func (m Machine) arch() string {
	if m.Arch != "" {
		return m.Arch
	}
	names := map[string]string{
		"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64",
	}
	return cmp.Or(names[runtime.GOARCH], runtime.GOARCH)
}

// kernel is the version of the kernel as one number, as hypervisors have it: 6.1.4 is
// 6001004.
func (m Machine) kernel() (int, error) {
	text, err := m.read("/proc/sys/kernel/osrelease")
	if err != nil {
		return 0, err
	}
	version, _, _ := strings.Cut(text, "-")
	n := 0
	numbers := strings.SplitN(version, ".", 4)
	for i := range 3 {
		n *= 1000
		if i < len(numbers) {
			if part, err := strconv.Atoi(numbers[i]); err == nil && part >= 0 && part < 1000 {
				n += part
			}
		}
	}
	return n, nil
}
