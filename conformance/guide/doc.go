// Package guide runs the commands of OpenStack's guide to guaranteed minimum bandwidth, with the
// openstack client, with Berth's services and a Keystone, from the configuration of the network
// service up to the ports, and the requests that the service refuses. The API's details are in
// conformance/neutron.
//
// A script in testdata has commands of users, who are named by a line "as admin" or "as member",
// and events: a line that starts with * is an event. Commands start with $, as in the guide; the
// line ---- and the output follow. Where upstream's services print something else, that is below a
// further line, ---- upstream: with the reason. Berth's output is compared each time, upstream's
// with the flag -upstream; with -record too, it is written. boot.txt and more.txt are played with
// Debian's Nova too, each time: for them, upstream's output is that of Nova with Berth's services.
//
// Two pages of docs are played too, docs/first-steps.md and docs/operations/moves.md: their
// commands are run and their outputs compared, those of the second also with Berth's compute
// service with Debian's Placement and Neutron.
//
// Values that differ from run to run have names. A line "= <port>" below a command names the id
// that it prints <port>, there and below; others are <id1>, <id2> and so on. A UUID that is in the
// script is unchanged.
package guide
