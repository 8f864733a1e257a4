package servers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/berthcloud/berth/bench/proc"
)

// startTime is how long a placement service may take to begin to serve.
const startTime = 2 * time.Minute

// SQLite returns the URL of a database in a file.
func SQLite(file string) string { return "sqlite:///" + file }

// Berth starts a program of Berth on a database and returns when it serves, and
// how long that took from its start. Its files are in dir.
func Berth(program, dir, database string, more Settings) (*Server, time.Duration, error) {
	s := new(Server)
	var err error
	if s.Addr, err = proc.FreeAddress(); err != nil {
		return nil, 0, err
	}
	if s.Ops, err = proc.FreeAddress(); err != nil {
		return nil, 0, err
	}
	settings := basic(database).With(Settings{"berth": {"metrics_listen": s.Ops, "pprof": "true"}}).With(more)
	conf, err := settings.write(dir)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.Command(program, "placement", "serve", "--config", conf, "--listen", s.Addr)
	if s.Process, err = proc.Start(cmd, filepath.Join(dir, "berth.log")); err != nil {
		return nil, 0, err
	}
	took, err := await(s.Process, s.URL()+"/", startTime, 5*time.Millisecond)
	return s, took, err
}

// Build builds Berth's program, static as a release is, from the module at root.
func Build(root, program string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/berth")
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("building berth: %w\n%s", err, out)
	}
	return nil
}
