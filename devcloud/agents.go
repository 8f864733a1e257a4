package devcloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/berthclient"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/osloconfig"
)

// guideHost is the host in the guide to guaranteed minimum bandwidth.
const guideHost = "devstack0"

// guideAgent is the id of its Open vSwitch agent, as the guide prints it.
const guideAgent network.ID = "5e57b85f-b017-419a-8745-9c406e149f9e"

// upAgentID returns the guide's id for its agent, and "" for others, which get random ids.
func upAgentID(kind, host string) network.ID {
	if kind == guarantee.OpenVSwitch.AgentType && host == guideHost {
		return guideAgent
	}
	return ""
}

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

// commonAgents is the configuration of the agents of all hosts. Networks of the default type are
// tunnels, which reach every host.
const commonAgents = `# What the Open vSwitch agents of all hosts report, as in openvswitch_agent.ini of Neutron; for
# devstack0, devstack0.ini goes before it. Changes are noticed within seconds.
[agent]
tunnel_types = vxlan

[ovs]
local_ip = 127.0.0.1
`

// agentKinds are the agents of a host with devices, in the order of the devices in the guide's list
// of providers.
var agentKinds = []agentsettings.Kind{agentsettings.SRIOV, agentsettings.OVS}

// startAgents starts the agents of a host with devices, one after the other, so that these have the
// same order in placement each time. The hosts before it have agents like these. With network
// namespaces they enforce rates: see enforcePorts. end ends them.
func (c *cloud) startAgents(ctx context.Context, n int) (end func(), err error) {
	host, text := hostName(n), guideAgents
	if c.lab != nil {
		text = fmt.Sprintf(namespaceAgents, host)
	}
	path, err := c.agentsFile(host+".ini", text)
	if err != nil {
		return nil, err
	}
	files := []string{path}
	if c.lab == nil { // network namespaces have no tunnels
		common, err := c.agentsFile(commonFile, commonAgents)
		if err != nil {
			return nil, err
		}
		files = []string{common, path}
	}
	running, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	end = func() { cancel(); all.Wait() }
	services := c.agentServices(host)
	ctx, stop := context.WithTimeout(ctx, syncTime)
	defer stop()
	for i, kind := range agentKinds {
		r, err := c.reporter(host, kind, osloconfig.Sources{Files: files}, services)
		if err != nil {
			end()
			return nil, err
		}
		all.Go(func() { r.Run(running, nil) })
		if err := c.awaitAgents(ctx, n*len(agentKinds)+i+1); err != nil {
			end()
			return nil, err
		}
	}
	return end, nil
}

// startOtherAgents starts an Open vSwitch agent on each host but the guide's, with tunnels and no
// devices. With network namespaces those hosts have their agents already. end ends them.
func (c *cloud) startOtherAgents(ctx context.Context) (end func(), err error) {
	if c.lab != nil {
		return func() {}, nil
	}
	running, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	end = func() { cancel(); all.Wait() }
	sources := osloconfig.Sources{Files: []string{filepath.Join(c.dir, commonFile)}}
	for n := 1; n < c.opts.Hosts; n++ {
		r, err := c.reporter(hostName(n), agentsettings.OVS, sources, c.agentServices(hostName(n)))
		if err != nil {
			end()
			return nil, err
		}
		all.Go(func() { r.Run(running, nil) })
	}
	ctx, stop := context.WithTimeout(ctx, syncTime)
	defer stop()
	if err := c.awaitAgents(ctx, len(agentKinds)+c.opts.Hosts-1); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// commonFile is the name of the file with commonAgents.
const commonFile = "agents.ini"

// agentsFile returns the path of a settings file of agents, and creates the file when it is missing
// or everything begins again.
func (c *cloud) agentsFile(name, text string) (path string, err error) {
	path = filepath.Join(c.dir, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || c.opts.Reset {
		return path, os.WriteFile(path, []byte(text), 0o600)
	}
	return path, nil
}

// agentServices are the services that the agents of a host report to.
func (c *cloud) agentServices(host string) []agent.Service {
	access := c.login(upAgent, func() string { return c.url(&c.network.Server) })
	return []agent.Service{berthclient.NewNetwork(client.Options{
		Access: access, HostKey: c.hostKey(host), Log: c.output.Logger(daemon.AgentLog),
	})}
}

// reporter returns an agent of a host, which reads its settings again when the files change.
func (c *cloud) reporter(
	host string, kind agentsettings.Kind, sources osloconfig.Sources, services []agent.Service,
) (*agent.Reporter, error) {
	log := c.output.Logger(daemon.AgentLog).With("agent", string(kind), "host", host)
	read := func() (*agentsettings.Settings, []agent.Service, error) {
		set, warnings, err := agentsettings.Load(kind, sources, agentsettings.Names{Host: host, Canonical: host})
		for _, w := range warnings {
			log.Warn(w)
		}
		return set, services, err
	}
	set, _, err := read()
	findings := &agent.Findings{}
	return &agent.Reporter{
		Background: c.enforcePorts(host, findings, log),
		Observed:   func() agentsettings.Observed { return agentsettings.Observed{Findings: findings.List()} },
		Services:   services, Settings: set, Read: read, Log: log,
		Fingerprint: func() agentsettings.Fingerprint { return agentsettings.FingerprintOf(sources) },
	}, err
}

// syncTime bounds the wait for the agents' devices in placement.
const syncTime = 5 * time.Second

// awaitAgents waits until want agents have reported, and placement has the devices of those that
// have any. A time-out is logged and is no error.
func (c *cloud) awaitAgents(ctx context.Context, want int) error {
	for {
		all, err := c.network.Network().Agents(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		ready := 0
		for _, a := range all {
			state, err := c.network.Network().State(a.AgentRow)
			if a.Synced == network.SyncDone || err == nil && len(state.Providers) == 0 {
				ready++
			}
		}
		if ready >= want {
			return nil
		}
		select {
		case <-ctx.Done():
			c.log.Warn("not all devices of the agents are in placement yet", "agents", want, "ready", ready)
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}
