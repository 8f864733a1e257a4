// Package process starts other programs for tests and benchmarks, and sees to it
// that none is left behind: the kernel kills a program when the process that
// started it ends, whatever ends that. It is not for production.
package process

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A Process is a running program, in a process group of its own. Its methods may
// be called from several goroutines.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the program has ended
}

// Start starts a program. When Ended says that it is over, cmd.ProcessState says
// how.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true // a Ctrl-C is for the one who starts it; Kill reaches all of it
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := parent()(cmd.Start); err != nil {
		return nil, err
	}
	p := &Process{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its state and its log
		close(p.ended)
	}()
	return p, nil
}

// parent returns a function that runs others on one thread that never ends: to
// the kernel, the parent of a process is the thread that started it, and threads
// come and go.
var parent = sync.OnceValue(func() func(func() error) error {
	calls := make(chan func())
	go KeepThread(calls)
	return func(f func() error) error {
		result := make(chan error)
		calls <- func() { result <- f() }
		return <-result
	}
})

// KeepThread is the goroutine whose thread is the parent of all programs. It never
// ends; tests that look for leaks leave it out by this name.
func KeepThread(calls <-chan func()) {
	runtime.LockOSThread()
	for call := range calls {
		call()
	}
}

// Pid returns the program's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Alive reports whether the program runs, frozen or not. Of nil it is false.
func (p *Process) Alive() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Signal sends the program a signal. One that has ended is left alone.
func (p *Process) Signal(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // the error is that it has ended
}

// End asks the program to end, with a signal, and waits until it has. What is left
// of it after limit is killed, which is an error.
func (p *Process) End(with syscall.Signal, limit time.Duration) error {
	p.Signal(with)
	select {
	case <-p.ended:
		return nil
	case <-time.After(limit):
		p.Kill()
		return fmt.Errorf("%s did not end within %s of %s", p.cmd.Path, limit, with)
	}
}

// Kill ends the program and its children at once and waits until the program is
// gone. One that has ended is left alone.
func (p *Process) Kill() {
	if p.Alive() { // else its number may be another's by now
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL) // an error means that all have ended
		<-p.ended
	}
}
