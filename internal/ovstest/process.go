package ovstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/berthcloud/berth/internal/process"
)

// launch starts a program, whose output goes to NAME.log.
func launch(
	dir, name string, attributes syscall.SysProcAttr, program string, args ...string,
) (*process.Process, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environment(dir), dir, log, log
	cmd.SysProcAttr = &attributes
	return process.Start(cmd)
}
