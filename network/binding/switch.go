package binding

import (
	"slices"
	"strings"
)

// The ways in which ports are plugged into virtual switches.
const (
	vifSwitch    = "ovs"
	vifVhostUser = "vhostuser"
)

const (
	datapathKernel = "system"
	datapathDPDK   = "netdev"

	// The types of interfaces of DPDK's datapath that servers share memory with: in
	// the first the switch makes the socket, in the second the server does.
	interfaceVhostServer = "dpdkvhostuser"
	interfaceVhostClient = "dpdkvhostuserclient"

	// DefaultSockets is the directory of vhost-user sockets for agents that report none.
	DefaultSockets = "/var/run/openvswitch"
)

// onSwitch returns binding:vif_type and binding:vif_details of a port on the virtual
// switch of an agent.
func (s Settings) onSwitch(p Port, r Connectivity) (vif string, details map[string]any) {
	switch {
	case r.ovn && r.vhostUserOfOVN():
		return vifVhostUser, map[string]any{
			"connectivity": "l2", "port_filter": false, "vhostuser_mode": "server", "vhostuser_ovs_plug": true,
			"vhostuser_socket": socket(s.OVNSockets, p.ID),
		}
	case r.ovn:
		return vifSwitch, map[string]any{"connectivity": "l2", "port_filter": true}
	}
	vif, details = vifSwitch, map[string]any{"connectivity": "l2", "port_filter": true, "ovs_hybrid_plug": r.hybridPlug}
	if p.VNIC != direct && r.vhostUser() {
		vif, details = vifVhostUser, r.vhostDetails(p.ID)
	}
	details["datapath_type"] = datapathKernel
	if r.kind != "" {
		details["datapath_type"] = r.kind
	}
	if r.bridge != "" {
		details["bridge_name"] = r.bridge
	}
	return vif, details
}

// vhostUser reports whether servers share memory with an Open vSwitch.
func (d datapath) vhostUser() bool {
	return d.kind == datapathDPDK &&
		(slices.Contains(d.interfaces, interfaceVhostServer) || slices.Contains(d.interfaces, interfaceVhostClient))
}

// vhostUserOfOVN is vhostUser of the switch of a chassis, of which Neutron looks for
// one of the types of interfaces only. Every Open vSwitch with DPDK has both.
func (d datapath) vhostUserOfOVN() bool {
	return d.kind == datapathDPDK && slices.Contains(d.interfaces, interfaceVhostServer)
}

// vhostDetails are the VIF details of a vhost-user port. Neutron leaves connectivity out of them.
func (d datapath) vhostDetails(port string) map[string]any {
	mode, dir := "client", DefaultSockets
	if slices.Contains(d.interfaces, interfaceVhostClient) {
		mode = "server" // the switch is the client
	}
	if d.sockets != nil {
		dir = *d.sockets
	}
	return map[string]any{
		"port_filter": false, "ovs_hybrid_plug": false, "vhostuser_mode": mode, "vhostuser_ovs_plug": true,
		"vhostuser_socket": socket(dir, port),
	}
}

// socket is the path of the socket of a port. Its name is that of an interface too, and
// as short as those have to be.
func socket(dir string, port string) string {
	const most = 14
	name := "vhu" + port
	name = name[:min(len(name), most)]
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}
