package enforce

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/ovs"
	"github.com/berthcloud/berth/agent/ovsdb"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/network/portlist"
)

// An OVS enforces the rules of ports on the bridges of Open vSwitch. It implements agent.Enforcer
// while its Run does.
type OVS struct {
	// Switch is what it works with; a program of it may be replaced before Run.
	Switch *ovs.Switch

	settings *settings.Settings
	db       *ovsdb.Client
	changed  chan struct{}
}

var _ agent.Enforcer = (*OVS)(nil)

// ovsTables are the watched columns: where interfaces are plugged in, and the switch's
// capabilities.
var ovsTables = map[string][]string{
	"Open_vSwitch": {"datapath_types", "iface_types"},
	"Bridge":       {"name", "ports"},
	"Port":         {"name", "interfaces"},
	"Interface":    {"name", "type", "ofport", "error", "link_speed", "external_ids"},
}

// NewOVS returns an OVS for the switch that the settings of an OVS agent name. RunDir has
// the management sockets of its bridges, "" for Open vSwitch's own choice. The error names
// the option that is wrong.
func NewOVS(s *settings.Settings, runDir string, log *slog.Logger) (*OVS, error) {
	remotes, err := ovsdb.ParseRemotes(connections(s.OVS.Connection, runDir))
	if err != nil {
		return nil, fmt.Errorf("[ovs] ovsdb_connection: %w", err)
	}
	trust, err := trustOf(&s.OVS)
	if err != nil {
		return nil, err
	}
	db := ovsdb.New(ovsdb.Config{
		Remotes: remotes, TLS: trust, Database: "Open_vSwitch", Tables: ovsTables, Timeout: s.OVS.Timeout, Log: log,
	})
	return &OVS{
		Switch:   &ovs.Switch{DB: db, RunDir: runDir, Timeout: s.OVS.Timeout},
		settings: s, db: db, changed: make(chan struct{}, 1),
	}, nil
}

// usualConnection is the default, which no operator has chosen. Debian's switch listens at its
// socket, and at this address only when Neutron's agent has configured that.
const usualConnection = "tcp:127.0.0.1:6640"

// connections are where the switch's database may be.
func connections(chosen, runDir string) string {
	if chosen == usualConnection {
		chosen += ",unix:" + filepath.Join(cmp.Or(runDir, "/var/run/openvswitch"), "db.sock")
	}
	return chosen
}

// trustOf is how an ssl: connection is secured, nil for another one.
func trustOf(s *settings.Switch) (*tls.Config, error) {
	if !strings.Contains(s.Connection, "ssl:") {
		return nil, nil
	}
	c, err := ovsdb.Trust{
		Authorities: ovsdb.File{Option: "ssl_ca_cert_file", Path: s.SSLCACertFile},
		Certificate: ovsdb.File{Option: "ssl_cert_file", Path: s.SSLCertFile},
		Key:         ovsdb.File{Option: "ssl_key_file", Path: s.SSLKeyFile},
	}.Config()
	if err != nil {
		return nil, fmt.Errorf("[ovs] %w", err)
	}
	return c, nil
}

// Run keeps the connection to the switch's database until ctx ends.
func (o *OVS) Run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = o.db.Run(ctx) // it only returns the error of ctx
	}()
	for {
		if _, err := o.db.Next(ctx); err != nil {
			break
		}
		select {
		case o.changed <- struct{}{}:
		default: // a check is pending already
		}
	}
	<-done
}

// Changed implements agent.Enforcer.
func (o *OVS) Changed() <-chan struct{} { return o.changed }

// Capabilities returns what the switch says it can do, nothing before it is reached.
func (o *OVS) Capabilities() (c settings.Capabilities) {
	for _, row := range o.db.Rows("Open_vSwitch") { // there is one
		c.DatapathTypes = ovsdb.Values[string](row, "datapath_types")
		c.InterfaceTypes = ovsdb.Values[string](row, "iface_types")
	}
	slices.Sort(c.DatapathTypes)
	slices.Sort(c.InterfaceTypes)
	return c
}

// Enforce implements agent.Enforcer.
func (o *OVS) Enforce(ctx context.Context, ports []portlist.Port) (enforced agent.Enforced, err error) {
	desired := o.desired(ports)
	actual, err := o.Switch.Observe(ctx)
	if err != nil {
		return enforced, err
	}
	enforced.Findings = notEnforced(ports)
	if steps := ovs.Plan(desired, actual); len(steps) > 0 {
		failed := o.Switch.Apply(ctx, steps)
		for _, f := range failed {
			enforced.Findings = append(enforced.Findings, f.Error())
		}
		enforced.Did = done(steps, failed)
		if actual, err = o.Switch.Observe(ctx); err != nil {
			return enforced, err
		}
	}
	for _, f := range ovs.Findings(desired, actual) {
		enforced.Findings = append(enforced.Findings, findingText(f))
	}
	slices.Sort(enforced.Findings)
	enforced.Plugged = plugged(ports, actual)
	return enforced, nil
}

// done are the steps that did not fail.
func done(steps []ovs.Step, failed []ovs.Failure) (lines []string) {
	for _, s := range steps {
		if !slices.ContainsFunc(failed, func(f ovs.Failure) bool { return f.Step == s }) {
			lines = append(lines, s.String())
		}
	}
	return lines
}

func (o *OVS) desired(ports []portlist.Port) (d ovs.Desired) {
	report := &o.settings.Resources.Report
	for _, bridge := range o.settings.Resources.Devices() {
		d.Bridges = append(d.Bridges, ovs.Bridge{Name: bridge, Rate: ovs.Kbps(count(report.Bandwidths[bridge].Egress))})
	}
	for _, p := range ports {
		d.Ports = append(d.Ports, ovs.Port{
			ID: p.ID, Bridge: report.BridgeMappings[p.PhysicalNetwork], Egress: ovsRate(rulesOf(p, egress)),
			Ingress: ovsRate(rulesOf(p, ingress)),
		})
	}
	return d
}

func ovsRate(p bandwidth) ovs.Rate {
	return ovs.Rate{Min: ovs.Kbps(p.min), Max: ovs.Kbps(p.max), Burst: ovs.Kbps(p.burst)}
}

func findingText(f ovs.Finding) string {
	var about []string
	for _, part := range []struct{ what, name string }{{"port", f.Port}, {"device", f.Device}} {
		if part.name != "" {
			about = append(about, part.what+" "+part.name)
		}
	}
	text := strings.Join(append(about, string(f.Kind)), ": ")
	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}
	return text
}

// plugged says of each port whether the switch has an interface of it that works.
func plugged(ports []portlist.Port, a ovs.Actual) map[string]bool {
	all := make(map[string]bool, len(ports))
	for _, p := range ports {
		all[p.ID] = false
	}
	for _, d := range a.Devices {
		for _, i := range d.Interfaces {
			if _, ours := all[i.Port]; ours && i.Number > 0 && i.Error == "" {
				all[i.Port] = true
			}
		}
	}
	return all
}
