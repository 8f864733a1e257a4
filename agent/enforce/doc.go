// Package enforce holds the ports of a host to their rules on the devices that the
// settings name: OVS on the bridges of Open vSwitch, SRIOV on NICs and their virtual
// functions. It joins what the network service says of ports to packages ovs and tc,
// which know how it is done; it asks no network service, which is package agent's.
package enforce
