package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/guarantee"
)

// The events of a server's creation, as Nova calls them: that of the choice of a host is there when it
// failed only.
const (
	eventSchedule = "conductor_schedule_and_build_instances"
	eventBuild    = "compute__do_build_and_run_instance"
)

// abortPrefix is what the details of a build begin with that is not to be tried on
// another host.
const abortPrefix = "BuildAbortException: "

// server returns the server of an operation.
func (j *job) server(ctx context.Context) (row ServerRow, err error) {
	err = j.s.store.View(ctx, func(r Reader) error {
		row, err = One[ServerRow](r, Where(ByID, j.op.Server))
		return err
	})
	return row, err
}

// owner is what ports of the server call their owner.
func (s *Service) owner(zone string) string {
	if zone == "" {
		zone = s.settings.DefaultZone
	}
	return "compute:" + zone
}

// makePorts creates ports in networks, with a commit for each. A port that was created and not
// stored is found by its server.
func (j *job) makePorts(ctx context.Context) error {
	server, err := j.server(ctx)
	if err != nil {
		return err
	}
	for i := range j.b.Networks {
		if j.b.Networks[i].Port != "" {
			continue
		}
		p, err := j.makePort(ctx, server, j.b.Networks[i])
		if err != nil {
			return err
		}
		j.b.Networks[i].Port = p.ID
		err = j.commit(ctx, j.op.Step, func(c *change, _ *ServerRow) error {
			return c.addPort(server.ID, p, i, j.b.Networks[i].Tag, true)
		})
		if err != nil {
			return err
		}
		if len(p.Asks.Groups) > 0 && !j.s.settings.NetworksMayAsk {
			return &networkHasPolicy{n: j.b.Networks[i].Network}
		}
	}
	return nil
}

// A networkHasPolicy says that a network has a QoS policy that guarantees bandwidth, which is not
// supported for ports that compute creates.
type networkHasPolicy struct{ n ID }

// Error says which.
func (e *networkHasPolicy) Error() string {
	return fmt.Sprintf("using networks with QoS policy is not supported (network %s): create a port in it, and boot the server with that port", e.n)
}

// makePort makes a port in a network, unless that was done already.
func (j *job) makePort(ctx context.Context, server ServerRow, n NetworkSpec) (Port, error) {
	have, err := j.s.network.ServerPorts(ctx, server.ID)
	if err != nil {
		return Port{}, err
	}
	known, err := j.known(ctx)
	if err != nil {
		return Port{}, err
	}
	for _, p := range have {
		switch {
		case known[p.ID]:
		case j.op.Kind == attach: // it makes one attempt, so a port that exists already is not its
			j.b.Others = append(j.b.Others, p.ID)
		case p.Network == n.Network && (n.Address == "" || p.has(n.Address)):
			return p, nil
		}
	}
	if j.op.Kind == attach {
		j.b.Making = true
		if err := j.commit(ctx, j.op.Step, nil); err != nil {
			return Port{}, err
		}
	}
	return j.s.network.CreatePort(ctx, PortSpec{
		Project: server.Project, Server: server.ID, Owner: j.s.owner(server.Zone), Network: n.Network,
		Address: n.Address, SecurityGroups: j.b.Groups,
	})
}

// known are the ports that are the server's.
func (j *job) known(ctx context.Context) (map[ID]bool, error) {
	known := map[ID]bool{}
	err := j.s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[PortRow](r, Where(ByServer, j.op.Server))
		for _, row := range rows {
			known[row.Port] = true
		}
		return err
	})
	return known, err
}

func (p Port) has(address string) bool {
	return slices.ContainsFunc(p.Addresses, func(a Address) bool { return a.IP == address })
}

