package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berthcloud/berth/internal/process"
)

// A tree is a running server with its children. The zero value is none.
type tree struct{ *process.Process }

// kill ends the server and its children at once, as a power failure does, and returns when they
// have ended.
func (p tree) kill() error {
	if !p.Alive() {
		return nil
	}
	all, _ := p.freeze() // so that no further children appear; processes that do not halt are killed as well
	signal(all, syscall.SIGKILL)
	<-p.Ended()
	return await(endTime, 5*time.Millisecond, func() error { return ended(all) })
}

// stop shuts the server down in an orderly manner.
func (p tree) stop(with syscall.Signal) error {
	if !p.Alive() {
		return nil
	}
	p.Signal(with)
	select {
	case <-p.Ended():
		return nil
	case <-time.After(endTime):
		return fmt.Errorf("process %d did not stop within %s of %s", p.Pid(), endTime, with)
	}
}

// drop ends the server without regard for its data.
func (p tree) drop(with syscall.Signal) error {
	if p.Alive() && with != syscall.SIGKILL {
		if err := p.thaw(); err != nil {
			return err
		}
		if err := p.stop(with); err == nil {
			return nil
		}
	}
	return p.kill()
}

// freeze stops the server, then its children, which can have no new ones then,
// and returns all of them.
func (p tree) freeze() ([]int, error) {
	var all []int
	for next := []int{p.Pid()}; len(next) > 0; {
		signal(next, syscall.SIGSTOP)
		all = append(all, next...)
		if err := await(endTime, time.Millisecond, func() error { return halted(next) }); err != nil {
			return all, err
		}
		var err error
		if next, err = children(next); err != nil {
			return all, err
		}
	}
	return all, nil
}

// thaw resumes the server and its children.
func (p tree) thaw() error {
	for next := []int{p.Pid()}; len(next) > 0; {
		below, err := children(next)
		if err != nil {
			return err
		}
		signal(next, syscall.SIGCONT)
		next = below
	}
	return nil
}

// signal leaves out processes that have ended: that is no fault here.
func signal(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s)
	}
}

func children(parents []int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var below []int
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		_, ppid := stat(pid)
		for _, p := range parents {
			if p == ppid {
				below = append(below, pid)
			}
		}
	}
	return below, nil
}

// halted reports the first process that still runs.
func halted(pids []int) error {
	for _, pid := range pids {
		if state, _ := stat(pid); !strings.Contains("TtZX", state) {
			return fmt.Errorf("process %d was sent SIGSTOP and is in state %s", pid, state)
		}
	}
	return nil
}

// ended returns an error with the first process that still exists. A zombie has released its
// resources and does not count.
func ended(pids []int) error {
	for _, pid := range pids {
		if state, _ := stat(pid); !strings.Contains("ZX", state) {
			return fmt.Errorf("process %d was sent SIGKILL and is in state %s", pid, state)
		}
	}
	return nil
}

// stat returns the state of a process, "X" for a missing one, and its parent.
func stat(pid int) (state string, ppid int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "X", 0
	}
	// The name, in parentheses, may contain any characters; state and parent follow it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return "X", 0
	}
	ppid, _ = strconv.Atoi(fields[1])
	return fields[0], ppid
}
