package agent

import (
	"context"
	"time"

	"github.com/berthcloud/berth/network/portlist"
)

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
	// Enforce makes the host's state follow the rules of ports, which are all of the host's. It
	// fails when it cannot read the state; what it cannot change is a finding.
	Enforce(ctx context.Context, ports []portlist.Port) (Enforced, error)
	// Changed has a value when something was plugged in or out, maybe.
	Changed() <-chan struct{}
}

// A Service is the network service as an agent sees it.
type Service interface {
	// Beat delivers a heartbeat.
	Beat(ctx context.Context, h portlist.Heartbeat) (portlist.Answer, error)
	// Ports returns the ports of a host that a mechanism driver has bound, once
	// their revision is another one than is known or some time has passed.
	Ports(ctx context.Context, host, driver, known string, wait time.Duration) (portlist.List, error)
	// Wire reports which ports of a host are plugged in and which are not.
	Wire(ctx context.Context, host string, plugged map[string]bool) error
}