// readPorts reads the server's ports again, in their order, and stores them.
func (j *job) readPorts(ctx context.Context) ([]Port, error) {
	there, err := j.s.portsByID(ctx, j.b.Networks)
	if err != nil {
		return nil, err
	}
	all := make([]Port, len(j.b.Networks))
	for i, n := range j.b.Networks {
		p, ok := there[n.Port]
		if !ok {
			return nil, fmt.Errorf("port %s: %w", n.Port, ErrNoPort)
		}
		all[i] = p
	}
	j.ports = all
	return all, nil
}

// bind binds the ports to the chosen host, which then builds the server.
func (j *job) bind(ctx context.Context) error {
	server, err := j.server(ctx)
	if err != nil {
		return err
	}
	ports, err := j.bindAll(ctx, server)
	switch {
	case errors.Is(err, errDeleted), errors.Is(err, errLost), ctx.Err() != nil:
		return err
	case errors.Is(err, ErrPortChanged) && j.b.Tried < j.s.settings.Selection.Attempts:
		return j.retry(ctx, stepAgain, err)
	case errors.As(err, new(*notBound)):
		return j.retry(ctx, stepNext, err)
	case err != nil:
		return j.abort(ctx, networkTrouble, err)
	}
	return j.commit(ctx, stepHost, func(c *change, row *ServerRow) error {
		if err := c.seePorts(row.ID, ports); err != nil {
			return err
		}
		if _, err := c.Remove(&LeftoverRow{}, Where(ByServer, row.ID), Where(ByHost, row.Host)); err != nil {
			return err // it was tried here before
		}
		event, err := c.begin(j.b.Action, eventBuild, row.Host)
		j.b.Event, row.Task = event.ID, Spawning
		return err
	})
}

// A notBound says that a port could not be bound to a host.
type notBound struct {
	port      ID
	host, why string
}

// Error says why, for administrators.
func (n *notBound) Error() string {
	return fmt.Sprintf("port %s cannot be bound to host %s: %s", n.port, n.host, cmp.Or(n.why, "the log of the network service says why"))
}

// forUser is the message of a cause for users: Nova's text of a port that cannot be bound, which
// does not name the host.
func forUser(cause error) string {
	if n := (*notBound)(nil); errors.As(cause, &n) {
		return fmt.Sprintf("Binding failed for port %s, please check neutron logs for more information.", n.port)
	}
	return cause.Error()
}

// bindAll binds the ports of a server to its host.
func (j *job) bindAll(ctx context.Context, server ServerRow) ([]Port, error) {
	ports, err := j.readPorts(ctx)
	if err != nil {
		return nil, err
	}
	if err := j.checkGroups(ports); err != nil {
		return nil, err
	}
	zone, err := j.s.zoneOf(ctx, server.Host)
	if err != nil {
		return nil, err
	}
	for i, p := range ports {
		if ports[i], err = j.bindOne(ctx, server, p, zone); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// checkGroups checks that each group that was claimed for ports is still in the request of one of
// them. A port whose policy was removed would leave its server with an allocation that no port
// accounts for.
func (j *job) checkGroups(ports []Port) error {
	asked := map[string]bool{}
	for _, p := range ports {
		for _, g := range p.Asks.Groups {
			asked[g.ID] = true
		}
	}
	for suffix := range j.b.Claim.Mappings {
		if _, err := guarantee.ParseUUID(suffix); err == nil && !asked[suffix] { // others are the flavor's
			return fmt.Errorf("%w: no port requests group %s any more", ErrPortChanged, suffix)
		}
	}
	return nil
}

// bindOne binds one port.
func (j *job) bindOne(ctx context.Context, server ServerRow, p Port, zone string) (Port, error) {
	b := Binding{Server: server.ID, Owner: j.s.owner(zone), Host: server.Host, NetworkName: p.NetworkName, PhysicalNetwork: p.PhysicalNetwork}
	var err error
	if b.Allocation, err = p.Asks.Binding(j.b.Claim.Mappings); err != nil {
		return p, fmt.Errorf("%w: %w", ErrPortChanged, err)
	}
	if d, ok := j.b.Devices[p.ID]; ok {
		b.Device = &d
	}
	bound, err := j.s.network.BindPort(ctx, p.ID, b)
	if err == nil && bound.Failed() {
		err = &notBound{port: p.ID, host: server.Host, why: bound.Reason}
	}
	return bound, err
}

// zoneOf returns the availability zone of a host.
func (s *Service) zoneOf(ctx context.Context, host string) (zone string, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		zones, err := s.zonesOf(r)
		zone = zones[host]
		return err
	})
	return zone, err
}

