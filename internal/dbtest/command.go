package dbtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berthcloud/berth/internal/process"
)

// credential returns the user that an engine's programs run as, nil for the current one.
func credential(e engine) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(e.account())
	if err != nil {
		return nil, fmt.Errorf("%s refuses to run as root: %w", e.name(), err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// command prepares a program of an engine. It does not inherit this process's environment, which
// may have variables of the engines.
func command(e engine, dir, program string, args ...string) (*exec.Cmd, error) {
	as, err := credential(e)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return cmd, nil
}

// run runs a program until it ends. The error contains the end of its output.
func run(cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := process.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.Ended():
	case <-time.After(setUpTime):
		p.Kill()
		return fmt.Errorf("%s took longer than %s", cmd.Path, setUpTime)
	}
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %s\n%s", cmd.Path, cmd.ProcessState, tail(out.String()))
	}
	return nil
}

// own changes a file's owner to the user that the engine runs as.
func own(e engine, path string) error {
	as, err := credential(e)
	if err != nil || as == nil {
		return err
	}
	return os.Chown(path, int(as.Uid), int(as.Gid))
}

// tail returns the last lines of a log.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
