package hostagent

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/enforce"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/agent/tc"
)

// An enforcement enforces the rates of one agent's ports. The agent's heartbeats report its
// findings. It lives as long as the agent; run is called again after each change of the settings.
type enforcement struct {
	runDir   string // of Open vSwitch, "" for its default
	host     hostFacts
	log      *slog.Logger
	findings agent.Findings
	// open returns the enforcer for an agent with these settings, and a function that closes it.
	open func(*agentsettings.Settings) (enforcer, func(), error)

	mu       sync.Mutex
	observed func() agentsettings.Observed // nil before the first inspection
}

// The pauses between attempts to open the kernel or the switch.
const (
	minOpenPause = time.Second
	maxOpenPause = time.Minute
)

// newEnforcement returns the enforcement of an agent on this host.
func newEnforcement(runDir string, host hostFacts, log *slog.Logger) *enforcement {
	e := &enforcement{runDir: runDir, host: host, log: log}
	e.open = e.openHost
	return e
}

// An enforcer enforces the rates of ports while its Run runs.
type enforcer interface {
	agent.Enforcer
	Run(ctx context.Context)
}

// seen returns what heartbeats report of the host's state.
func (e *enforcement) seen() (o agentsettings.Observed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.observed != nil {
		o = e.observed()
	}
	return o
}

// run enforces the rates of ports until ctx ends. While the kernel or the switch cannot be opened,
// it retries, and heartbeats report the error.
func (e *enforcement) run(ctx context.Context, set *agentsettings.Settings, services []agent.Service) {
	if !set.Berth.Enforce {
		e.setObserved(nil)
		return
	}
	h, end, err := e.open(set)
	for pause := minOpenPause; err != nil; pause = min(2*pause, maxOpenPause) {
		if e.findings.Set([]string{err.Error()}) {
			e.log.Error("the rates of ports cannot be enforced; the agent tries again", "error", err)
		}
		e.setObserved(func() agentsettings.Observed { return agentsettings.Observed{Findings: e.findings.List()} })
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if h, end, err = e.open(set); err == nil {
			e.findings.Set(nil)
			e.log.Info("the rates of ports can be enforced again")
		}
	}
	defer end()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { h.Run(ctx) })
	k := agent.Keeper{Services: services, Settings: set, Enforcer: h, Findings: &e.findings, Log: e.log}
	k.Run(ctx)
}

// setObserved sets what heartbeats report from now on; nil is nothing, as for an agent that does
// not enforce rates.
func (e *enforcement) setObserved(fn func() agentsettings.Observed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observed = fn
}

// openHost opens this host's kernel or switch.
func (e *enforcement) openHost(set *agentsettings.Settings) (h enforcer, end func(), err error) {
	if set.Kind == agentsettings.SRIOV || e.host.bridges {
		return e.openKernel(set)
	}
	o, err := enforce.NewOVS(set, e.runDir, e.log)
	if err != nil {
		return nil, nil, err
	}
	e.setObserved(func() agentsettings.Observed {
		return agentsettings.Observed{Capabilities: o.Capabilities(), Findings: e.findings.List()}
	})
	return o, func() {}, nil
}

// openKernel returns an enforcer that uses the kernel's queues. With the kernel's bridges both
// kinds of agent use the kernel, each for its own NICs.
func (e *enforcement) openKernel(set *agentsettings.Settings) (h enforcer, end func(), err error) {
	kernel, err := tc.Open("")
	if err != nil {
		return nil, nil, err
	}
	host := struct {
		tc.Kernel
		tc.VFs
	}{kernel, kernel}
	var nics map[string]string
	if set.Kind == agentsettings.OVS {
		if nics, err = uplinks(set, agentsettings.Sysfs("")); err != nil {
			kernel.Close()
			return nil, nil, err
		}
		host.Kernel = tc.Within(kernel, slices.Collect(maps.Values(nics))...)
	} else if e.host.bridges {
		host.Kernel = tc.Within(kernel, set.Resources.Devices()...)
	}
	e.setObserved(func() agentsettings.Observed { return agentsettings.Observed{Findings: e.findings.List()} })
	s := enforce.NewSRIOV(set, host, agentsettings.Sysfs(""))
	s.Uplinks, s.Elsewhere = nics, e.host.elsewhere
	return s, kernel.Close, nil
}
