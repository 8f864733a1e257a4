package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// thisRun identifies this run of the program for leases in the database, "" when it cannot be
// distinguished from others.
func thisRun() string {
	run, err := runOf(os.Getpid())
	if err != nil {
		return ""
	}
	return run
}

// runOf identifies a process of this machine by the boot of its kernel, the PID namespace, the PID,
// and the start time. No other process ever has the same identity, also on machines with equal
// names.
func runOf(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	_, started, err := stat(pid)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{string(bytes.TrimSpace(boot)), space, strconv.Itoa(pid), started}, "/"), nil
}

// stat returns the state of a process and its start time, in clock ticks since the boot.
func stat(pid int) (state, started string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", err
	}
	// The second field is the program's name in parentheses, with anything in it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return "", "", fmt.Errorf("/proc/%d/stat has %d fields behind the name", pid, len(fields))
	}
	return fields[0], fields[19], nil
}

// runEnded reports whether a run of the program has certainly ended: it was of this boot and PID
// namespace, and its process does not exist, has another start time, or is a zombie. About runs
// elsewhere nothing is known.
func runEnded(run string) bool {
	own := strings.Split(thisRun(), "/")
	parts := strings.Split(run, "/")
	if len(own) != 4 || len(parts) != 4 || parts[0] != own[0] || parts[1] != own[1] {
		return false
	}
	pid, err := strconv.Atoi(parts[2])
	if err != nil || pid < 1 {
		return false
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) { // /proc may hide others' processes
		return true
	}
	state, started, err := stat(pid)
	return err == nil && (started != parts[3] || state == "Z" || state == "X")
}
