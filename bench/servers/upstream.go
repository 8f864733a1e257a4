package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/berthcloud/berth/bench/proc"
	"github.com/berthcloud/berth/internal/process"
)

// Upstream starts Debian's Placement under uwsgi, with as many processes as there
// are cores, on a database that has its tables. Its files are in dir.
func Upstream(dir, database string) (*Server, error) {
	app, err := application()
	if err != nil {
		return nil, err
	}
	s := new(Server)
	if s.Addr, err = process.FreeAddress(); err != nil {
		return nil, err
	}
	quiet := Settings{"DEFAULT": {"default_log_levels": "placement=WARNING,alembic=WARNING"}}
	if _, err := basic(database).With(quiet).write(dir); err != nil {
		return nil, err
	}
	// uwsgi's HTTP router maintains keep-alive connections, which is its fastest mode.
	args := append([]string{
		"--plugins-dir", "/usr/lib/uwsgi/plugins", "--plugin", "http", "--plugin", "python3",
		"--http", s.Addr, "--http-keepalive", "--http-timeout", "600", "--socket", filepath.Join(dir, "uwsgi.sock"),
		"--master", "--no-orphans", "--processes", strconv.Itoa(runtime.NumCPU()), "--threads", "1",
		"--need-app", "--die-on-term", "--disable-logging", "--buffer-size", "65535", "--add-header",
		"Connection: Keep-Alive",
	}, app...)
	cmd := exec.Command("/usr/bin/uwsgi", args...)
	cmd.Env = append(os.Environ(), "OS_PLACEMENT_CONFIG_DIR="+dir, "HOME="+dir)
	if s.Process, err = proc.Start(cmd, filepath.Join(dir, "upstream.log")); err != nil {
		return nil, err
	}
	_, err = await(s.Process, s.URL()+"/", startTime, 50*time.Millisecond)
	return s, err
}

// application finds the service: releases before 12 have a script, later ones a module.
func application() (args []string, err error) {
	const (
		uwsgi  = "/usr/bin/uwsgi"
		script = "/usr/bin/placement-api"
		module = "/usr/lib/python3/dist-packages/placement/wsgi/api.py"
	)
	switch {
	case !exists(uwsgi):
	case exists(module):
		return []string{"--module", "placement.wsgi.api"}, nil
	case exists(script):
		return []string{"--wsgi-file", script}, nil
	}
	return nil, fmt.Errorf("debian's Placement (placement-api uwsgi uwsgi-plugin-python3 python3-pymysql): %w", ErrMissing)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
