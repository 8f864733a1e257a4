package hostagent

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/enforce"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/agent/tc"
)

// An enforcement applies the rates of one agent's ports beside its heartbeats, which report its
// findings. It is one for the life of the agent: run is called again after each change of the
// settings.
type enforcement struct {
	runDir   string // of Open vSwitch, "" for its own choice
	host     hostFacts
	log      *slog.Logger
	findings agent.Findings

	mu       sync.Mutex
	observed func() agentsettings.Observed // nil before the first inspection
}

// A holder enforces the rates of ports while its Run runs.
type holder interface {
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

// run enforces the rates of ports until ctx ends. When they cannot be enforced, heartbeats say why.
func (e *enforcement) run(ctx context.Context, set *agentsettings.Settings, services []agent.Service) {
	if !set.Berth.Enforce {
		e.see(nil)
		return
	}
	h, end, err := e.open(set)
	if err != nil {
		e.log.Error("the rates of ports cannot be enforced", "error", err)
		e.findings.Set([]string{err.Error()})
		e.see(func() agentsettings.Observed { return agentsettings.Observed{Findings: e.findings.List()} })
		return
	}
	defer end()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { h.Run(ctx) })
	k := agent.Keeper{Services: services, Settings: set, Enforcer: h, Findings: &e.findings, Log: e.log}
	k.Run(ctx)
}

// see sets what heartbeats report from then on; nil reports nothing, as of an agent that does not
// enforce.
func (e *enforcement) see(fn func() agentsettings.Observed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observed = fn
}

// open returns the holder for the ports of an agent of this kind.
func (e *enforcement) open(set *agentsettings.Settings) (h holder, end func(), err error) {
	if set.Kind == agentsettings.SRIOV || e.host.bridges {
		return e.openKernel(set)
	}
	o, err := enforce.NewOVS(set, e.runDir, e.log)
	if err != nil {
		return nil, nil, err
	}
	e.see(func() agentsettings.Observed {
		return agentsettings.Observed{Capabilities: o.Capabilities(), Findings: e.findings.List()}
	})
	return o, func() {}, nil
}

// openKernel returns a holder that uses the kernel's queues. With the kernel's bridges two agents
// have one, each for NICs of its own.
func (e *enforcement) openKernel(set *agentsettings.Settings) (h holder, end func(), err error) {
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
	e.see(func() agentsettings.Observed { return agentsettings.Observed{Findings: e.findings.List()} })
	s := enforce.NewSRIOV(set, host, agentsettings.Sysfs(""))
	s.Uplinks, s.Elsewhere = nics, e.host.elsewhere
	return s, kernel.Close, nil
}
