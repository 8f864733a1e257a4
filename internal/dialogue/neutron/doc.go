// Package neutron compares a network service with OpenStack Networking: it plays dialogues over
// HTTP against any [Side], and records them from the distribution's Neutron, which
// [StartReference] runs; conformance/neutron/testdata has them. It is not for production, and it is
// no client: all it interprets in the API are values that differ between runs.
//
// # A dialogue
//
// Blocks are separated by blank lines. Lines that begin with # are comments; everything from the
// line ---- on is the answer, which -update writes.
//
//	# A member cannot choose the segment.
//	member POST /v2.0/networks @net
//	{"network": {"name": "net0", "provider:network_type": "vlan"}}
//	----
//	403
//	error PolicyNotAuthorized: (rule:create_network and …
//
// The first word is the user: one of [People]. A body that is not JSON is sent unchanged. After the
// path may follow, in any order,
//
//	@net                          a name for the id of what the answer shows
//	@ip=fixed_ips.0.ip_address    a name for what is found on that way in it
//	only=name,mtu                 the attributes to show, instead of all
//	without=generation            attributes that are not shown, wherever they are in the answer
//	until=status=ACTIVE           sends the request again until this is there in the answer: a value
//	                              on that way, null for none
//	until=404                     sends it again until the answer has this status; of several of
//	                              these all must be true
//	[If-Match: text]              a header; "-" leaves one out
//
// Elsewhere @net is replaced by the value, in requests and answers alike. @demo and @other are the
// projects.
//
// Ids, MAC and IP addresses, segment numbers, bridges and sockets that the service chose and the
// dialogue does not name are written <id1>, <mac1>, <ip1>, <number1>, <bridge1> and <socket1> in
// the order in which they appear, the same for the same value; so are compute's ids of hosts,
// passwords and reservations, <host1>, <password1> and <reservation1>; a time is <time>. Values in
// a request of the dialogue are written unchanged.
//
// Other blocks act as agents: "heartbeat KIND HOST", of an ovs, sriov, dhcp or l3 agent, with
// "start" for the first one of an agent and "zone=NAME" for one in an availability zone, reports
// the configurations in its body; "silence ovs HOST" makes its last heartbeat a day old; "wired
// @port HOST" reports that the port was plugged in. "placement GET /path" is a request to the
// placement service that the side reports to.
//
// Dialogues with a [Cloud] send requests for paths below /v2.0 to its network service. "hold
// compute HOST" lets a host begin nothing more, so that states in between can be seen, until
// "release compute HOST".
//
// # Differences
//
// Answers of a side that differ on purpose are in a file of the same form, which has only those
// requests; see [PlayBut].
//
// # Order
//
// Lists are compared as sets, but for those in the answer to a sorted query, to a bulk request, and
// those in a few attributes where order has a meaning.
package neutron
