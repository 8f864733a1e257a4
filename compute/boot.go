package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
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

// owner is what ports of the server call their owner.
func (s *Service) owner(zone string) string {
	if zone == "" {
		zone = s.rules.Settings.DefaultZone
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
		err = j.save(ctx, func(c *change, _ *ServerRow) error {
			return c.addPort(PortRow{Server: server.ID, Place: i, Tag: j.b.Networks[i].Tag, Own: true}, p)
		})
		if err != nil {
			return err
		}
		if len(p.Asks.Groups) > 0 && !j.s.rules.Settings.NetworksMayAsk {
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
		case known[p.ID], slices.Contains(j.b.Others, p.ID):
		case j.kind().Once != nil && !j.b.Making: // a port that existed before is not its
			j.b.Others = append(j.b.Others, p.ID)
		case p.Network == n.Network && (n.Address == "" || p.has(n.Address)):
			return p, nil
		}
	}
	if j.kind().Once != nil && !j.b.Making {
		j.b.Making = true
		if err := j.save(ctx); err != nil {
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
	err := j.view(ctx, func(r Reader) error {
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

// bind binds the ports to the chosen host.
func (j *job) bind(ctx context.Context) (next, error) {
	if f, err := j.waitedTooLong(ctx); err != nil {
		return next{}, err
	} else if f != nil {
		return next{Back: true, Change: j.gaveUp(f.of(j.op.Server))}, nil
	}
	server, err := j.server(ctx)
	if err != nil {
		return next{}, err
	}
	ports, err := j.bindAll(ctx, server)
	switch {
	case err == nil:
		return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, ports) }}, nil
	case undecided(ctx, err):
		return next{}, err
	case errors.Is(err, ErrPortChanged) && j.b.Tried < j.s.rules.Settings.Selection.Attempts:
		return j.retry(ctx, server, err, true), nil
	case errors.As(err, new(*notBound)):
		return j.retry(ctx, server, err, false), nil
	}
	return next{Back: true, Change: j.gaveUp(j.abortion(networkTrouble, err))}, nil
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
// does not name the host, and the text of a fault without what is around it, which has addresses and requests.
func forUser(cause error) string {
	if n := (*notBound)(nil); errors.As(cause, &n) {
		return fmt.Sprintf("Binding failed for port %s, please check neutron logs for more information.", n.port)
	}
	if f, ok := fault.Find(cause); ok {
		return f.Error()
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
		return nil, own(err)
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
	b := Binding{Server: server.ID, Owner: j.s.owner(zone), Host: server.Host}
	var err error
	if b.Allocation, err = p.Asks.Binding(j.b.Claim.Mappings); err != nil {
		return p, fmt.Errorf("%w: %w", ErrPortChanged, err)
	}
	if d, ok := j.b.Devices[p.ID]; ok {
		b.Device = &d
	}
	return j.bindPort(ctx, p, b)
}

// bindPort binds a port as a binding says. It is read again when it was changed since.
func (j *job) bindPort(ctx context.Context, p Port, b Binding) (bound Port, err error) {
	for range tries {
		if bound, err = j.s.network.BindPort(ctx, p, b); !errors.Is(err, ErrRevision) {
			break
		}
		now, read := j.s.network.Port(ctx, p.ID)
		switch {
		case errors.Is(read, ErrNoPort):
			return bound, read
		case read != nil:
			return bound, &ownError{read}
		}
		p = now
	}
	if err == nil && bound.Failed() {
		err = &notBound{port: p.ID, host: b.Host, why: bound.Reason}
	}
	return bound, err
}

// zoneOf returns the availability zone of a host.
func (s *Service) zoneOf(ctx context.Context, host string) (zone string, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		zones, err := zonesOf(r)
		zone = zones[host]
		return err
	})
	return zone, err
}

// build has the host build the server.
func (j *job) build(ctx context.Context) (next, error) {
	if j.b.Asked == "" {
		err := j.save(ctx, func(c *change, row *ServerRow) error {
			if j.b.Event == "" {
				event, err := c.begin(j.b.Action, eventBuild, row.Host)
				if err != nil {
					return err
				}
				j.b.Event = event.ID
			}
			j.b.Asked, row.Task = j.b.Event, Spawning
			return c.wishBuilt(*row, j.b.Event)
		})
		if err == nil {
			err = &operation.Wait{Event: string(j.b.Asked)}
		}
		return next{}, err
	}
	event, err := j.answer(ctx)
	if err != nil || event.Result == succeeded {
		return next{}, err
	}
	server, err := j.server(ctx)
	if err != nil {
		return next{}, err
	}
	cause := errors.New(event.Details)
	if strings.HasPrefix(event.Traceback, abortPrefix) {
		return next{Back: true, Change: j.gaveUp(j.abortion(event.Details, cause))}, nil
	}
	return j.retry(ctx, server, cause, false), nil
}

// wishBuilt has the host of a server build it. What the host may still have of an earlier stay is not that server.
func (c *change) wishBuilt(server ServerRow, event ID) error {
	_, remains, err := hosted(c, server.ID, server.Host)
	if err != nil {
		return err
	}
	return c.wish(server, func(is *HostedRow) {
		is.Wish, is.Event, is.Boot, is.Slots = WishRunning, event, "", nil
		if remains {
			is.Generation++
		}
	})
}

// built is the effect of a boot that has succeeded.
func (j *job) built() effect {
	return func(c *change, row *ServerRow) error {
		row.State, row.Task, row.Power, row.LaunchedAt = Active, "", Running, c.At
		if err := c.end(j.b.Event, nil); err != nil {
			return err
		}
		return c.buildEnded(*row, nil)
	}
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

// retry undoes what was done on a host; then the next alternate is tried or, anew, another choice is made.
func (j *job) retry(ctx context.Context, server ServerRow, cause error, anew bool) next {
	j.s.rules.Log.WarnContext(ctx, "a build failed on a host", "server", server.ID, "host", server.Host, "alternates", len(j.b.Rest), "error", cause)
	return next{Back: true, Until: stepClaim, Change: func(c *change, row *ServerRow) error {
		text := fmt.Sprintf("Build of instance %s was re-scheduled: %s", row.ID, forUser(cause))
		if err := c.failed(j, row.Host, &stepError{text: text, details: cause.Error()}); err != nil {
			return err
		}
		row.Task = Scheduling
		j.b.Tried++
		j.b.Anew = anew
		j.b.Causes = append(j.b.Causes, failedHost{Host: row.Host, Text: fmt.Sprintf("%.*s", maxCause, forUser(cause)), Details: fmt.Sprintf("%.*s", maxCause, cause)})
		j.b.Rest = slices.DeleteFunc(j.b.Rest, func(other selection.Claim) bool { return other.Host == row.Host })
		if anew {
			return nil // the ports have changed, which is not the host's fault
		}
		return c.buildEnded(*row, cause)
	}}
}

// maxCause bounds what is kept of why a host could not build a server, in runes.
const maxCause = 1000

// exhausted is the failure of a server that no host could build. Its details have the reason of
// each.
func (j *job) exhausted() *Failure {
	f := &Failure{Code: 500, Message: fmt.Sprintf("Exceeded maximum number of retries. Exhausted all hosts available "+
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

// failed notes that the step of the action that is under way failed, or one that had not
// begun.
func (c *change) failed(j *job, host string, t *stepError) error {
	if j.b.Event == "" {
		name := eventBuild
		if j.op.Step == stepClaim {
			name, host = eventSchedule, ""
		}
		event, err := c.begin(j.b.Action, name, host)
		if err != nil {
			return err
		}
		j.b.Event = event.ID
	}
	err := c.end(j.b.Event, t)
	j.b.Event, j.b.Asked = "", ""
	return err
}

// abortion is the failure of a server for which no other host may be tried.
func (j *job) abortion(reason string, cause error) Failure {
	return Failure{Code: 500, Message: fmt.Sprintf("Build of instance %s aborted: %s", j.op.Server, reason), Details: cause.Error()}
}

// gaveUp is the effect of a failure that no other host can mend: the server is in error, and what was done
// for it is undone.
func (j *job) gaveUp(f Failure) effect {
	return func(c *change, row *ServerRow) error {
		if err := c.failed(j, row.Host, &stepError{text: f.Message, details: f.Details}); err != nil {
			return err
		}
		return c.inError(row, f)
	}
}

// inError puts a server into error.
func (c *change) inError(row *ServerRow, f Failure) (err error) {
	f.Created = c.At.Format(time.RFC3339)
	row.State, row.Task = Error, ""
	row.Fault, err = json.Marshal(f)
	return err
}

// unbindAll unbinds the server's ports.
func (j *job) unbindAll(ctx context.Context) (next, error) {
	known, err := j.known(ctx)
	if err != nil {
		return next{}, err
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if err := j.s.freePort(ctx, PortRow{Server: j.op.Server, Port: id}); err != nil {
			return next{}, err
		}
	}
	return next{}, nil
}

// removePorts takes the ports from the server, and deletes those that were created for it.
func (j *job) removePorts(ctx context.Context) (next, error) {
	var rows []PortRow
	err := j.view(ctx, func(r Reader) (err error) {
		rows, err = Rows[PortRow](r, Where(ByServer, j.op.Server))
		return err
	})
	if err != nil {
		return next{}, err
	}
	for _, row := range rows {
		if !row.Own {
			continue
		}
		if err := j.s.freePort(ctx, row); err != nil {
			return next{}, err
		}
	}
	if err := j.removeStray(ctx); err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error {
		_, err := c.Remove(&PortRow{}, Where(ByServer, row.ID))
		return err
	}}, nil
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
		// It is not unbound first: without the server's id it would not be found again if the process ended then.
		err := j.s.network.DeletePort(ctx, p.ID)
		if usedByTrunk(err) {
			err = j.s.freePort(ctx, PortRow{Server: j.op.Server, Port: p.ID})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// freePort unbinds a port from its server, and deletes it when it was created for the server. It is
// unbound first: the network service releases the allocation of a port that is deleted while it is
// bound, and here it is released with the server's. A port of another server is unchanged, and one that a trunk uses is not deleted.
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
	err = s.network.DeletePort(ctx, p.Port)
	if usedByTrunk(err) {
		s.rules.Log.WarnContext(ctx, "a port that was created for a server is not deleted with it", "port", p.Port, "server", p.Server, "error", err)
		return nil
	}
	return err
}

// usedByTrunk reports whether a port is not deleted because a trunk uses it, which only its owner can end.
func usedByTrunk(err error) bool {
	c := code(err)
	return c == "PortInUseAsTrunkParent" || c == "PortInUseAsSubPort"
}
