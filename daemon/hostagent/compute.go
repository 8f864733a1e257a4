package hostagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/agent/node"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/client/berthclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/osloconfig"
)

// ServiceVersion is the version in the reports of hosts, that of Nova's release 26
// (nova.objects.service).
const ServiceVersion = 64

// A computeHost is the compute host of an agent. Except for the driver it is used only by the
// goroutine of run.
type computeHost struct {
	src    osloconfig.Sources
	names  agentsettings.Names
	set    *node.Settings
	start  *node.Settings // of the start; the driver keeps them
	driver driver.Driver
	end    func() // closes the driver
	log    *slog.Logger
}

// newComputeHost returns the compute host. It reads the host's inventory, so that errors in it are
// reported before the start.
func (src Source) newComputeHost(
	set *node.Settings, report func(context.Context, []string) error, log *slog.Logger,
) (*computeHost, error) {
	machine, err := set.Report(node.Machine{})
	if err != nil {
		return nil, fmt.Errorf("reading the resources of this host:\n%w", err)
	}
	d, end, err := openDriver(set, machine.Host.Name, report, log)
	if err != nil {
		return nil, fmt.Errorf("[berth] compute_driver = %s: %w", set.Driver, err)
	}
	return &computeHost{src.Compute, src.Names, set, set, d, end, log}, nil
}

// openDriver returns the driver of servers, and a function that closes it. report, unless it is
// nil, is called with the ports of servers that no network agent can detect.
func openDriver(
	set *node.Settings, hypervisor string, report func(context.Context, []string) error, log *slog.Logger,
) (driver.Driver, func(), error) {
	if set.Driver == node.Netns {
		return openNetns(set, hypervisor, log)
	}
	fake := &driver.Fake{BuildDelay: set.Fake.BuildTime, Fail: func(verb, _ string) error {
		if verb == "build" && rand.Float64() < set.Fake.Failure {
			return errors.New("[berth] fake_failure makes this build fail")
		}
		return nil
	}}
	if report == nil {
		return fake, func() {}, nil
	}
	return &driver.Reporting{Driver: fake, Report: report}, func() {}, nil
}

