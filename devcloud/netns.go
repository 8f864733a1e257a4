package devcloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/agent/enforce"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/daemon"
)

// tidyTime bounds the removal of the kernel's objects.
const tidyTime = 20 * time.Second

// The drivers of "berth up".
const (
	Fake  = "fake"
	Netns = "netns"
)

// namespaceAgents are the guide's agents with rates that a laptop can forward.
const namespaceAgents = `# What the agents of the host devstack0 report, and hold servers to: as in openvswitch_agent.ini
# and sriov_agent.ini of Neutron. Changes are noticed within seconds; the wires stay as they are.
[DEFAULT]
host = devstack0

[ovs]
bridge_mappings = physnet0:br-physnet0
resource_provider_bandwidths = br-physnet0:500000:500000

[sriov_nic]
physical_device_mappings = physnet0:ens5
resource_provider_bandwidths = ens5:500000:500000
`

// The namespaces of the guide's host and of the other ends of its wires.
const (
	hostSpace   = "berth-" + guideHost
	bridgeSpace = "berth-outside-bridge"
	nicSpace    = "berth-outside-nic"
)

// The devices of the guide's host. The bridge's NIC has no name in the guide.
const (
	guideBridge = "br-physnet0"
	bridgeNIC   = "ens4"
	guideNIC    = "ens5"
	wireRate    = 625_000 // kbit/s; above the agents' rates, so that incoming traffic does not queue before them
)

// newLab describes the network of the guide's host when servers are network namespaces.
func newLab() *netns.Lab {
	return &netns.Lab{Namespace: hostSpace, Own: true, Wires: []netns.Wire{
		{NIC: bridgeNIC, Bridge: guideBridge, Outside: bridgeSpace, Rate: wireRate},
		{NIC: guideNIC, Outside: nicSpace, Rate: wireRate},
	}}
}

// startLab creates the namespaces and devices of the guide's host, if servers are to be network
// namespaces. They are removed with the cloud.
func (c *cloud) startLab(ctx context.Context) error {
	if c.opts.Driver != Netns {
		return nil
	}
	// The names are the same in each cloud. The kernel releases this socket however the process
	// ends.
	lock, err := net.Listen("unix", "@"+hostSpace)
	if err != nil {
		return daemon.Fail(daemon.Failed, fmt.Errorf("--driver netns: is %s used by another berth up on this machine? %w", hostSpace, err))
	}
	c.lab, c.labLock = newLab(), lock
	if err := c.lab.Make(ctx); err != nil {
		return daemon.Fail(daemon.Failed, fmt.Errorf("--driver netns: %w", err))
	}
	return nil
}

// endLab removes the guide's host.
func (c *cloud) endLab() {
	if c.lab == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), tidyTime)
	defer stop()
	if err := c.lab.Remove(ctx); err != nil {
		c.log.Error("the namespaces and devices of the guide's host cannot be removed", "error", err)
	}
	_ = c.labLock.Close() // the lock ends with the descriptor, whatever Close returns
	c.lab = nil
}

// newNetns returns the driver of a host whose servers are network namespaces. Only the guide's host
// has bridges and NICs.
func (c *cloud) newNetns(name string, log *slog.Logger) (*netns.Driver, error) {
	config := netns.Config{Dir: filepath.Join(c.dir, "netns", name), Prefix: "berth-" + name + "-", Log: log}
	if name == guideHost {
		config.Namespace = hostSpace
		config.Bridges = map[string]string{"physnet0": guideBridge}
		config.NICs = map[string][]netns.NIC{"physnet0": {{Name: guideNIC}}}
	}
	return netns.New(config)
}

// destroyAll removes the servers of a host, which creates them again after a restart.
func destroyAll(d driver.Driver, log *slog.Logger) {
	ctx, stop := context.WithTimeout(context.Background(), tidyTime)
	defer stop()
	all, err := d.Servers(ctx)
	for _, s := range all {
		err = errors.Join(err, d.Destroy(ctx, s.ID))
	}
	if err != nil {
		log.Error("namespaces of servers cannot be removed", "error", err)
	}
}

// enforcePorts returns a function that enforces the rates of an agent's ports on the guide's host,
// beside its heartbeats; nil when there is nothing to enforce.
func (c *cloud) enforcePorts(findings *agent.Findings, log *slog.Logger) func(context.Context, *agentsettings.Settings, []agent.Service) {
	if c.lab == nil {
		return nil
	}
	return func(ctx context.Context, set *agentsettings.Settings, services []agent.Service) {
		kernel, err := tc.Open(hostSpace)
		if err != nil {
			log.Error("the rates of ports cannot be enforced", "error", err)
			findings.Set([]string{err.Error()})
			return
		}
		defer kernel.Close()
		nic := guideNIC // each agent has its own, and leaves the other's alone
		if set.Kind == agentsettings.OVS {
			nic = bridgeNIC
		}
		h := enforce.NewSRIOV(set, struct {
			tc.Kernel
			tc.VFs
		}{tc.Within(kernel, nic), kernel}, agentsettings.Sysfs(""))
		h.Uplinks, h.Elsewhere = map[string]string{guideBridge: bridgeNIC}, c.servers.Addresses
		stop := daemon.Background(h.Run)
		defer stop()
		k := agent.Keeper{Services: services, Settings: set, Enforcer: h, Findings: findings, Log: log}
		k.Run(ctx)
	}
}

// compete describes an experiment that shows the effect of a guarantee, when servers have
// interfaces.
func (c *cloud) compete() string {
	if c.lab == nil {
		return ""
	}
	return `
Servers are network namespaces here. To measure the guarantee, make a second
server without one, and let both send over the same link:

  openstack port create port-normal --network net0
  openstack server create server1 --flavor cirros256 \
    --image cirros-0.5.1-x86_64-disk --port port-normal
  ip -n berth-outside-bridge address add 10.0.4.254/24 dev eth0
  ip netns exec berth-outside-bridge iperf3 -s -D -p 5201
  ip netns exec berth-outside-bridge iperf3 -s -D -p 5202
  in0=berth-devstack0-$(openstack server show server0 -f value -c id)
  in1=berth-devstack0-$(openstack server show server1 -f value -c id)
  ip netns exec $in1 iperf3 -c 10.0.4.254 -p 5202 -P 16 -t 20 >server1.txt &
  ip netns exec $in0 iperf3 -c 10.0.4.254 -p 5201 -t 10 -f m
  wait; grep SUM server1.txt

server0 has one connection and keeps about 200 Mbit/s beside the 16 of server1.
Without the guarantee it gets a fraction of that:

  openstack port unset --qos-policy port-normal-qos
  ip netns exec $in1 iperf3 -c 10.0.4.254 -p 5202 -P 16 -t 20 >server1.txt &
  ip netns exec $in0 iperf3 -c 10.0.4.254 -p 5201 -t 10 -f m
  ip netns pids berth-outside-bridge | xargs kill    # the servers of iperf3
`
}

// guaranteed returns a rate for the guide's policy in kbit/s, within what the guide's host offers.
func (c *cloud) guaranteed() string {
	if c.lab == nil {
		return "1000000"
	}
	return "200000"
}
