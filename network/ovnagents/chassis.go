// Package ovnagents reports the chassis of OVN's southbound database to the network service as
// agents, and which ports they have plugged in. What the database's rows say is agent/ovn's, the
// rules about agents are network's.
package ovnagents

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/berthcloud/berth/agent/ovn"
	"github.com/berthcloud/berth/agent/ovsdb"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
)

// A Reporter reports OVN's chassis as agents: it derives from the southbound database the
// heartbeats that ovn-controller does not send. Its fields above the blank line are set before run
// is called.
//
// Any number of services may do so on one database. Each reports changes, and the first one
// refreshes an agent's heartbeat for all.
type Reporter struct {
	beat     func(context.Context, agents.Heartbeat) (agents.Agent, bool, error)
	agents   func(context.Context, ...network.Match) ([]agents.Agent, error)
	reported func(agents.Agent, bool) // syncs devices to placement; nil when no process does
	every    time.Duration            // a live agent's heartbeat is sent after 1 to 2 of it
	ports    *portReporter
	log      *slog.Logger

	chassis map[string]*chassisAgent // by name
	hosts   map[string][]string      // names of its chassis by host, sorted
	pending map[string]bool          // hosts that are to be reported, and whether they have started
	trouble string                   // the last logged failure of reports
}

// A chassisAgent is a chassis with its host's heartbeat.
type chassisAgent struct {
	ovn.Chassis
	report agents.Heartbeat
}

// A Service is what a reporter needs of the network service.
type Service interface {
	Beat(context.Context, agents.Heartbeat) (a agents.Agent, sync bool, err error)
	Agents(context.Context, ...network.Match) ([]agents.Agent, error)
	SetPortHosts(ctx context.Context, driver string, hosts map[network.ID]string) error
}

// New returns a reporter of chassis to a service, whose agents count as dead after
// downTime without a heartbeat.
func New(service Service, reported func(agents.Agent, bool), down time.Duration, log *slog.Logger) *Reporter {
	return &Reporter{
		beat: service.Beat, agents: service.Agents, reported: reported, every: down / 6, log: log,
		ports:   newPortReporter(service.SetPortHosts, log),
		chassis: make(map[string]*chassisAgent), hosts: make(map[string][]string), pending: make(map[string]bool),
	}
}

// Run reports the chassis of a database until ctx ends. While the database is unavailable they are
// unchanged.
func (r *Reporter) Run(ctx context.Context, db *ovsdb.Client) {
	events := make(chan ovn.Event)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { _ = db.Run(ctx) }) // it only returns the error of ctx
	running.Go(func() {
		// One that falls behind has the rest of its time from its last heartbeat on. Watch only returns
		// the error of ctx.
		_ = ovn.Watch(ctx, db, 2*r.every, func(e ovn.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
	})
	next := time.NewTimer(r.pause())
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			for _, host := range r.take(e) {
				r.report(ctx, host)
			}
		case <-r.ports.due:
			r.ports.report(ctx)
		case <-next.C:
			r.refresh(ctx)
			r.ports.report(ctx)
			next.Reset(r.pause())
		}
	}
}

// PortsWritten takes up ports that the service has changed: they are reported again if OVN has
// plugged them in. It may be called from any goroutine.
func (r *Reporter) PortsWritten(ids []network.ID) { r.ports.written(ids) }

// pause is the time until the next check for due heartbeats; it is random, so that services check
// at different times.
func (r *Reporter) pause() time.Duration { return r.every/2 + rand.N(r.every/2+1) }

// take takes up an event and returns the hosts that are to be reported now.
func (r *Reporter) take(e ovn.Event) (hosts []string) {
	name := e.Chassis.Name
	was := r.chassis[name]
	switch e.Kind {
	case ovn.Listed: // all of them have been reported
		return nil
	case ovn.Plugged:
		r.ports.take(e.Ports)
		return nil
	case ovn.Removed:
		r.log.Info("a chassis of OVN was removed: its agent sends no more heartbeats", "chassis", name,
			"host", e.Chassis.Hostname)
	case ovn.Added, ovn.Changed:
		if n := utf8.RuneCountInString(e.Chassis.Hostname); n == 0 || n > 255 {
			r.log.Warn("a chassis of OVN is left out: its hostname must have 1 to 255 characters", "chassis", name)
			e.Kind = ovn.Removed
		}
	}
	if was != nil {
		hosts = append(hosts, was.Hostname)
		r.forget(was)
	}
	if e.Kind != ovn.Removed {
		r.learn(e.Chassis, was)
		hosts = append(hosts, e.Chassis.Hostname)
	}
	slices.Sort(hosts)
	return slices.DeleteFunc(slices.Compact(hosts), func(host string) bool {
		speaks := r.speaker(host)
		if speaks == nil {
			delete(r.pending, host)
			return true
		}
		if !speaks.Alive && was != nil && sameChassis(was.Chassis, speaks.Chassis) {
			return true // an unchanged dead chassis is not reported, which would be a sign of life
		}
		r.pending[host] = r.pending[host] || e.Kind == ovn.Added
		return false
	})
}

// sameChassis reports whether nothing but the sign of life has changed.
func sameChassis(a, b ovn.Chassis) bool {
	b.Alive = a.Alive
	return a == b
}

