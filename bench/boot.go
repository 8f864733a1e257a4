package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/berthcloud/berth/bench/boots"
	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/process"
)

// boot is the row about booting servers: all three services, and hosts that report to them.
type boot struct{ hosts, boots, clients int }

// bootServers is what all services together are for.
func bootServers(smaller int) row {
	return row{
		"boots", "2,000 boots with two guaranteed ports each on 1,000 hosts, 32 clients, SQLite",
		boot{hosts: 1000 / smaller, boots: 2000 / smaller, clients: 32},
		[]bar{
			exactly("servers that are not up", 0), exactly("servers without a claim in the log", 0),
			exactly("inconsistent records", 0),
		},
	}
}

// A trio are the three services.
type trio struct {
	names    []string
	services []*servers.Server
	log      string // of placement
}

func (t *trio) kill() {
	for _, s := range t.services {
		s.Kill()
	}
}

func (t *trio) add(name string, s *servers.Server, err error) error {
	if err == nil {
		t.names, t.services = append(t.names, name), append(t.services, s)
	}
	return err
}

// measure is work's.
func (b boot) measure(l *lab) (f figures, err error) {
	images, stop, err := serveImages()
	if err != nil {
		return nil, err
	}
	defer stop()
	t := &trio{}
	defer t.kill()
	if err := l.startTrio(t, images); err != nil {
		return nil, err
	}
	var before, after []time.Duration
	var findings []finding
	result, err := boots.Run(l.ctx, boots.Plan{
		Placement: t.services[0].URL(), Network: t.services[1].URL(), Compute: t.services[2].URL(),
		Hosts: b.hosts, Boots: b.boots, Clients: b.clients, Say: l.say,
		Booting: func(work func() error) (err error) {
			if before, err = t.cpu(); err != nil {
				return err
			}
			waits := make([]func() error, len(t.services))
			for i, s := range t.services {
				waits[i] = l.startProfile(s, l.row+"-"+t.names[i])
			}
			err = work()
			var errCPU error
			after, errCPU = t.cpu()
			err = errors.Join(err, errCPU)
			for _, wait := range waits {
				err = errors.Join(err, wait())
			}
			return err
		},
		Granted: func() (map[string]time.Time, error) { return granted(t.log) },
		Booted:  func() (err error) { findings, err = l.audit(t); return err },
	})
	if err != nil {
		return nil, err
	}
	f.add("boots", float64(b.boots)/result.Took.Seconds(), perSecond)
	for _, times := range []struct {
		name string
		load.Times
	}{{"accepted", result.Accepted}, {"scheduled", result.Scheduled}, {"building", result.Building}, {"up", result.Up}} {
		f.addTime(times.name+" p50", times.At(0.5))
		f.addTime(times.name+" p99", times.At(0.99))
	}
	f.add("servers without a claim in the log", float64(b.boots-len(result.Scheduled)), count)
	for i, name := range t.names {
		f.add(name+" cpu a boot", inMilliseconds(after[i]-before[i])/float64(b.boots), milliseconds)
	}
	f.add("servers that are not up", float64(result.NotUp), count)
	f.add("inconsistent records", float64(len(findings)), count)
	for _, found := range findings[:min(20, len(findings))] {
		l.say("%s: %v: found %s, expected %s", found.Code, found.About, found.Found, found.Expected)
	}
	return f, nil
}

// startTrio starts the services on separate databases.
func (l *lab) startTrio(t *trio, images string) error {
	var dirs []string
	for _, name := range []string{"placement", "network", "compute"} {
		dir, err := l.dir(name)
		if err != nil {
			return err
		}
		dirs = append(dirs, dir)
	}
	t.log = filepath.Join(dirs[0], "berth.log")
	placement, _, err := servers.Berth(l.program, dirs[0], servers.SQLite(filepath.Join(dirs[0], "placement.db")), nil)
	if err := t.add("placement", placement, err); err != nil {
		return err
	}
	network, err := servers.Network(l.program, dirs[1], placement.URL(), servers.Settings{
		"ml2_type_vlan": {"network_vlan_ranges": "physnet0,physnet1"}, "quotas": {"quota_port": "-1"},
	})
	if err := t.add("network", network, err); err != nil {
		return err
	}
	compute, err := servers.Compute(l.program, dirs[2], placement.URL(), network.URL(), images, servers.Settings{
		"quota": {"instances": "-1", "cores": "-1", "ram": "-1"},
	})
	return t.add("compute", compute, err)
}

// A finding is what "berth audit" prints about an inconsistency.
type finding struct {
	Code            string
	About           []map[string]string
	Found, Expected string
}

// auditTime is how long the audit may take.
const auditTime = 10 * time.Minute

// audit has "berth audit" compare the records of the services. A finding has to be there again a
// few seconds later: the services may not have done everything yet for the last servers.
func (l *lab) audit(t *trio) ([]finding, error) {
	dir, err := l.dir("audit")
	if err != nil {
		return nil, err
	}
	clouds := filepath.Join(dir, "clouds.yaml")
	text := fmt.Sprintf("clouds: {bench: {auth_type: admin_token, auth: {endpoint: %q, token: admin}, "+
		"network_endpoint_override: %q, compute_endpoint_override: %q}}\n",
		t.services[0].URL(), t.services[1].URL(), t.services[2].URL()+"/v2.1")
	if err := os.WriteFile(clouds, []byte(text), 0o600); err != nil {
		return nil, err
	}
	l.say("comparing the records of the services")
	ctx, cancel := context.WithTimeout(l.ctx, auditTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.program, "audit", "--os-cloud", "bench", "--complete", "--recheck=5s",
		"-f", "json")
	cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+clouds)
	var notes strings.Builder
	cmd.Stderr = &notes
	out, err := cmd.Output()
	const found = 6 // the exit code when there are findings
	if err != nil && cmd.ProcessState.ExitCode() != found {
		return nil, fmt.Errorf("berth audit: %w\n%s", err, notes.String())
	}
	var result struct{ Findings []finding }
	err = json.Unmarshal(out, &result)
	return result.Findings, err
}

// claimed is the line of placement's log about a claim.
var claimed = regexp.MustCompile(`(?m)^(\S+ \S+) .* method=PUT path=/allocations/(\S+) .* status=204 `)

// granted returns when each consumer was granted its first claim, as placement's log has it.
func granted(log string) (map[string]time.Time, error) {
	text, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	all := map[string]time.Time{}
	for _, m := range claimed.FindAllSubmatch(text, -1) {
		at, err := time.ParseInLocation("2006-01-02 15:04:05.000", string(m[1]), time.Local)
		if err != nil {
			return nil, err
		}
		if consumer := string(m[2]); all[consumer].IsZero() {
			all[consumer] = at
		}
	}
	return all, nil
}

// cpu returns the services' CPU times.
func (t *trio) cpu() (all []time.Duration, err error) {
	for _, s := range t.services {
		used, errUsed := s.CPU()
		all, err = append(all, used), errors.Join(err, errUsed)
	}
	return all, err
}

// serveImages serves the image that servers are booted from.
func serveImages() (url string, stop func(), err error) {
	l, err := process.Listen()
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: fakehosts.Images(), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}
