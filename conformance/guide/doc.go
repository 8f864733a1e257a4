// Package guide types what OpenStack's guide to guaranteed minimum bandwidth types,
// with the openstack client, at Berth's services and a Keystone, from the
// configuration of the network service up to the ports, and what the service refuses.
// It is not for the API's details: conformance/neutron is about those.
//
// A script in testdata is played by people, who are named by a line "as admin" or "as
// member", and by what runs beside them: a line that starts with * is something that
// happens. Commands start with $, as in the guide; the line ---- and the output
// follow. Where upstream's services print something else, that stands below a further
// line, ---- upstream: with the reason. What comes from Berth is compared each time,
// what comes from upstream with the flag -upstream; with -record too, it is written.
// boot.txt and more.txt are played with Debian's Nova too, each time: for them, upstream's
// is what Nova prints beside Berth's services.
//
// Values that differ from run to run have names. A line "= <port>" below a command
// calls the id that it prints <port>, here and in what follows; others are <id1>,
// <id2> and so on. A UUID that is in the script stays as it is.
package guide
