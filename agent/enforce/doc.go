// Package enforce enforces the rules of a host's ports on the devices that the settings name: OVS
// on the bridges of Open vSwitch, SRIOV on NICs and their virtual functions. It translates the
// ports of the network service for packages ovs and tc, which set the rates; it does not call the
// network service, which package agent does.
package enforce
