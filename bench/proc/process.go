package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// endTime is how long a process may take to end when it is asked to.
const endTime = 40 * time.Second

// A Process is a running program with its children. Its methods may be called
// from several goroutines.
type Process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{} // closed when the program has ended
}

// Start starts a program in a process group of its own. What it prints is
// appended to the file log, unless cmd says where else it goes.
func Start(cmd *exec.Cmd, log string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if cmd.Stdout == nil {
		cmd.Stdout = out
	}
	cmd.Stderr = out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true // a Ctrl-C is for the benchmark, which then ends its processes
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := parent()(cmd.Start); err != nil {
		return nil, err
	}
	p := &Process{cmd, log, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(p.ended)
	}()
	return p, nil
}

// parent returns a function that runs others on one thread that never ends: to
// the kernel, the parent of a process is the thread that started it.
var parent = sync.OnceValue(func() func(func() error) error {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	return func(f func() error) error {
		result := make(chan error)
		calls <- func() { result <- f() }
		return <-result
	}
})

// Pid returns the program's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Stop asks the program to end and waits until it has. What is left of it and
// its children after 40 s is killed, which is an error.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
	select {
	case <-p.ended:
		return nil
	case <-time.After(endTime):
		p.Kill()
		return fmt.Errorf("%s did not end within %s", p.cmd.Path, endTime)
	}
}

// Kill ends the program and its children at once. One that has ended is left
// alone.
func (p *Process) Kill() {
	select {
	case <-p.ended: // its number may be another's by now
	default:
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL) // an error means that all have ended
		<-p.ended
	}
}

// LastWords returns the end of the program's log.
func (p *Process) LastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
