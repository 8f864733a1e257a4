// Package ovs enforces the minimum and the maximum bandwidth of ports on an
// Open vSwitch: queues and queueing disciplines over OVSDB, and flows
// that choose the queue. It does not wire ports, and is not for interfaces outside
// of Open vSwitch.
//
//	Observe ─► Actual ─┐
//	                   ├─► Plan ─► []Step ─► Apply
//	           Desired ┘
//	                   └─► Findings: what cannot be enforced
//
// # What is set
//
// From the server to the network (egress), the bottleneck is the uplink of the
// physical bridge, which ports share. The uplink gets a QoS row of type linux-htb:
// the queue 0 for all ports without a guarantee, and one for each port with a
// minimum. A flow in table 0 of the bridge where the port is plugged in sets the
// queue for packets of the port, then resubmits them to the table; a bit of
// register 15 keeps it from matching twice. The choice survives patch ports, as
// packets cross them with their priority. A maximum is a meter in that flow, so
// that it applies between servers of the host too.
//
// From the network to the server (ingress), the port's own interface gets a QoS
// row with one queue. It enforces the maximum. The minimum is written there, and has
// a finding: the senders decide how the uplink's receiving side is shared.
//
// Flows and meters need OpenFlow, for which ovs-ofctl is run, each time with a
// time-out: the dozen messages that are needed would be a second protocol to
// maintain, and every host with the switch has the program.
//
// The datapath of ovs-vswitchd (netdev) sends packets without a priority, so that
// only queue 0 would be used. There, tc is run to choose the queue of what leaves
// through an uplink by its source address, and to keep queues short.
//
// # What belongs to Berth
//
// Rows with "berth" among their external_ids, flows with our cookie, meters from
// 100001 to 165535 (100000 and the number of the OpenFlow port), and in the QoS
// that are ours, tc's filters with preferences from 20000 to 20255. Nothing else is
// touched; a port with a QoS of another program has a finding. The agent finds
// all of it again after a restart. Flows and meters end with ovs-vswitchd, rows
// do not.
//
// # What was measured
//
// With Open vSwitch 3.1, its datapath in userspace, veths, and a kernel with HTB;
// TCP by iperf3:
//
//   - Queues alone: the classes are created as requested, but a queue of 20 Mbit/s
//     carried nothing while its port sent 135 Mbit/s through queue 0.
//   - With filters alone, a port with 30 of an uplink's 40 Mbit/s got 2.4 Mbit/s
//     next to a flood of 80 Mbit/s: packets of all queues wait in the buffer of one
//     socket, which the flood fills.
//   - With filters and short queues it got 27 to 28 Mbit/s, and 35 to 37 Mbit/s
//     alone. So it is done; with more than 16 queues or without the port's address
//     there is a finding (UserspaceDatapath).
//   - From the network, queue 0 of the port's interface held 20 Mbit/s (19 Mbit/s
//     of TCP); from the server, a meter of 20 Mbit/s let through 11 to 19 Mbit/s,
//     as it drops and does not queue.
//
// The kernel's datapath passes the priority on. It was not available: the rows, the classes, the
// flows and the path of a packet through them (ofproto/trace) were tested, not the
// rates.
package ovs