// built looks how the host built the server.
func (j *job) built(ctx context.Context) error {
	event, err := j.awaited(ctx)
	if err != nil {
		return err
	}
	if event.Result == succeeded {
		return j.finish(ctx, func(c *change, row *ServerRow) error {
			row.State, row.Task, row.Power, row.LaunchedAt = Active, "", Running, c.at
			if err := c.end(j.b.Event, nil); err != nil {
				return err
			}
			return c.buildEnded(*row, nil)
		})
	}
	cause := errors.New(event.Details)
	if strings.HasPrefix(event.Traceback, abortPrefix) {
		return j.abort(ctx, event.Details, cause)
	}
	return j.retry(ctx, stepNext, cause)
}

// buildEnded counts the builds of a host that failed since one succeeded.
func (c *change) buildEnded(server ServerRow, cause error) error {
	nodes, err := Rows[NodeRow](c, Where(ByName, server.Node))
	if err != nil || len(nodes) == 0 {
		return err
	}
	n := nodes[0]
	if cause == nil && n.Failed == 0 {
		return nil
	}
	if n.Failed++; cause == nil {
		n.Failed = 0
	}
	return c.Replace(&n)
}

// retry undoes what was done on a host and continues with a step: the next host, or another choice.
func (j *job) retry(ctx context.Context, next string, cause error) error {
	var host string
	err := j.commit(ctx, next, func(c *change, row *ServerRow) error {
		host = row.Host
		text := fmt.Sprintf("Build of instance %s was re-scheduled: %s", row.ID, forUser(cause))
		if err := c.failed(j, row.Host, &stepError{text: text, details: cause.Error()}); err != nil {
			return err
		}
		if err := c.leaveOnHost(j, *row); err != nil {
			return err
		}
		row.Task = Scheduling
		j.b.Tried++
		j.b.Causes = append(j.b.Causes, failedHost{Host: row.Host, Text: fmt.Sprintf("%.*s", maxCause, forUser(cause)), Details: fmt.Sprintf("%.*s", maxCause, cause)})
		j.b.Rest = slices.DeleteFunc(j.b.Rest, func(other selection.Claim) bool { return other.Host == row.Host })
		return c.buildEnded(*row, cause)
	})
	if err == nil {
		j.s.log.WarnContext(ctx, "a build failed on a host", "server", j.op.Server, "host", host, "alternates", len(j.b.Rest), "error", cause)
	}
	return err
}

// maxCause bounds what is kept of why a host could not build a server, in runes.
const maxCause = 1000

// exhausted is the failure of a server that no host could build. Its details have the reason of
// each.
func (j *job) exhausted() Failure {
	f := Failure{Code: 500, Message: fmt.Sprintf("Exceeded maximum number of retries. Exhausted all hosts available "+
		"for retrying build failures for instance %s.", j.op.Server)}
	var details []string
	for _, c := range j.b.Causes {
		details = append(details, c.Host+": "+c.Details)
	}
	if n := len(j.b.Causes); n > 0 && j.b.Causes[n-1].Text != j.b.Causes[n-1].Details { // it is written for users
		f.Message += " Last exception: " + j.b.Causes[n-1].Text
	}
	f.Details = strings.Join(details, "\n")
	return f
}

// leaveOnHost makes the host of a failed build destroy what it has of the server.
func (c *change) leaveOnHost(j *job, row ServerRow) error {
	if j.op.Step != stepHost {
		return nil // the host was not asked to build it
	}
	return c.leaveAt(row.Host, row.ID)
}

