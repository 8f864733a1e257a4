package devcloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// MaxNetnsHosts is the greatest number of hosts whose servers are network namespaces.
const MaxNetnsHosts = netns.MaxHosts

// namespaceAgents are the guide's agents with rates that a laptop can forward, for the host %[1]s.
const namespaceAgents = `# What the agents of the host %[1]s report, and hold servers to: as in openvswitch_agent.ini
# and sriov_agent.ini of Neutron. Changes are noticed within seconds; the wires stay as they are.
[DEFAULT]
host = %[1]s

[ovs]
bridge_mappings = physnet0:br-physnet0
resource_provider_bandwidths = br-physnet0:500000:500000

[sriov_nic]
physical_device_mappings = physnet0:ens5
resource_provider_bandwidths = ens5:500000:500000
`

// The namespaces where the wires of all hosts end, and how the names of all others begin.
const (
	spacePrefix = "berth-"
	bridgeSpace = "berth-outside-bridge"
	nicSpace    = "berth-outside-nic"
)

// hostSpace is the namespace of a host. Those of its servers have its name and a hyphen for their
// prefix.
func hostSpace(host string) string { return spacePrefix + host }

// The devices of each host, which are those of the guide's. The bridge's NIC has no name in the
// guide.
const (
	guideBridge = "br-physnet0"
	bridgeNIC   = "ens4"
	guideNIC    = "ens5"
	wireRate    = 625_000 // kbit/s; above the agents' rates, so that incoming traffic does not queue before them
)

// newLab describes the network of some hosts when servers are network namespaces.
func newLab(hosts int) *netns.Lab {
	lab := &netns.Lab{Own: true, Wires: []netns.Wire{
		{NIC: bridgeNIC, Bridge: guideBridge, Outside: bridgeSpace, Rate: wireRate},
		{NIC: guideNIC, Outside: nicSpace, Rate: wireRate},
	}}
	for n := range hosts {
		lab.Hosts = append(lab.Hosts, hostSpace(hostName(n)))
	}
	return lab
}

// startLab creates the namespaces and devices of the hosts, if servers are to be network
// namespaces. They are removed with the cloud.
func (c *cloud) startLab(ctx context.Context) error {
	if c.opts.Driver != Netns {
		return nil
	}
	// The names are the same in each cloud. The kernel releases this socket however the process
	// ends.
	first := hostSpace(guideHost)
	lock, err := net.Listen("unix", "@"+first)
	if err != nil {
		return daemon.Fail(daemon.Failed,
			fmt.Errorf("--driver netns: is %s used by another berth up on this machine? %w", first, err))
	}
	c.lab, c.labLock, c.servers = newLab(c.opts.Hosts), lock, map[string]*netns.Driver{}
	if err := c.sweep(ctx); err != nil {
		return daemon.Fail(daemon.Failed, fmt.Errorf("--driver netns: %w", err))
	}
	if err := c.lab.Make(ctx); err != nil {
		return daemon.Fail(daemon.Failed, fmt.Errorf("--driver netns: %w", err))
	}
	return nil
}

// leftSpace is the name of the namespace of a host, or of a server.
var leftSpace = regexp.MustCompile(`^` + spacePrefix + `(devstack([0-9]{1,2}))(?:-[0-9a-f-]{36})?$`)

// sweep removes what a cloud that was killed has left, which may have had more hosts. What it
// cannot remove is logged: it matters only if a host of this cloud needs its name, and then the lab
// says so.
func (c *cloud) sweep(ctx context.Context) error {
	names, err := netns.Namespaces()
	if err != nil {
		return err
	}
	remaining, most := map[string]bool{}, 0
	for _, name := range names {
		if m := leftSpace.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[2]) // digits
			if n < MaxNetnsHosts && hostName(n) == m[1] {
				remaining[m[1]], most = true, max(most, n+1)
			}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(remaining)) {
		// Its servers may be there without it.
		err := (&netns.Lab{Hosts: []string{hostSpace(host)}, Own: true}).Make(ctx)
		var d *netns.Driver
		if err == nil {
			d, err = c.newNetns(host, c.log)
		}
		if err != nil {
			c.log.Warn("servers of a former cloud cannot be removed", "host", host, "error", err)
			continue
		}
		destroyAll(d, c.log)
	}
	if err := newLab(most).Remove(ctx); err != nil {
		c.log.Warn("not all namespaces of a former cloud can be removed", "error", err)
	}
	return ctx.Err()
}

