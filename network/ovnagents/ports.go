package ovnagents

import (
	"context"
	"log/slog"
	"sync"

	"github.com/berthcloud/berth/agent/ovn"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
)

// A portReporter reports to a network service which ports OVN's chassis have plugged in: on changes
// there, and when the service changes a port, which may be plugged in before it is bound.
type portReporter struct {
	plugged func(ctx context.Context, driver string, hosts map[network.ID]string) error
	log     *slog.Logger
	due     chan struct{} // has a value when something is pending

	mu      sync.Mutex            // guards what follows
	hosts   map[network.ID]string // where each port is that is plugged in
	pending map[network.ID]bool   // the ports to report

	trouble string // the last logged failure of reports
}

func newPortReporter(
	plugged func(context.Context, string, map[network.ID]string) error, log *slog.Logger,
) *portReporter {
	return &portReporter{
		plugged: plugged, log: log, due: make(chan struct{}, 1),
		hosts: make(map[network.ID]string), pending: make(map[network.ID]bool),
	}
}

// take takes up where ports are.
func (r *portReporter) take(all []ovn.Port) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range all {
		id := network.ID(p.Name)
		r.pending[id] = true
		if r.hosts[id] = p.Hostname; p.Hostname == "" {
			delete(r.hosts, id)
		}
	}
	r.wake()
}

// written adds ports that the service has changed.
func (r *portReporter) written(ids []network.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if r.hosts[id] != "" {
			r.pending[id] = true
			r.wake()
		}
	}
}

func (r *portReporter) wake() {
	select {
	case r.due <- struct{}{}:
	default: // a value is pending already
	}
}

// portGroup is the number of ports in one report.
const portGroup = 100

// report reports the pending ports to the service. Those that it did not accept remain pending.
func (r *portReporter) report(ctx context.Context) {
	for {
		group := r.group()
		if len(group) == 0 {
			r.trouble = ""
			return
		}
		if err := r.plugged(ctx, guarantee.OVN.Name, group); err != nil {
			r.mu.Lock()
			for id := range group {
				r.pending[id] = true
			}
			r.mu.Unlock()
			if ctx.Err() == nil && err.Error() != r.trouble {
				r.trouble = err.Error()
				r.log.Error("ports that OVN has plugged in cannot be recorded; it is tried again", "error", err)
			}
			return
		}
	}
}

// group takes some of the pending ports, with their hosts, "" for unplugged ones.
func (r *portReporter) group() map[network.ID]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	group := make(map[network.ID]string)
	for id := range r.pending {
		if len(group) == portGroup {
			break
		}
		group[id] = r.hosts[id]
		delete(r.pending, id)
	}
	return group
}
