// Package tc is the part of the agent that enforces guarantees and limits of
// bandwidth: on plain interfaces by the kernel's traffic control, on SR-IOV cards
// by the rates of their VFs. It does not derive the rates of ports, and it does
// not use Open vSwitch's own queues.
//
// The middle is pure: Plan and PlanVFs return the steps from the actual to the
// desired state, Check and CheckVFs what cannot be enforced. A Kernel and VFs
// observe and carry out; Linux is both. Enforce and EnforceVFs are one round of
// it. No state is kept between rounds, so a restart is a round like any other.
//
// # Classes
//
// Ports that share an interface are classes of one HTB tree:
//
//	eth0  be70: htb ── be70:1  the link's rate
//	                     ├── be70:2   what no filter takes   a002: fq_codel
//	   source MAC ─►     ├── be70:10  a port                 a010: fq_codel
//	   source MAC ─►     └── be70:11  a port                 a011: fq_codel
//
// A guarantee is a class's rate, a limit its ceiling, without one it is the
// link's rate. Ports without a guarantee share the rest in equal parts, and
// get at least a thousandth of the link. If guarantees exceed the link's rate
// they are reduced in proportion; otherwise HTB would serve them in order of
// arrival, and meet none.
// What a class leaves unused goes to the others in proportion to their quantum,
// which is a millisecond of the rate in 1600 to 60000 bytes.
//
// Packets that a host encapsulates in tunnels have its own address at the NIC, not
// the port's: they are classified before the encapsulation, or not at all.
//
// Rates count whole Ethernet frames without preamble and checksum: of a
// guarantee, TCP with full frames delivers 1448/1514, which is 95.6 %.
//
// A burst, as long as it takes at the class's rate and ceiling, is
//
//	4 ms + the time of 64 KiB, at most 20 s
//
// because the sender may sleep for a tick of the clock while others have the
// processor, and packets come to the queue before they are segmented.
//
// Filters are of kind flower, which reads a frame as it is. A kernel without it
// gets u32, which counts back from the network header and so does not see the
// address of a frame whose VLAN tag is part of its data; network cards and
// virtual ones that keep tags outside the frame do not have such frames. A kernel
// without fq_codel gets pfifo, which is reported.
//
// # What an interface receives
//
// The kernel queues only what it sends. Putting the classes on the ports' own
// interfaces would keep limits but no guarantee: HTB shares within one tree, and
// trees of different interfaces know nothing of each other. So all that the
// interface receives is first sent through one IFB device, which has the same
// tree, by destination:
//
//	eth0  ffff: ingress ── filter pref 48752 ─► bth-67b19724 ── be70: htb ─► eth0 receives
//
// From there it continues to bridges and Open vSwitch, for which nothing changes.
// The guarantee is met because other ports are slowed down here before the link
// is full. That needs senders with congestion control, and a Rate a little below
// the link's; otherwise the queue is in the switch, which enforces no guarantee.
//
// # What belongs to this package
//
// A root qdisc htb be70: with all below it, filters of priority 48752 for what an
// interface receives, and IFBs whose name begins with "bth-". An interface with
// another configured root qdisc is reported and not touched. An existing ingress
// qdisc is used; it is removed with the last filter in it.
//
// # What was seen
//
// Two servers on a bridge shared a veth of 500 Mbit/s, on two cores with Linux
// 6.18, which has HTB, u32, mirred and IFB, but neither flower nor fq_codel. One
// had one TCP connection and a guarantee of 200 Mbit/s, the other sixteen and
// none. In whole frames the first got, over a dozen runs, in either direction,
// and with other programs on both cores:
//
//	without its guarantee   21 to 98 Mbit/s
//	with it                193 to 202
//	with it, and alone     467 to 500
//
// VFs and flower were not measured, for lack of such a card and kernel: the
// netlink messages that set them are the library's.
package tc
