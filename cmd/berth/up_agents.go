package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/osloconfig"
)

// guideHost is the host of the guide to guaranteed minimum bandwidth.
const guideHost = "devstack0"

// guideAgents are its agents' files, in one.
const guideAgents = `# What the agents of the host devstack0 report: as in openvswitch_agent.ini and
# sriov_agent.ini of Neutron. Changes are noticed within seconds.
[DEFAULT]
host = devstack0

[ovs]
bridge_mappings = physnet0:br-physnet0
resource_provider_bandwidths = br-physnet0:10000000:10000000

[sriov_nic]
physical_device_mappings = physnet0:ens5
resource_provider_bandwidths = ens5:40000000:40000000
`

// agentKinds are the agents of the host, in the order in which their devices are in the
// guide's list of providers.
var agentKinds = []agentsettings.Kind{agentsettings.SRIOV, agentsettings.OVS}

// startAgents has the agents of the host report, one after the other, so that placement
// has their devices in the same order each time. They hold ports when there is such a
// host: see holdPorts. End ends them.
func (c *cloud) startAgents(ctx context.Context) (end func(), err error) {
	path := filepath.Join(c.dir, guideHost+".ini")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || c.opts.reset {
		text := guideAgents
		if c.lab != nil {
			text = namespaceAgents
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	to := []agent.Service{agentService{client.NewNetwork(client.Options{Access: c.login(upAgent, func() string { return c.url(&c.network.server) }), Log: c.log})}}
	running, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	end = func() { cancel(); all.Wait() }
	ctx, stop := context.WithTimeout(ctx, syncTime)
	defer stop()
	for n, kind := range agentKinds {
		r, err := c.reporter(kind, osloconfig.Sources{Files: []string{path}}, to)
		if err != nil {
			end()
			return nil, err
		}
		all.Go(func() { r.Run(running, nil) })
		if err := c.awaitAgents(ctx, n+1); err != nil {
			end()
			return nil, err
		}
	}
	return end, nil
}

// reporter returns an agent of the host.
func (c *cloud) reporter(kind agentsettings.Kind, sources osloconfig.Sources, to []agent.Service) (*agent.Reporter, error) {
	log := c.log.With("agent", string(kind))
	read := func() (*agentsettings.Settings, []agent.Service, error) {
		set, warnings, err := agentsettings.Load(kind, sources, agentsettings.Names{Host: guideHost, Canonical: guideHost})
		for _, w := range warnings {
			log.Warn(w)
		}
		return set, to, err
	}
	set, _, err := read()
	findings := &agent.Findings{}
	return &agent.Reporter{
		Beside: c.holdPorts(findings, log), Observed: func() agentsettings.Observed { return agentsettings.Observed{Findings: findings.List()} },
		Services: to, Settings: set, Read: read, Log: log,
		Fingerprint: func() agentsettings.Fingerprint { return agentsettings.FingerprintOf(sources) },
	}, err
}

// syncTime is how long the devices of the agents may take to come into placement.
const syncTime = 5 * time.Second

// awaitAgents waits until placement has the devices of so many agents. That it has not in
// time is no error.
func (c *cloud) awaitAgents(ctx context.Context, want int) error {
	for {
		all, err := c.network.service.Agents(ctx)
		if ctx.Err() != nil {
			c.log.Warn("not all devices of the agents are in placement yet", "agents", len(all))
			return nil
		}
		if err != nil {
			return err
		}
		synced := 0
		for _, a := range all {
			if a.Synced == network.SyncDone {
				synced++
			}
		}
		if synced >= want {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}
