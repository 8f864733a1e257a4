// Package netns runs servers that are network namespaces: each has real interfaces on the
// bridges, the Open vSwitch or the NICs of the host, so that a guarantee of bandwidth can be
// measured with iperf3. Nothing runs in a server but what a user starts there with `ip
// netns exec`. It does not enforce the rates of ports, which package enforce does.
//
//	            the host                              namespace berth-ID
//	nic ─── bridge, or Open vSwitch ─── tap… ═══════════ eth0   a veth pair
//	nic ──────────────────────────────────────────────── eth1   a macvlan on the NIC
//	the device at a PCI address ──────────────────────── eth2   the device itself
//
// Interfaces are numbered in the order of the server's ports. Those of a server that runs
// are up and have the ports' addresses; those of one that is stopped, paused or suspended are down.
//
// # State
//
// A file for each server has its desired state, and is written before anything is
// created; the kernel and Open vSwitch have the rest. Each operation starts from the
// actual state, so a driver that was killed continues where it was, and what another
// program has removed is created again.
//
//	no file, no namespace   there is no server
//	a file that says so     its build was completed
//	anything else           it is half built: Build continues it, Destroy removes it
//
// A server whose namespace does not exist, after a restart of the host for example, is half
// built too. What is not a server's is not touched: interfaces of other names, and those of the
// same name whose alias names another port.
//
// # What was measured
//
// Two servers shared a NIC whose wire carries 500 Mbit/s (a Lab), on two cores with Linux
// 6.18 and other programs on both. One had one TCP connection and a guarantee of 200
// Mbit/s, which package enforce enforced, the other sixteen and none. In whole frames the
// first got, over several runs,
//
//	                   without its guarantee   with it           and alone
//	macvlans, sending   17 to 56 Mbit/s         195 to 200        474 to 500
//	macvlans, receiving 26 to 56                196 to 200        367 to 388
//	a bridge, sending   12 to 62                194 to 198        486 to 500
//
// For receiving, the NIC was configured with 400 Mbit/s: with 450 the bursts of the other server
// filled the wire at times, and the first server got 181 to 200.
//
// Devices with a PCI address were not available: an end of a veth pair stood for one.
package netns
