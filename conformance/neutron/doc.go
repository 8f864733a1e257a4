// Package neutron holds a network service to what OpenStack Networking answers:
// dialogues over HTTP in testdata, recorded from the distribution's Neutron, which
// [StartReference] runs, and a runner that plays them against any [Side]. It is
// not for production, and it is no client: it knows no more of the API than what
// differs from one run to the next.
//
// # A dialogue
//
// Blocks are separated by blank lines. What begins with # is a comment; everything
// from the line ---- on is the answer, which -update writes.
//
//	# A member cannot choose the segment.
//	member POST /v2.0/networks @net
//	{"network": {"name": "net0", "provider:network_type": "vlan"}}
//	----
//	403
//	error PolicyNotAuthorized: (rule:create_network and …
//
// The first word says who asks: one of [People]. A body that is not JSON is sent as
// it stands. After the path may come, in any order,
//
//	@net                          a name for the id of what the answer shows
//	@ip=fixed_ips.0.ip_address    a name for what is found on that way in it
//	only=name,mtu                 the attributes to show, instead of all
//	[If-Match: text]              a header; "-" leaves one out
//
// Elsewhere @net stands for the value, in requests and answers alike. @demo and
// @other are the projects.
//
// Ids, MAC and IP addresses, segment numbers, bridges and sockets that the service chose
// and nobody named are called <id1>, <mac1>, <ip1>, <number1>, <bridge1> and <socket1> in the
// order in which they appear, the same for the same value; a time is <time>. What a
// request of the dialogue says is shown as it is.
//
// Other blocks do what agents do: "heartbeat KIND HOST", of an ovs, sriov, dhcp or l3
// agent, with "start" for the first one of an agent and "zone=NAME" for one in an
// availability zone, has the agent report the configurations in its body; "silence ovs HOST" makes its last heartbeat a day
// old; "wired @port HOST" says that the port was plugged in. "placement GET /path"
// asks the placement service that the side reports to.
//
// # Differences
//
// What a side answers otherwise on purpose stands in a file of the same form, which
// has only those requests; see [PlayBut].
//
// # Order
//
// Lists are compared as sets, but for those in the answer to a sorted query, to a
// bulk request, and those in a few attributes where order has a meaning.
package neutron
