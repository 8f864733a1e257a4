// Package ports kills the network service at each step of what it does to placement, and has
// requests about ports meet at two instances of it. Afterwards what servers hold has to be
// what their ports promise. It has no compute service: it claims and binds as one does.
package ports
