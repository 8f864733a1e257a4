// Package nova holds a compute service to what OpenStack Compute answers: dialogues
// over HTTP in testdata, recorded from the distribution's Nova, which
// [StartReference] runs. Dialogues are what package neutron makes of them; it plays
// them too. It is not for production.
//
// Numbers that Nova gives to aggregates, services and hypervisors begin with 1 in
// each dialogue, and stand in it as they are. "heartbeat compute HOST" with the body
// {} makes a host that is alive, "silence compute HOST" makes its last report a day
// old. "heartbeat server NAME" makes a server, of which the body says as much as
// the arguments of server in reference.py.
//
// [StartWhole] runs all of Nova's services, for tests that boot servers with it.
package nova
