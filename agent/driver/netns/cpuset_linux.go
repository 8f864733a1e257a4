package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
)

// cpusets makes control groups with the CPUs and the memory nodes that servers are assigned, below
// the one that the host's others are below: of version 2 with the controller cpuset, or the
// hierarchy of that controller in version 1.
type cpusets struct {
	root   string // the control group that has the CPUs of the host
	second bool   // version 2
}

// allCPUSets is the control group of those of servers, below the root.
const allCPUSets = "berth-servers"

// openCPUSets finds the control groups below a directory, /sys/fs/cgroup as a rule.
func openCPUSets(dir string) (cpusets, error) {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err == nil && slices.Contains(strings.Fields(string(controllers)), "cpuset") {
		return cpusets{dir, true}, nil
	}
	first := filepath.Join(dir, "cpuset")
	if _, err := os.Stat(filepath.Join(first, "cpuset.cpus")); err == nil {
		return cpusets{first, false}, nil
	}
	return cpusets{}, fmt.Errorf("there is no control group with the controller cpuset at %s", dir)
}

func (c cpusets) path(name string) string { return filepath.Join(c.root, allCPUSets, name) }

// make makes the control group of a server, or changes it.
func (c cpusets) make(name string, cpus, nodes []int) error {
	all := c.path("")
	if c.second {
		if err := writeGroup(c.root, "cgroup.subtree_control", "+cpuset"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.path(name), 0o755); err != nil {
		return err
	}
	if c.second {
		if err := writeGroup(all, "cgroup.subtree_control", "+cpuset"); err != nil {
			return err
		}
	} else {
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} { // which are not inherited
			text, err := os.ReadFile(filepath.Join(c.root, file))
			if err == nil {
				err = writeGroup(all, file, strings.TrimSpace(string(text)))
			}
			if err != nil {
				return err
			}
		}
	}
	return errors.Join(writeGroup(c.path(name), "cpuset.mems", list(nodes)),
		writeGroup(c.path(name), "cpuset.cpus", list(cpus)))
}

// remove removes the control group of a server, if there is one. Processes in it go to the host's.
func (c cpusets) remove(name string) error {
	pids, err := os.ReadFile(filepath.Join(c.path(name), "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for pid := range strings.FieldsSeq(string(pids)) {
		if err := writeGroup(c.root, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	if err := os.Remove(c.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeGroup writes a file of a control group.
func writeGroup(dir, file, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// list writes numbers as control groups read them.
func list(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// assignedCPUs are the CPUs that a server may run on, and the memory nodes of its cells; none of a
// server without cells.
func assignedCPUs(a *hostlist.Assignment) (cpus, nodes []int) {
	if a == nil {
		return nil, nil
	}
	for _, c := range a.Cells {
		cpus = slices.Concat(cpus, slices.Collect(maps.Values(c.CPUs)), c.Emulator, c.Shared)
		nodes = append(nodes, c.Node)
	}
	return unique(cpus), unique(nodes)
}

func unique(numbers []int) []int {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// pin makes the control group of a server with cells, and has what runs in the server by now run
// there. The driver goes on without: the log says that the server's CPUs are not its own.
func (w *work) pin() {
	name := w.space(w.server)
	cpus, nodes := assignedCPUs(w.record.Assignment)
	groups, err := openCPUSets(w.config.Cgroups)
	switch {
	case err == nil && len(cpus) == 0:
		err = groups.remove(name) // of an assignment that it had before
	case err == nil:
		err = groups.make(name, cpus, nodes)
	case len(cpus) == 0:
		return
	}
	if err == nil {
		err = w.moveIn(groups, []string{name})
	}
	if err != nil {
		w.config.Log.Warn("what runs in a server is not kept to the CPUs that it is assigned", "server", w.server,
			"cpus", list(cpus), "error", err)
	}
}

// unpin removes what pin has made.
func (w *work) unpin() error {
	groups, err := openCPUSets(w.config.Cgroups)
	if err != nil {
		return nil // there is none
	}
	if err := groups.remove(w.space(w.server)); err != nil {
		return fmt.Errorf("removing the control group of server %s: %w", w.server, err)
	}
	return nil
}

// moveIn moves what runs in namespaces into the control groups of their names. One whose group does
// not exist, or does not any more, is passed over: its server has no cells, or is being destroyed.
func (d *Driver) moveIn(groups cpusets, names []string) error {
	type file struct{ device, inode uint64 }
	name := map[file]string{}
	for _, n := range names {
		var s unix.Stat_t
		if _, err := os.Stat(groups.path(n)); err == nil && unix.Stat(spacePath(n), &s) == nil {
			name[file{s.Dev, s.Ino}] = n
		}
	}
	if len(name) == 0 {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		var s unix.Stat_t
		if unix.Stat(filepath.Join("/proc", e.Name(), "ns/net"), &s) != nil {
			continue // it has ended
		}
		n, in := name[file{s.Dev, s.Ino}]
		if !in {
			continue
		}
		err = writeGroup(groups.path(n), "cgroup.procs", strconv.Itoa(pid))
		if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("moving process %d to the control group %s: %w", pid, n, err)
		}
	}
	return nil
}

// pinAll has what was started in servers since run on their CPUs.
func (d *Driver) pinAll(states []driver.State) {
	var names []string
	for _, s := range states {
		if cpus, _ := assignedCPUs(s.Assignment); len(cpus) > 0 {
			names = append(names, d.space(s.ID))
		}
	}
	if len(names) == 0 {
		return
	}
	groups, err := openCPUSets(d.config.Cgroups)
	if err != nil {
		return // which pin has logged
	}
	if err := d.moveIn(groups, names); err != nil {
		d.config.Log.Warn("what runs in servers is not kept to the CPUs that they are assigned", "error", err)
	}
}