// endLab removes the hosts.
func (c *cloud) endLab() {
	if c.lab == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), tidyTime)
	defer stop()
	if err := c.lab.Remove(ctx); err != nil {
		c.log.Error("the namespaces and devices of the hosts cannot be removed", "error", err)
	}
	_ = c.labLock.Close() // the lock ends with the descriptor, whatever Close returns
	c.lab = nil
}

// newNetns returns the driver of a host whose servers are network namespaces.
func (c *cloud) newNetns(name string, log *slog.Logger) (*netns.Driver, error) {
	return netns.New(netns.Config{
		Dir: filepath.Join(c.dir, "netns", name), Prefix: hostSpace(name) + "-", Namespace: hostSpace(name),
		Bridges: map[string]string{guidePhysicalNetwork: guideBridge},
		NICs:    map[string][]netns.NIC{guidePhysicalNetwork: {{Name: guideNIC}}},
		Log:     log,
	})
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

// enforcePorts returns a function that enforces the rates of the ports of an agent on its host,
// next to its heartbeats; nil when there is nothing to enforce.
func (c *cloud) enforcePorts(
	host string, findings *agent.Findings, log *slog.Logger,
) func(context.Context, *agentsettings.Settings, []agent.Service) {
	if c.lab == nil {
		return nil
	}
	servers := c.servers[host]
	return func(ctx context.Context, set *agentsettings.Settings, services []agent.Service) {
		kernel, err := tc.Open(hostSpace(host))
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
		h.Uplinks, h.Elsewhere = map[string]string{guideBridge: bridgeNIC}, servers.Addresses
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
server without one on the same host, and let both send over the same link:

  host=$(openstack server show server0 -f value -c OS-EXT-SRV-ATTR:host)
  openstack port create port-normal --network net0
  openstack server create server1 --flavor cirros256 \
    --image cirros-0.5.1-x86_64-disk --port port-normal \
    --availability-zone nova:$host
  ip -n berth-outside-bridge address add 10.0.4.254/24 dev eth0
  ip netns exec berth-outside-bridge iperf3 -s -D -p 5201
  ip netns exec berth-outside-bridge iperf3 -s -D -p 5202
  in0=berth-$host-$(openstack server show server0 -f value -c id)
  in1=berth-$host-$(openstack server show server1 -f value -c id)
  ip netns exec $in1 iperf3 -c 10.0.4.254 -p 5202 -P 16 -t 20 >server1.txt &
  ip netns exec $in0 iperf3 -c 10.0.4.254 -p 5201 -t 10 -f m
  wait; grep SUM server1.txt

server0 has one connection and keeps about 200 Mbit/s against the 16 of server1.
Without the guarantee it gets a fraction of that:

  openstack port unset --qos-policy port-normal-qos
  ip netns exec $in1 iperf3 -c 10.0.4.254 -p 5202 -P 16 -t 20 >server1.txt &
  ip netns exec $in0 iperf3 -c 10.0.4.254 -p 5201 -t 10 -f m
  ip netns pids berth-outside-bridge | xargs kill    # the servers of iperf3
`
}

// guaranteed returns a rate for the guide's policy in kbit/s, within what the hosts offer.
func (c *cloud) guaranteed() string {
	if c.lab == nil {
		return "1000000"
	}
	return "200000"
}
