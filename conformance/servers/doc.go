// Package servers kills the compute service, and makes its neighbours fail, at each step of
// operations on servers. Afterwards the servers' allocations must be those of their flavors and
// ports, and no server may be stuck. It also runs with the distribution's Placement and Neutron in
// place of Berth's. Services are separate processes; hosts are those of package fakehosts, and
// report over HTTP.
package servers
