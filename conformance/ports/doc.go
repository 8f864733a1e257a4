// Package ports kills the network service at each step of its changes in placement, and sends
// concurrent requests about ports to two instances of it. Afterwards the servers' allocations must
// equal the guarantees of their ports. It has no compute service: it claims and binds as one does.
package ports
