// Package nova compares a compute service with OpenStack Compute: it runs the distribution's Nova
// ([StartReference]), from which the dialogues over HTTP in conformance/nova/testdata were
// recorded.
// Package neutron defines the form of dialogues and plays them. It is not for production.
//
// Nova's numbers of aggregates, services and hypervisors begin with 1 in each dialogue, and are
// written unchanged. "heartbeat compute HOST" with the body {} creates a live host, "silence
// compute HOST" makes its last report a day old. "heartbeat server NAME" creates a server; the body
// has the arguments of server in reference.py. "heartbeat migration UUID" creates a move of one, as
// migration there does.
//
// [StartWhole] runs all of Nova's services, for tests that boot servers with it. The dialogues in
// testdata/cloud there were recorded from it, with Berth's placement and network services: see
// [StartCloud]. Their hosts, h1 and h2, are there from the start, and the ids of users are called
// @member_user and so on. Servers and ports are requested at one side after the other, so requests
// that could be answered from a state in between have an "until".
package nova
