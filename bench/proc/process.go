package proc

import (
	"os"
	"os/exec"

	"github.com/berthcloud/berth/internal/process"
)

// A Process is a running program with its children. Its methods may be called
// from several goroutines.
type Process struct {
	*process.Process
	log string
}

// Start starts a program in a process group of its own. Its output is appended to the file log,
// unless cmd redirects it.
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
	p, err := process.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &Process{p, log}, nil
}

// LastWords returns the end of the program's log.
func (p *Process) LastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
