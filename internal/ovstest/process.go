package ovstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// A process is a running program.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// launch starts a program, whose output goes to NAME.log. The kernel kills it when
// this process ends, whatever ends it.
func launch(dir, name string, attributes syscall.SysProcAttr, program string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environment(dir), dir, log, log
	attributes.Pdeathsig, attributes.Setpgid = syscall.SIGKILL, true // a Ctrl-C is for the tests
	cmd.SysProcAttr = &attributes
	p, started := &process{cmd, make(chan struct{})}, make(chan error)
	go p.own(started)
	return p, <-started
}

// own is the life of a process. To the kernel, its parent is the thread that
// started it, which must not end before it does.
func (p *process) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.ended)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait()
	}
}

// end ends the process with a signal, and with SIGKILL when that does not help.
func (p *process) end(with syscall.Signal) error {
	_ = p.cmd.Process.Signal(with) // the error is that it has ended
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end within %s of %s", p.cmd.Path, patience, with)
	}
}
