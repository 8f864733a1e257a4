package hostagent

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/agent/ovsdb"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/guarantee"
)

// openNetns returns the driver whose servers are network namespaces, and a function that closes it.
// hypervisor is the name of the host's provider.
func openNetns(set *node.Settings, hypervisor string, log *slog.Logger) (*netns.Driver, func(), error) {
	n := &set.Netns
	c := netns.Config{
		Dir: filepath.Join(set.Default.StatePath, "netns"), Prefix: n.Prefix, Namespace: n.Namespace,
		NICs: map[string][]netns.NIC{}, Log: log,
	}
	for physical, devices := range n.Devices {
		for _, name := range devices {
			provider := guarantee.Name{Driver: guarantee.SRIOV, Hypervisor: hypervisor, Device: name}.UUID()
			c.NICs[physical] = append(c.NICs[physical], netns.NIC{Name: name, Provider: provider.String()})
		}
	}
	end := func() {}
	if n.OVS {
		remotes, err := ovsdb.ParseRemotes(n.Connection)
		if err != nil {
			return nil, nil, fmt.Errorf("[os_vif_ovs] ovsdb_connection: %w", err)
		}
		db := ovsdb.New(ovsdb.Config{Remotes: remotes, Database: "Open_vSwitch", Timeout: n.Timeout, Log: log})
		end = daemon.Background(func(ctx context.Context) { _ = db.Run(ctx) }) // it only returns the error of ctx
		c.Switch = &netns.Switch{DB: db, Bridges: n.Bridges, Integration: n.IntegrationBridge}
	} else {
		c.Bridges = maps.Clone(n.Bridges)
		c.Bridges[""] = n.IntegrationBridge
	}
	d, err := netns.New(c)
	if err != nil {
		end()
		return nil, nil, err
	}
	return d, end, nil
}

// hostFacts is what network agents need to know of a compute host in the same process.
type hostFacts struct {
	// elsewhere returns the MAC addresses of the interfaces that are in the namespaces of servers.
	// It is nil when servers have no namespaces.
	elsewhere func() ([]net.HardwareAddr, error)
	// bridges is true when ports are plugged into the kernel's bridges, false for Open vSwitch.
	bridges bool
}

// uplinks returns the NIC of each bridge in the agent's settings: its one port that is not the end
// of a server's interface.
func uplinks(set *agentsettings.Settings, machine agentsettings.Machine) (map[string]string, error) {
	all := map[string]string{}
	for _, bridge := range set.Resources.Devices() {
		d, err := machine.Device(bridge)
		if err != nil {
			return nil, fmt.Errorf("reading the bridge %s: %w", bridge, err)
		}
		nics := slices.DeleteFunc(slices.Clone(d.Ports), func(name string) bool { return strings.HasPrefix(name, "tap") })
		if len(nics) != 1 {
			return nil, fmt.Errorf("[ovs] bridge_mappings: the bridge %s must have exactly one NIC, on which the rates of its "+
				"ports are enforced; it has %q", bridge, nics)
		}
		all[bridge] = nics[0]
	}
	return all, nil
}
