package hostagent

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/agent/node"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/client/berthclient"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/logging"
)

// Run runs the agents that the settings name until ctx ends. SIGHUP makes them read their settings
// again. The error is a [daemon.Failure].
func Run(ctx context.Context, p daemon.Process, src Source) error {
	all, set, warnings, err := src.loadAll()
	if err != nil {
		return daemon.Fail(daemon.WrongSettings, err)
	}
	log, output, err := openAgentLog(p, all, set, warnings)
	if err != nil {
		return daemon.Fail(daemon.WrongSettings, err)
	}
	defer output.Close()
	var services []agent.Service
	var report func(context.Context, []string) error
	if len(all) > 0 {
		if services, err = networkServices(&all[0].Berth, log); err != nil {
			return daemon.Fail(daemon.WrongSettings, err)
		}
		report = portReporter(all[0], services)
	}
	var b hostFacts
	var running sync.WaitGroup
	var reloads []chan struct{}
	also := func(run func(context.Context, <-chan struct{})) {
		reload := make(chan struct{}, 1)
		reloads = append(reloads, reload)
		running.Go(func() { run(ctx, reload) })
	}
	if set != nil {
		h, err := src.newComputeHost(set, report, log.With("agent", "compute"))
		if err != nil {
			return daemon.Fail(daemon.WrongSettings, err)
		}
		also(h.run)
		if d, ok := h.driver.(*netns.Driver); ok {
			b.elsewhere, b.bridges = d.Addresses, !set.Netns.OVS
		}
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for _, s := range all {
		also(src.reporter(p.Getenv("OVS_RUNDIR"), s, services, b, log).Run)
	}
	running.Go(func() { passOn(ctx, hangup, reloads, output, log) })
	host := ""
	if set != nil {
		host = set.Default.Host
	}
	if len(all) > 0 { // the same name: ports are bound by it
		host = all[0].Default.Host
	}
	log.Info("Berth's agent starts", "version", p.Version, "host", host, "agents", len(reloads))
	running.Wait()
	log.Info("Berth's agent has stopped")
	return nil
}

// openAgentLog opens the log in the settings of the network agents, or else in those of the compute
// host.
func openAgentLog(
	p daemon.Process, all []*agentsettings.Settings, set *node.Settings, warnings []string,
) (*slog.Logger, *logging.Output, error) {
	var s config.Service
	if set != nil {
		d := set.Default
		s.Default = d.Logging
		s.Ignored = append(s.Ignored, set.Ignored...)
	}
	if len(all) > 0 {
		d := all[0].Default
		s.Default = d.Logging
		s.Ignored = append(s.Ignored, all[0].Ignored...)
	}
	return daemon.OpenServiceLog(p, &s, daemon.AgentLog, warnings)
}

// passOn forwards SIGHUP to each part of the agent.
func passOn(
	ctx context.Context, hangup <-chan os.Signal, reloads []chan struct{}, output *logging.Output, log *slog.Logger,
) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		if err := output.Reopen(); err != nil {
			log.Error("the log file cannot be reopened", "error", err)
		}
		for _, reload := range reloads {
			select {
			case reload <- struct{}{}:
			default: // a reload is pending already
			}
		}
	}
}

// reporter returns the reporter of a network agent, which also enforces the rates of its ports.
func (src Source) reporter(
	ovsDir string, set *agentsettings.Settings, services []agent.Service, b hostFacts, log *slog.Logger,
) *agent.Reporter {
	log = log.With("agent", string(set.Kind))
	e := newEnforcement(ovsDir, b, log)
	return &agent.Reporter{
		Services: services, Settings: set, Log: log, Observed: e.seen, Background: e.run,
		Read: func() (*agentsettings.Settings, []agent.Service, error) {
			s, warnings, err := agentsettings.Load(set.Kind, src.Sources, src.Names)
			for _, w := range warnings {
				log.Warn(w)
			}
			if err != nil {
				return nil, nil, err
			}
			services, err := networkServices(&s.Berth, log)
			return s, services, err
		},
		Fingerprint: func() agentsettings.Fingerprint { return agentsettings.FingerprintOf(src.Sources) },
	}
}

// networkServices are the network services that the settings name, in their order.
func networkServices(b *agentsettings.Berth, log *slog.Logger) ([]agent.Service, error) {
	options, err := serviceOptions(&b.Network, log)
	var all []agent.Service
	for _, o := range options {
		all = append(all, berthclient.NewNetwork(o))
	}
	return all, err
}
