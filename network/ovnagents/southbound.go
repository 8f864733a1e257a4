package ovnagents

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/agent/ovn"
	"github.com/berthcloud/berth/agent/ovsdb"
	"github.com/berthcloud/berth/config"
)

// Southbound returns a client of OVN's southbound database, not connected yet: nil when the
// settings have none. The error names the mistakes in the options.
func Southbound(cfg *config.Network, log *slog.Logger) (*ovsdb.Client, error) {
	o := &cfg.OVN
	if !slices.Contains(cfg.ML2.MechanismDrivers, config.DriverOVN) || o.Connection == "" {
		return nil, nil
	}
	remotes, err := ovsdb.ParseRemotes(o.Connection)
	if err != nil {
		return nil, fmt.Errorf("[ovn] ovn_sb_connection: %w", err)
	}
	trust, err := southboundTrust(o)
	if err != nil {
		return nil, fmt.Errorf("[ovn] %w", err)
	}
	return ovsdb.New(ovsdb.Config{
		Remotes: remotes, TLS: trust, Database: ovn.Database, Leader: true, Tables: ovn.Tables(),
		Timeout: time.Duration(o.Timeout) * time.Second, Probe: probeInterval(o.ProbeInterval), Log: log,
	}), nil
}

// unprobed is an interval that disables probes.
const unprobed = 10 * 365 * 24 * time.Hour

// probeInterval is ovsdb_probe_interval, which is one second at least, and 0 for
// none.
func probeInterval(milliseconds int) time.Duration {
	if milliseconds == 0 {
		return unprobed
	}
	return max(time.Duration(milliseconds)*time.Millisecond, time.Second)
}

// southboundTrust is how ssl: connections are secured, nil without any.
func southboundTrust(o *config.OVN) (*tls.Config, error) {
	if !strings.Contains(o.Connection, "ssl:") {
		return nil, nil
	}
	return ovsdb.Trust{
		Authorities: ovsdb.File{Option: "ovn_sb_ca_cert", Path: o.CAFile},
		Certificate: ovsdb.File{Option: "ovn_sb_certificate", Path: o.CertFile},
		Key:         ovsdb.File{Option: "ovn_sb_private_key", Path: o.KeyFile},
	}.Config()
}
