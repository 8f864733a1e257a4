// Package agent keeps the network service informed of what a host has: it sends the
// heartbeats of the agents that the host's files describe, and sends them anew when
// the files change. It is not for reading the files, which is settings', nor for
// the wire, which who starts it brings along.
package agent
