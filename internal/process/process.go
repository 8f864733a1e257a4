// Package process starts other programs for tests and benchmarks, and ensures that they end: the
// kernel kills a program when the process that started it ends for any reason. It is not for
// production.
package process

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A Process is a running program, in a process group of its own. Its methods may be called
// concurrently.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the program has ended
}

// Start starts a program. When Ended reports its end, cmd.ProcessState has the result.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true // Ctrl-C is for the starting process; Kill reaches the whole group
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

// parent returns a function that runs others on one thread that never ends: to the kernel, the
// parent of a process is the thread that started it, and the runtime ends threads.
var parent = sync.OnceValue(func() func(func() error) error {
	calls := make(chan func())
	go KeepThread(calls)
	return func(f func() error) error {
		result := make(chan error)
		calls <- func() { result <- f() }
		return <-result
	}
})

// KeepThread is the goroutine whose thread is the parent of all programs. It never ends; tests for
// leaks exclude it by this name.
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

// Alive reports whether the program runs, frozen or not. It is false for nil.
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

// End sends the program a signal to end, and waits until it has. What is left of it after limit is
// killed, which is an error.
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

// Kill ends the program and its children at once and waits until the program has ended. It does
// nothing for one that has ended.
func (p *Process) Kill() {
	if p.Alive() { // else its number may be another's by now
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL) // an error means that all have ended
		<-p.ended
	}
}