// failed notes that the step of the action that is under way failed, or one that had not
// begun.
func (c *change) failed(j *job, host string, t *stepError) error {
	if j.b.Event == "" {
		name := eventBuild
		if j.op.Step == stepClaim || j.op.Step == stepNext {
			name, host = eventSchedule, ""
		}
		event, err := c.begin(j.b.Action, name, host)
		if err != nil {
			return err
		}
		j.b.Event = event.ID
	}
	err := c.end(j.b.Event, t)
	j.b.Event = ""
	return err
}

// abort gives up a server for which no other host may be tried.
func (j *job) abort(ctx context.Context, reason string, cause error) error {
	text := fmt.Sprintf("Build of instance %s aborted: %s", j.op.Server, reason)
	return j.giveUp(ctx, Failure{Code: 500, Message: text, Details: cause.Error()})
}

// giveUp puts a server into error, and has what was done for it taken back.
func (j *job) giveUp(ctx context.Context, f Failure) error {
	return j.commit(ctx, stepUndo, func(c *change, row *ServerRow) error {
		if err := c.failed(j, row.Host, &stepError{text: f.Message, details: f.Details}); err != nil {
			return err
		}
		if err := c.leaveOnHost(j, *row); err != nil {
			return err
		}
		return c.inError(row, f)
	})
}

// inError puts a server into error.
func (c *change) inError(row *ServerRow, f Failure) (err error) {
	f.Created = c.at.Format(time.RFC3339)
	row.State, row.Task = Error, ""
	row.Fault, err = json.Marshal(f)
	return err
}

// undo takes back all that was done for a server that is not to be.
func (j *job) undo(ctx context.Context) error {
	server, err := j.server(ctx)
	if err != nil {
		return err
	}
	if err := j.freePorts(ctx); err != nil {
		return err
	}
	if err := j.s.setAllocations(ctx, server, nil); err != nil {
		return err
	}
	return j.finish(ctx, func(c *change, row *ServerRow) error {
		row.Host, row.Node = "", ""
		_, err := c.Remove(&PortRow{}, Where(ByServer, row.ID))
		return err
	})
}

// freePorts deletes the ports that were created for a server, and unbinds the others.
func (j *job) freePorts(ctx context.Context) error {
	var rows []PortRow
	err := j.s.store.View(ctx, func(r Reader) (err error) {
		rows, err = Rows[PortRow](r, Where(ByServer, j.op.Server))
		return err
	})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := j.s.freePort(ctx, row); err != nil {
			return err
		}
	}
	return j.removeStray(ctx)
}

// removeStray deletes the ports that were created for a server and not stored, but not those that
// existed before the operation. None of them was bound.
func (j *job) removeStray(ctx context.Context) error {
	known, err := j.known(ctx)
	if err != nil {
		return err
	}
	there, err := j.s.network.ServerPorts(ctx, j.op.Server)
	if err != nil {
		return err
	}
	for _, p := range there {
		if known[p.ID] || slices.Contains(j.b.Others, p.ID) {
			continue
		}
		if err := j.s.network.DeletePort(ctx, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// freePort unbinds a port from its server, and deletes it when it was created for the server. It is
// unbound first: the network service releases the allocation of a port that is deleted while it is
// bound, and here it is released with the server's. A port of another server is unchanged.
func (s *Service) freePort(ctx context.Context, p PortRow) (err error) {
	for range tries {
		if _, err = s.network.UnbindPort(ctx, p.Server, p.Port, 0); !errors.Is(err, ErrRevision) {
			break
		}
	}
	switch {
	case errors.Is(err, ErrNoPort), code(err) == "PortInUse":
		return nil
	case err != nil || !p.Own:
		return err
	}
	return s.network.DeletePort(ctx, p.Port)
}
