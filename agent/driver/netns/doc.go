// Package netns runs servers that are network namespaces: each has real interfaces on the
// bridges, the Open vSwitch or the NICs of the host, so that a guarantee of bandwidth can be
// felt with iperf3. Nothing runs in a server but what somebody starts there with `ip
// netns exec`. It is not for holding ports to their rates, which is package enforce's.
//
//	            the host                              namespace berth-ID
//	nic ─── bridge, or Open vSwitch ─── tap… ═══════════ eth0   a veth pair
//	nic ──────────────────────────────────────────────── eth1   a macvlan on the NIC
//	the device at a PCI address ──────────────────────── eth2   the device itself
//
// Interfaces are numbered in the order of the server's ports. Those of a server that runs
// are up and have the ports' addresses; those of one that is stopped are down.
//
// # What is remembered
//
// A file for each server says what is to be of it, and is written before anything is
// made; the kernel and Open vSwitch have the rest. Whatever is asked for is brought about
// from what is there, so a driver that was killed goes on where it was, and what somebody
// has taken away is made again.
//
//	no file, no namespace   there is no server
//	a file that says so     it was made to the end
//	anything else           it is half made: Build goes on with it, Destroy removes it
//
// A server whose namespace is gone, after a restart of the host for example, is half made
// too. What is not a server's is left alone: interfaces of other names, and those of the
// same name whose alias names another port.
//
// # What was seen
//
// Two servers shared a NIC whose wire carries 500 Mbit/s (a Lab), on two cores with Linux
// 6.18 and other programs on both. One had one TCP connection and a guarantee of 200
// Mbit/s, which package enforce held, the other sixteen and none. In whole frames the
// first got, over several runs,
//
//	                   without its guarantee   with it           and alone
//	macvlans, sending   17 to 56 Mbit/s         195 to 200        474 to 500
//	macvlans, receiving 26 to 56                196 to 200        367 to 388
//	a bridge, sending   12 to 62                194 to 198        486 to 500
//
// For what it receives the NIC was said to have 400 Mbit/s: with 450 the neighbour's
// bursts filled the wire now and then, and the first got 181 to 200.
//
// Devices with a PCI address were not at hand: an end of a veth pair stood for one.
package netns
