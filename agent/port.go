package agent

import (
	"context"
	"time"
)

// A Port is a server's port that is bound to the host.
type Port struct {
	ID              string
	MAC             string
	Active          bool // the network service takes it for plugged in
	VNIC            string
	PCISlot         string   // of the VF that it has, "" for none
	Providers       []string // UUIDs of the resource providers that serve it
	PhysicalNetwork string   // "" for a tunnel
	Rules           []Rule
}

// A Rule is one of the QoS policy in effect for a port. Rates are in kbit/s, the burst in
// kbit; what its type does not have is 0.
type Rule struct {
	Type      string // as the API calls it: "minimum_bandwidth", …
	Direction string // "egress" or "ingress", as the server sees it
	Min, Max  int64
	Burst     int64
}

// Ports are the ports of a host as of a revision.
type Ports struct {
	Revision string
	Ports    []Port
}

// An Enforced is the result of an Enforcer's round.
type Enforced struct {
	// Plugged says of ports whether they are plugged in. Ports that the
	// Enforcer does not handle are absent.
	Plugged map[string]bool
	// Did has what was changed, a line each.
	Did []string
	// Findings are the rules that are not enforced, sorted, a line each.
	Findings []string
}

// An Enforcer enforces the rules of ports. Its methods are called by one goroutine.
type Enforcer interface {
	// Enforce makes the host's state follow the rules of ports, which are all of the host's. It fails
	// when it cannot read the state; what it cannot change is a finding.
	Enforce(ctx context.Context, ports []Port) (Enforced, error)
	// Changed has a value when something was plugged in or out, maybe.
	Changed() <-chan struct{}
}

// A Service is the network service as an agent sees it.
type Service interface {
	// Beat delivers a heartbeat.
	Beat(ctx context.Context, h Heartbeat) (Answer, error)
	// Ports returns the ports of a host that a mechanism driver has bound, once
	// their revision is another one than is known or some time has passed.
	Ports(ctx context.Context, host, driver, known string, wait time.Duration) (Ports, error)
	// Wire says which ports of a host are plugged in and which are not.
	Wire(ctx context.Context, host string, plugged map[string]bool) error
}
