package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A Machine knows the network devices of a host.
type Machine interface {
	// Device returns what is known of a network device or a bridge. That it does
	// not exist is no error.
	Device(name string) (Device, error)
}

// A Device is a network device or a bridge. What is not known is zero.
type Device struct {
	Exists   bool
	Physical bool     // it is hardware, not the kernel's own
	PF       bool     // it is an SR-IOV physical function
	VFs      int      // virtual functions that are switched on
	MaxVFs   int      // that the hardware can have
	Speed    int64    // of the link, in Mbit/s
	Ports    []string // devices plugged into it, if it is a bridge
}

// Sysfs is the Machine that this process runs on. Its value is the directory
// of the network devices, /sys/class/net when empty. It sees a bridge of Open
// vSwitch as the device of the same name, whose ports it does not know.
type Sysfs string

const classNet = "/sys/class/net"

// Device reads the files of a device.
func (s Sysfs) Device(name string) (Device, error) {
	if !named(name) {
		return Device{}, nil
	}
	dir := sysDir(filepath.Join(s.root(), name))
	if ok, err := dir.has(""); !ok || err != nil {
		return Device{}, err
	}
	d := Device{Exists: true}
	var errs [6]error
	d.Physical, errs[0] = dir.has("device")
	d.PF, errs[1] = dir.has("device/sriov_totalvfs")
	totalVFs, err := dir.number("device/sriov_totalvfs")
	errs[2] = err
	numVFs, err := dir.number("device/sriov_numvfs")
	errs[3] = err
	d.MaxVFs, d.VFs = int(totalVFs), int(numVFs)
	d.Speed, errs[4] = dir.number("speed")
	d.Ports, errs[5] = dir.names("brif")
	return d, errors.Join(errs[:]...)
}

// VirtualFunctions returns the numbers of a physical function's VFs, by their PCI
// addresses ("0000:05:10.1"). A device without any, or that is not there, has none.
func (s Sysfs) VirtualFunctions(pf string) (map[string]int, error) {
	if !named(pf) {
		return nil, nil
	}
	dir := filepath.Join(s.root(), pf, "device")
	links, err := filepath.Glob(filepath.Join(dir, "virtfn*"))
	if err != nil {
		return nil, err
	}
	all := make(map[string]int, len(links))
	for _, link := range links {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(link), "virtfn"))
		if err != nil {
			continue // something else
		}
		target, err := os.Readlink(link)
		if errors.Is(err, fs.ErrNotExist) {
			continue // VFs come and go
		}
		if err != nil {
			return nil, err
		}
		all[filepath.Base(target)] = n
	}
	return all, nil
}

func (s Sysfs) root() string { return cmp.Or(string(s), classNet) }

// named reports whether a string is a possible name of an interface: others are not looked up.
func named(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsRune(name, '/')
}

// A sysDir is the directory of one device.
type sysDir string

func (d sysDir) has(name string) (bool, error) {
	_, err := os.Stat(filepath.Join(string(d), name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// number reads a file with a number. Without the file, or when the driver does
// not know the speed of a link that is down, it is 0.
func (d sysDir) number(name string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(string(d), name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: want a number, not %.40q", filepath.Join(string(d), name), text)
	}
	return max(n, 0), nil // -1: unknown
}

func (d sysDir) names(name string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(string(d), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
