// Package servers kills the compute service and the network service, makes their peer services, the
// database and hosts fail, and stops one of two compute services, at each step of operations on
// servers, moves too. Afterwards the servers' allocations on each provider must be those of their
// flavors and ports, those of moves that can be reverted what the servers had before, each port
// must have the one binding, the provider and the device that fit its server's host, and hosts
// exactly their servers; no server may be stuck, and none destroyed without a request. The network
// service is also killed while it brings segments of routed networks into placement and compute.
// The tests of servers also run with the distribution's Placement and Neutron in place of Berth's.
// Services are separate processes; hosts are those of package fakehosts, and report over HTTP.
package servers
