// Package fleetapi is the wire of hosts: services, hypervisors, aggregates and availability zones
// for operators, and the reports and lists of the hosts themselves, a file per noun.
package fleetapi
