package servers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/berthcloud/berth/bench/proc"
	"github.com/berthcloud/berth/internal/process"
)

// startTime is how long a placement service may take to begin to serve.
const startTime = 2 * time.Minute

// SQLite returns the URL of a database in a file.
func SQLite(file string) string { return "sqlite:///" + file }

// Berth starts the placement service of a program of Berth on a database and returns when it
// serves, and how long that took from its start. Its files are in dir.
func Berth(program, dir, database string, more Settings) (*Server, time.Duration, error) {
	return start(program, "placement", dir, basic(database).With(more))
}

// Network starts the network service of a program of Berth next to a placement service, with
// VLANs on some physical networks. Its files, and its database, are in dir.
func Network(program, dir, placement string, more Settings) (*Server, error) {
	s, _, err := start(program, "network", dir, Settings{
		"DEFAULT":   {"auth_strategy": "noauth", "service_plugins": "qos,placement"},
		"ml2":       {"mechanism_drivers": "openvswitch", "extension_drivers": "qos,port_security"},
		"placement": {"auth_type": "none", "endpoint_override": placement},
		"database":  {"connection": SQLite(filepath.Join(dir, "network.db"))},
	}.With(more))
	return s, err
}

// Compute starts the compute service of a program of Berth next to a placement service, a
// network service and one for images. Its files, and its database, are in dir.
func Compute(program, dir, placement, network, images string, more Settings) (*Server, error) {
	s, _, err := start(program, "compute", dir, Settings{
		"api":       {"auth_strategy": "noauth2"},
		"placement": {"auth_type": "none", "endpoint_override": placement},
		"neutron":   {"auth_type": "none", "endpoint_override": network},
		"glance":    {"auth_type": "none", "endpoint_override": images},
		"database":  {"connection": SQLite(filepath.Join(dir, "compute.db"))},
	}.With(more))
	return s, err
}

// start starts a service of a program of Berth with its settings.
func start(program, service, dir string, settings Settings) (*Server, time.Duration, error) {
	s := new(Server)
	var err error
	if s.Addr, err = process.FreeAddress(); err != nil {
		return nil, 0, err
	}
	if s.Ops, err = process.FreeAddress(); err != nil {
		return nil, 0, err
	}
	conf, err := Settings{"berth": {"metrics_listen": s.Ops, "pprof": "true"}}.With(settings).write(dir)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.Command(program, service, "serve", "--config", conf, "--listen", s.Addr)
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