// portReporter returns a function that reports ports of the fake driver's servers to the first
// network service that accepts the report: they have no interface that an agent could detect. It
// returns nil when the network agents enforce rates, since these report ports themselves.
func portReporter(set *agentsettings.Settings, services []agent.Service) func(context.Context, []string) error {
	if set.Berth.Enforce {
		return nil
	}
	return func(ctx context.Context, ports []string) error {
		plugged := make(map[string]bool, len(ports))
		for _, id := range ports {
			plugged[id] = true
		}
		var errs []error
		for _, s := range services {
			err := s.Wire(ctx, set.Default.Host, plugged)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}

// run runs the host's agent until ctx ends, and restarts it when the settings have changed. New
// settings that are invalid are logged, and the old ones stay; those of the driver and the log take
// effect at the next start.
func (h *computeHost) run(ctx context.Context, reload <-chan struct{}) {
	defer h.end()
	for ctx.Err() == nil {
		agent, end, err := h.host()
		if err != nil { // a certificate or token file that was readable at the start
			h.log.Error("the compute service is unavailable", "error", err)
			agent = nil
		}
		stop := func() {}
		if agent != nil {
			stop = daemon.Background(agent.Run)
		}
		h.awaitChange(ctx, reload)
		stop()
		end()
	}
}

// host returns an agent with the current settings and a client for each address of the compute
// service; end closes the clients. Its driver is the one of the start, since it owns the servers.
func (h *computeHost) host() (agent *host.Host, end func(), err error) {
	options, err := serviceOptions(&h.set.Berth.Compute, h.log)
	if err != nil {
		return nil, func() {}, err
	}
	r := &hostReports{set: h.set, log: h.log, driver: h.driver}
	reporter := berthclient.HostReporter{Name: h.set.Default.Host, Report: r.report, OnAnswer: r.answered}
	choice := &host.Choice{}
	var ends []func()
	for _, o := range options {
		c := berthclient.NewHost(o, reporter)
		choice.All, ends = append(choice.All, c), append(ends, c.Close)
	}
	return &host.Host{
		Service: choice, Driver: h.driver, Log: h.log, ReportInterval: h.set.ReportInterval, Concurrency: h.set.Concurrency,
	}, func() {
		for _, end := range ends {
			end()
		}
	}, nil
}

// awaitChange waits until the settings have changed, at most until ctx ends.
func (h *computeHost) awaitChange(ctx context.Context, reload <-chan struct{}) {
	var watch <-chan time.Time
	if h.set.Berth.WatchInterval > 0 {
		tick := time.NewTicker(h.set.Berth.WatchInterval)
		defer tick.Stop()
		watch = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
			h.log.Info("reading the compute host's settings again")
		case <-watch:
			if agentsettings.FingerprintOf(h.src) == h.set.Fingerprint {
				continue
			}
			h.log.Info("the files of the compute host's settings have changed")
		}
		if h.reread() {
			return
		}
	}
}

// reread reads the settings again and applies them, and reports whether they differ.
func (h *computeHost) reread() bool {
	fingerprint := agentsettings.FingerprintOf(h.src) // before reading, so that a change after it is noticed
	cur, warnings, err := node.Load(h.src, h.names)
	for _, w := range warnings {
		h.log.Warn(w)
	}
	if err == nil {
		_, err = cur.Report(node.Machine{})
	}
	if err != nil {
		h.log.Error("the compute host's settings cannot be reloaded; the old ones remain in force", "error", err)
		old := *h.set
		old.Fingerprint = fingerprint // so that the same error is not logged at each interval
		h.set = &old
		return false
	}
	changes := node.Changes(h.set, cur)
	for _, line := range changes {
		h.log.Info("setting changed", "change", line)
	}
	if names := settingsOfStart(h.start, cur); len(changes) > 0 && len(names) > 0 {
		h.log.Warn("some changed settings take effect at the next start", "settings", names)
	}
	h.set = cur
	return len(changes) > 0
}

// settingsOfStart returns the names of the settings that differ and take effect only at the start:
// those of the driver and the log.
func settingsOfStart(running, read *node.Settings) []string {
	options := append([]string{
		"[berth] compute_driver", "[berth] fake_build_time", "[berth] fake_failure", "[berth] netns_prefix",
		"[berth] netns_namespace",
		"[berth] netns_ovs", "[berth] netns_bridges", "[berth] netns_devices", "[neutron] ovs_bridge",
		"[os_vif_ovs] ovsdb_connection", "[os_vif_ovs] ovs_vsctl_timeout",
	}, agentsettings.LogOptions...)
	if running.Driver == node.Netns {
		options = append(options, "[DEFAULT] state_path")
	}
	return agentsettings.NeedRestart(node.Changes(running, read), options)
}

// hostReports makes the reports of a host and logs problems that the answers name. It is safe for
// concurrent use.
type hostReports struct {
	set *node.Settings
	log *slog.Logger
	// look says that nothing is written: a host without a UUID has none yet.
	look bool
	// driver has the host's servers; nil: they are not reported.
	driver driver.Driver

	mu      sync.Mutex
	last    node.Report // empty before the first inspection
	at      time.Time
	failure string // of the last inspection, "" after a success
	warned  []string
	trouble string // the synchronization error of the last answer
	started bool   // a report was answered with the host's tree in placement
}

// report returns a report with the result of the last inspection of the machine, which it repeats
// when the resource interval has passed. When that fails, the report has the earlier result; the
// error is that of the first inspection.
func (r *hostReports) report() (compute.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || r.set.ResourceInterval > 0 && time.Since(r.at) >= r.set.ResourceInterval {
		if err := r.inspect(); err != nil && r.at.IsZero() {
			return compute.Report{}, err
		}
	}
	has := r.last
	devices, err := json.Marshal(has.Devices)
	if err != nil {
		return compute.Report{}, err
	}
	if len(has.Devices) == 0 {
		devices = nil
	}
	var topology []byte
	if has.Topology != nil {
		if topology, err = json.Marshal(has.Topology); err != nil {
			return compute.Report{}, err
		}
	}
	if has.Host.Units, err = r.units(); err != nil {
		return compute.Report{}, err
	}
	return compute.Report{
		Host: r.set.Default.Host, Version: ServiceVersion, Inventory: &has.Host, Starting: !r.started, Node: compute.NodeRow{
			ID: compute.ID(has.Host.ID.String()), Name: has.Host.Name, Type: has.Type, Version: has.Version,
			Address: has.Address,
			VCPUs:   has.Host.VCPU.Total + has.Host.PCPU.Total, MemoryMB: has.Host.MemoryMB.Total, DiskGB: has.Host.DiskGB.Total,
			CPU: has.CPUInfo, Devices: devices, Topology: topology,
		},
	}, nil
}

// listTime bounds how long a report waits for the driver.
const listTime = 10 * time.Second

// units returns the units of devices that servers have, by server. It is nil when the driver has no
// servers: one that simulates them has lost them with its last run, and gets them from the list.
func (r *hostReports) units() (map[string][]inventory.Unit, error) {
	if r.driver == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	states, err := r.driver.Servers(ctx)
	if err != nil || len(states) == 0 {
		return nil, err
	}
	all := map[string][]inventory.Unit{}
	for _, s := range states {
		if units := compute.Units(s.Assignment); len(units) > 0 {
			all[s.ID] = units
		}
	}
	return all, nil
}

// inspect reads the machine's resources. The caller has locked r.mu. A failure is logged unless it
// is the same as the last one, since a failed inspection is repeated with every report.
func (r *hostReports) inspect() error {
	read := r.set.Report
	if r.look {
		read = r.set.Look
	}
	report, err := read(node.Machine{})
	if err != nil {
		if r.failure != err.Error() {
			r.log.Error("the resources of the host cannot be read", "error", err)
		}
		r.failure = err.Error()
		return err
	}
	r.last, r.at, r.failure = report, time.Now(), ""
	r.warn(report.Warnings)
	return nil
}

// warn logs warnings that were not logged before.
func (r *hostReports) warn(all []string) {
	for _, w := range all {
		if !slices.Contains(r.warned, w) {
			r.log.Warn(w)
			r.warned = append(r.warned, w)
		}
	}
}

// answered logs the problems that an answer names, once each.
func (r *hostReports) answered(a berthclient.ReportAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warn(a.Warnings)
	r.started = r.started || a.Synced == nil || *a.Synced
	switch {
	case a.SyncError != "" && a.SyncError != r.trouble:
		r.log.Error("the resources of the host are not up to date in placement", "error", a.SyncError)
	case a.SyncError == "" && r.trouble != "":
		r.log.Info("the resources of the host are in placement")
	}
	r.trouble = a.SyncError
}
