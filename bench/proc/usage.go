package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the CPU time that the program and the children that run now have
// used since they were started, user and system together.
func (p *Process) CPU() (time.Duration, error) {
	total, err := clock(p.Pid())
	if err != nil {
		return 0, err
	}
	for _, pid := range below(p.Pid()) {
		used, err := clock(pid)
		if err != nil {
			continue // it has ended since
		}
		total += used
	}
	return total, nil
}

// clock reads the CPU clock of a process: the clock's number is derived from the process id as in
// clock_getcpuclockid(3).
func clock(pid int) (time.Duration, error) {
	const sched = 2 // nanoseconds of the scheduler, for all threads
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &ts); err != nil {
		return 0, fmt.Errorf("reading the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// below lists the children of a process and theirs.
func below(pid int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is constant
	for _, path := range stats {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		children[parentOf(path)] = append(children[parentOf(path)], child)
	}
	all := children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// parentOf returns the parent's id in a stat file, 0 when the process has ended.
func parentOf(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	// The name, in parentheses, may contain any characters; state and parent follow it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// A Memory is the kernel's accounting of a process's memory, in bytes.
type Memory struct {
	Resident int64 // now
	Peak     int64 // the most since the start
}

// Memory returns the memory of the program itself, without children.
func (p *Process) Memory() (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		return Memory{}, err
	}
	m := Memory{status(string(text), "VmRSS:"), status(string(text), "VmHWM:")}
	if m.Resident == 0 {
		return m, fmt.Errorf("process %d has ended", p.Pid())
	}
	return m, nil
}

// status returns a size from the text of /proc/PID/status, in bytes.
func status(text, field string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}
