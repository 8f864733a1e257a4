// Package agent reports the state of a host to the network service: it sends the heartbeats of the
// agents that the host's files describe, and sends them again when the files change. It also has
// the host's ports enforced. It does not read the files, which package settings does, and it does
// not know the wire, which its caller brings along.
//
// reporter.go sends the heartbeats; keeper.go follows the ports of the host, which package enforce
// enforces.
package agent