func (r *Reporter) forget(a *chassisAgent) {
	delete(r.chassis, a.Name)
	remaining := slices.DeleteFunc(r.hosts[a.Hostname], func(name string) bool { return name == a.Name })
	if r.hosts[a.Hostname] = remaining; len(remaining) == 0 {
		delete(r.hosts, a.Hostname)
	}
}

// learn records a chassis, and logs mistakes in it when they are new.
func (r *Reporter) learn(c ovn.Chassis, was *chassisAgent) {
	a := &chassisAgent{Chassis: c}
	r.chassis[c.Name] = a
	names := append(r.hosts[c.Hostname], c.Name)
	slices.Sort(names)
	r.hosts[c.Hostname] = names
	if was != nil && sameChassis(was.Chassis, c) {
		a.report = was.report
		return
	}
	log := r.log.With("chassis", c.Name, "host", c.Hostname)
	a.report = chassisHeartbeat(c, log)
	if len(names) > 1 {
		log.Warn("several chassis of OVN have the same host, and one of them is used: remove those that no longer exist",
			"all", names, "used", r.speaker(c.Hostname).Name)
	}
}

// speaker returns the effective chassis of those on a host: the first live one, by name. Nil: there
// is none.
func (r *Reporter) speaker(host string) (first *chassisAgent) {
	for _, name := range r.hosts[host] {
		if a := r.chassis[name]; first == nil || a.Alive && !first.Alive {
			first = a
		}
	}
	return first
}

// report reports a pending host. It remains pending until a service has accepted the report.
func (r *Reporter) report(ctx context.Context, host string) {
	h := r.speaker(host).report
	h.Start = r.pending[host]
	if r.send(ctx, h) {
		delete(r.pending, host)
	}
}

// refresh reports the pending hosts, and sends heartbeats of the live ones, unless another service
// has just done so.
func (r *Reporter) refresh(ctx context.Context) {
	known, err := r.agents(ctx, network.Where(network.ByAgentType, guarantee.OVN.AgentType))
	if err != nil {
		r.failed(ctx, err)
		return
	}
	beaten := make(map[string]time.Time, len(known))
	for _, a := range known {
		beaten[a.Host] = a.HeartbeatAt
	}
	for _, host := range slices.Sorted(maps.Keys(r.hosts)) {
		if ctx.Err() != nil {
			return
		}
		speaks := r.speaker(host)
		last, found := beaten[host]
		if speaks.Alive && !found { // its record was deleted
			r.pending[host] = true
		}
		if _, pending := r.pending[host]; pending {
			r.report(ctx, host)
		} else if speaks.Alive && time.Since(last) >= r.every {
			h := speaks.report
			h.Unchanged = true
			r.send(ctx, h)
		}
	}
}

// send reports one agent, and whether that could be noted.
func (r *Reporter) send(ctx context.Context, h agents.Heartbeat) bool {
	agent, sync, err := r.beat(ctx, h)
	if err != nil {
		r.failed(ctx, err)
		return false
	}
	r.trouble = ""
	if sync && r.reported != nil {
		r.reported(agent, h.Start)
	}
	return true
}

// failed logs why chassis cannot be reported, once until that works again.
func (r *Reporter) failed(ctx context.Context, err error) {
	if ctx.Err() == nil && err.Error() != r.trouble {
		r.trouble = err.Error()
		r.log.Error("chassis of OVN cannot be reported; it is tried again", "error", err)
	}
}

// chassisHeartbeat is the heartbeat of a chassis' host. Mistakes in its options are logged, and in
// the heartbeat: as its problem when the options are unusable, else among the findings.
func chassisHeartbeat(c ovn.Chassis, log *slog.Logger) agents.Heartbeat {
	h := agents.Heartbeat{
		Type: guarantee.OVN.AgentType, Binary: guarantee.OVN.Binary, Host: c.Hostname, Topic: "n/a",
		Zone: agentsettings.OVNZones(c.CMSOptions),
	}
	resources, warnings, err := parseChassis(c.CMSOptions, c.BridgeMappings)
	if err != nil {
		h.Problem = oneLine(err)
		log.Warn("the options of a chassis of OVN cannot be parsed; its providers in placement are unchanged",
			"error", h.Problem)
		resources, _, _ = parseChassis("", c.BridgeMappings) // mappings that are wrong too leave nothing
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	set := agentsettings.Settings{Kind: agentsettings.OVN, Resources: resources}
	text, err := set.Configurations(agentsettings.Observed{
		Chassis: c.Name, Findings: warnings, DatapathType: c.DatapathType,
		Capabilities: agentsettings.Capabilities{InterfaceTypes: pieces(c.InterfaceTypes)},
	})
	if err != nil {
		h.Problem = oneLine(err)
	}
	h.Configurations = text
	return h
}

// pieces are the entries of a list with commas.
func pieces(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func parseChassis(options, mappings string) (agentsettings.Resources, []string, error) {
	return agentsettings.ParseOVN(map[string]string{"ovn-cms-options": options, "ovn-bridge-mappings": mappings},
		guarantee.DefaultTunnelDevice)
}

// oneLine is an error as records of agents have it.
func oneLine(err error) string {
	const most = 500 // bytes
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
