package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
)

// The events of a server's creation, as Nova calls them: that of the choice of a host is there when
// it failed only.
const (
	eventSchedule = "conductor_schedule_and_build_instances"
	eventBuild    = "compute__do_build_and_run_instance"
)

// abortPrefix is what the details of a build begin with that is not to be tried on
// another host.
const abortPrefix = "BuildAbortException: "

// A buildJob brings a server to the host that is chosen for it, or takes it from there.
type buildJob struct {
	hostCommands
	buildData
	// ports are the server's as they were when its host was chosen.
	ports []Port
}

// buildData is what such an operation stores.
type buildData struct {
	common
	hostChoice
	// Networks are the interfaces of the server, in their order. One without a port gets one.
	Networks []NetworkSpec `json:"networks,omitempty"`
	Groups   []ID          `json:"groups,omitempty"` // security groups of created ports
	Tried    int           `json:"tried,omitempty"`  // hosts
	// Rechoose says that a new choice is made instead of taking the next of Rest.
	Rechoose bool `json:"anew,omitempty"`
	// Causes are why the hosts that were tried did not build it.
	Causes []failedHost `json:"causes,omitempty"`
}

// A failedHost is why a host did not build a server: for users, and for administrators.
type failedHost struct {
	Host    string `json:"host"`
	Text    string `json:"text"`
	Details string `json:"details"`
}

func (b *buildJob) data() operationData { return &b.buildData }

func (b *buildJob) clear() operationData {
	b.buildData = buildData{}
	return &b.buildData
}

func (b *buildJob) choice() *hostChoice { return &b.hostChoice }

func (b *buildJob) target() *moveTarget { return nil }

// createPorts creates the ports of servers that are created together: for all, or all of them fail,
// since no host is chosen for some of them.
func createPorts(ctx context.Context, jobs []*buildJob) ([]next, error) {
	return together(ctx, jobs, func() error {
		for _, b := range jobs {
			err := b.makePorts(ctx)
			if err == nil {
				err = b.readPorts(ctx)
			}
			if err != nil {
				return failureOf(ctx, err, networkTrouble)
			}
		}
		return nil
	}, nil)
}

// chooseHosts chooses and claims a host for each of the servers that are created together: for all,
// or all of them fail. A server that a host could not build takes its next alternate instead.
func chooseHosts(ctx context.Context, jobs []*buildJob) ([]next, error) {
	return together(ctx, jobs, func() error {
		if first := jobs[0]; len(jobs) == 1 && first.Tried > 0 && !first.Rechoose {
			return first.takeAlternate(ctx)
		}
		return scheduleAll(ctx, jobs)
	}, func(b *buildJob) effect {
		return func(_ *change, row *ServerRow) error {
			b.Rechoose, row.Task = false, Networking
			return nil
		}
	})
}

// together carries out a step of servers that are created together, unless a service that it needs
// has been unavailable for too long. They fail together when its error is a *Failure.
func together(ctx context.Context, jobs []*buildJob, do func() error, done func(*buildJob) effect) ([]next, error) {
	f, err := jobs[0].waitedTooLong(ctx)
	switch {
	case err != nil:
	case f != nil:
		err = f
	default:
		err = do()
	}
	all := make([]next, len(jobs))
	for i, b := range jobs {
		switch {
		case err == nil && done != nil:
			all[i].Change = done(b)
		case err == nil:
		case errors.As(err, &f):
			all[i] = next{Back: true, Change: b.gaveUp(f.of(b.subject))}
		default:
			return nil, err
		}
	}
	return all, nil
}

// networkTrouble is the message for users of ports that cannot be created or bound.
const networkTrouble = "Failed to allocate the network(s), not rescheduling."

// scheduleAll is one attempt to schedule servers. Its error is a *Failure when it is of no
// use to try again.
func scheduleAll(ctx context.Context, jobs []*buildJob) error {
	s := jobs[0].s
	alike := true
	all := make([]claimant, len(jobs))
	for i, b := range jobs {
		if b.ports == nil || b.Tried > 0 { // else they were just read by the step before
			if err := b.readPorts(ctx); err != nil {
				return failureOf(ctx, err, networkTrouble)
			}
		}
		if err := b.releaseEarlier(ctx); err != nil {
			return failureOf(ctx, err, "its allocation could not be released")
		}
		alike = alike && !slices.ContainsFunc(b.ports, s.affectsPlacement)
		all[i] = b
	}
	if alike {
		return s.place(ctx, all, jobs[0].ports)
	}
	for i, b := range jobs { // each has a request of its own
		if err := s.place(ctx, all[i:i+1], b.ports); err != nil {
			return err
		}
	}
	return nil
}

// affectsPlacement reports whether what a port is like says where its server can go.
func (s *Service) affectsPlacement(p Port) bool {
	return len(p.Asks.Groups) > 0 || s.rules.Settings.Requests.RoutedNetworks
}

// releaseEarlier releases the claim of an earlier run of the step.
func (b *buildJob) releaseEarlier(ctx context.Context) error {
	if b.Claim == nil {
		return nil
	}
	released, err := b.unclaim(ctx)
	if err != nil {
		return err
	}
	return b.save(ctx, released.Change)
}

// unclaim deletes the allocation of a server.
func (b *buildJob) unclaim(ctx context.Context) (next, error) {
	server, err := b.server(ctx)
	if err != nil {
		return next{}, err
	}
	if !b.kind().final { // the server gets others, which a late release of the network service must not find
		if err := b.s.claims.settle(ctx, b.subject); err != nil {
			return next{}, err
		}
	}
	if err := b.s.claims.set(ctx, server, nil); err != nil {
		return next{}, err
	}
	var moves []MigrationRow
	err = b.view(ctx, func(r Reader) (err error) {
		moves, err = Rows[MigrationRow](r, Where(ByServer, b.subject))
		return err
	})
	if err == nil {
		err = b.s.claims.releaseMigrations(ctx, moves)
	}
	if err != nil {
		return next{}, err
	}
	return next{Change: func(_ *change, row *ServerRow) error {
		b.hostClaim = hostClaim{}
		row.Host, row.Node = "", ""
		return nil
	}}, nil
}

// claim is claimant's.
func (b *buildJob) claim(ctx context.Context, claim selection.Claim) error {
	b.Claim = &claim
	var server ServerRow
	err := b.save(ctx, func(c *change, row *ServerRow) (err error) {
		if err := c.checkHost(*row, claim.Host, b.Forced); err != nil {
			return err
		}
		if b.Devices, err = c.chooseDevices(row.ID, b.ports, claim.Mappings, claim.Host, claim.Node); err != nil {
			return err
		}
		row.Host, row.Node = claim.Host, claim.Node
		server = *row
		return nil
	})
	if err != nil {
		return err
	}
	return b.s.claims.claim(ctx, server, claim.Amounts)
}

// takeAlternate claims the next of the candidates that remained when the first one was chosen.
func (b *buildJob) takeAlternate(ctx context.Context) error {
	if err := b.releaseEarlier(ctx); err != nil {
		return failureOf(ctx, err, "its allocation could not be released")
	}
	if err := b.readPorts(ctx); errors.Is(err, ErrNoPort) {
		return aborted(networkTrouble, err)
	} else if err != nil {
		return err
	}
	for len(b.Rest) > 0 {
		err := b.claim(ctx, b.Rest[0])
		if !errors.Is(err, errNotTaken) && !errors.As(err, new(*hostRefused)) {
			return err
		}
		b.Rest = b.Rest[1:]
	}
	return b.exhausted()
}

// owner is what ports of the server call their owner.
func (s *Service) owner(zone string) string {
	if zone == "" {
		zone = s.rules.Settings.DefaultZone
	}
	return "compute:" + zone
}

// makePorts creates ports in networks, with a commit for each. A port that was created and not
// stored is found by its server.
func (b *buildJob) makePorts(ctx context.Context) error {
	server, err := b.server(ctx)
	if err != nil {
		return err
	}
	for i, n := range b.Networks {
		if n.Port != "" {
			continue
		}
		ports, err := b.s.network.ServerPorts(ctx, server.ID)
		if err != nil {
			return err
		}
		known, err := b.known(ctx)
		if err != nil {
			return err
		}
		p, err := b.s.bindings.create(ctx, ports, known, PortSpec{
			Project: server.Project, Server: server.ID, Owner: b.s.owner(server.Zone), Network: n.Network,
			Address: n.Address, SecurityGroups: b.Groups,
		})
		if err != nil {
			return err
		}
		b.Networks[i].Port = p.ID
		err = b.save(ctx, func(c *change, _ *ServerRow) error {
			return c.addPort(PortRow{Server: server.ID, Place: i, Tag: n.Tag, Own: true}, p)
		})
		if err != nil {
			return err
		}
		if len(p.Asks.Groups) > 0 && !b.s.rules.Settings.AllowNetworkQoS {
			return &networkHasPolicy{n: n.Network}
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

// known returns a function that reports whether a port is one of the server's.
func (j *job) known(ctx context.Context) (func(ID) bool, error) {
	rows, err := j.portRows(ctx)
	return func(id ID) bool {
		return slices.ContainsFunc(rows, func(row PortRow) bool { return row.Port == id })
	}, err
}

// portRows are the server's ports.
func (j *job) portRows(ctx context.Context) (rows []PortRow, err error) {
	err = j.view(ctx, func(r Reader) error {
		rows, err = Rows[PortRow](r, Where(ByServer, j.subject))
		return err
	})
	return rows, err
}

// readPorts reads the server's ports again, in their order.
func (b *buildJob) readPorts(ctx context.Context) error {
	byID, err := b.s.portsByID(ctx, b.Networks)
	if err != nil {
		return err
	}
	all := make([]Port, len(b.Networks))
	for i, n := range b.Networks {
		p, ok := byID[n.Port]
		if !ok {
			return fmt.Errorf("port %s: %w", n.Port, ErrNoPort)
		}
		all[i] = p
	}
	b.ports = all
	return nil
}

// bind binds the ports to the chosen host.
func (b *buildJob) bind(ctx context.Context) (next, error) {
	if f, err := b.waitedTooLong(ctx); err != nil {
		return next{}, err
	} else if f != nil {
		return next{Back: true, Change: b.gaveUp(f.of(b.subject))}, nil
	}
	server, err := b.server(ctx)
	if err != nil {
		return next{}, err
	}
	if err = b.readPorts(ctx); err == nil {
		b.ports, err = b.bindAll(ctx, server, b.ports, b.hostClaim)
	}
	switch {
	case err == nil:
		return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, b.ports) }}, nil
	case outcomeUnknown(ctx, err):
		return next{}, err
	case errors.Is(err, ErrPortChanged) && b.Tried < b.s.rules.Settings.Selection.Attempts:
		return b.retry(ctx, server, err, true), nil
	case errors.As(err, new(*notBound)):
		return b.retry(ctx, server, err, false), nil
	}
	return next{Back: true, Change: b.gaveUp(b.abortion(networkTrouble, err))}, nil
}

// bindAll binds ports of the server to its host, with what was claimed.
func (j *job) bindAll(ctx context.Context, server ServerRow, ports []Port, claimed hostClaim) ([]Port, error) {
	zone, err := j.s.zoneOf(ctx, server.Host)
	if err != nil {
		return nil, asRetryable(err)
	}
	return j.s.bindings.bindAll(ctx, ports, bindingTarget{
		server: server.ID, owner: j.s.owner(zone), host: server.Host, mappings: claimed.Claim.Mappings, devices: claimed.Devices,
	})
}

// forUser is the message of a cause for users: Nova's text of a port that cannot be bound, which
// does not name the host, and the text of a fault without what is around it, which has addresses
// and requests.
func forUser(cause error) string {
	if n := (*notBound)(nil); errors.As(cause, &n) {
		return fmt.Sprintf("Binding failed for port %s, please check neutron logs for more information.", n.port)
	}
	if f, ok := fault.Find(cause); ok {
		return f.Error()
	}
	return cause.Error()
}

// zoneOf returns the availability zone of a host.
func (s *Service) zoneOf(ctx context.Context, host string) (zone string, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		zones, err := ZonesByHost(r, host)
		zone = zones[host]
		return err
	})
	return zone, err
}

// build has the host build the server.
func (b *buildJob) build(ctx context.Context) (next, error) {
	if b.Awaited == "" {
		return next{}, b.waitAfter(ctx, func(c *change, row *ServerRow) error {
			if b.Event == "" {
				event, err := c.begin(b.Action, eventBuild, row.Host)
				if err != nil {
					return err
				}
				b.Event = event.ID
			}
			b.Awaited, row.Task = b.Event, Spawning
			return c.wishBuilt(*row, b.Event)
		})
	}
	event, err := b.await(ctx, "")
	if err != nil || event.Result == succeeded {
		return next{}, err
	}
	server, err := b.server(ctx)
	if err != nil {
		return next{}, err
	}
	cause := errors.New(event.Details)
	if strings.HasPrefix(event.Traceback, abortPrefix) {
		return next{Back: true, Change: b.gaveUp(b.abortion(event.Details, cause))}, nil
	}
	return b.retry(ctx, server, cause, false), nil
}

// destroy has the server's host destroy it, or all hosts that have something of it when the server
// is deleted.
func (b *buildJob) destroy(ctx context.Context) (next, error) {
	hosts := []string{""}
	if b.kind().final {
		var rows []HostedRow
		err := b.view(ctx, func(r Reader) (err error) {
			rows, err = Rows[HostedRow](r, Where(ByServer, b.subject))
			return err
		})
		if err != nil {
			return next{}, err
		}
		hosts = nil
		for _, row := range rows {
			hosts = append(hosts, row.Host)
		}
	}
	for _, host := range hosts {
		if n, err := b.destroyAt(ctx, host); err != nil || n.End {
			return n, err
		}
	}
	return next{}, nil
}

// wishBuilt has the host of a server build it. What the host may still have of an earlier stay is
// not that server.
func (c *change) wishBuilt(server ServerRow, event ID) error {
	_, remains, err := hosted(c, server.ID, server.Host)
	if err != nil {
		return err
	}
	return c.wish(server, func(row *HostedRow) {
		row.Wish, row.Event, row.Boot, row.Slots = WishRunning, event, "", nil
		if remains {
			row.Generation++
		}
	})
}

// built is the effect of a boot that has succeeded.
func (b *buildJob) built() effect {
	return func(c *change, row *ServerRow) error {
		row.State, row.Task, row.Power, row.LaunchedAt = Active, "", Running, c.At
		if err := c.end(b.Event, nil); err != nil {
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

// retry undoes what was done on a host; then the next alternate is tried or, with rechoose, another
// choice is made.
func (b *buildJob) retry(ctx context.Context, server ServerRow, cause error, rechoose bool) next {
	b.s.rules.Log.WarnContext(ctx, "a build failed on a host", "server", server.ID, "host", server.Host, "alternates", len(b.Rest), "error", cause)
	return next{Back: true, UndoTo: stepClaim, Change: func(c *change, row *ServerRow) error {
		text := fmt.Sprintf("Build of instance %s was re-scheduled: %s", row.ID, forUser(cause))
		if err := c.failed(b, row.Host, &stepError{text: text, details: cause.Error()}); err != nil {
			return err
		}
		row.Task = Scheduling
		b.Tried++
		b.Rechoose, b.Reservation = rechoose, "" // another host is chosen for it, and for no other server
		b.Causes = append(b.Causes, failedHost{Host: row.Host, Text: fmt.Sprintf("%.*s", maxCause, forUser(cause)), Details: fmt.Sprintf("%.*s", maxCause, cause)})
		b.Rest = slices.DeleteFunc(b.Rest, func(other selection.Claim) bool { return other.Host == row.Host })
		if rechoose {
			return nil // the ports have changed, which is not the host's fault
		}
		return c.buildEnded(*row, cause)
	}}
}

// maxCause bounds what is kept of why a host could not build a server, in runes.
const maxCause = 1000

// exhausted is the failure of a server that no host could build. Its details have the reason of
// each.
func (b *buildJob) exhausted() *Failure {
	f := &Failure{Code: 500, Message: fmt.Sprintf("Exceeded maximum number of retries. Exhausted all hosts available "+
		"for retrying build failures for instance %s.", b.subject)}
	var details []string
	for _, c := range b.Causes {
		details = append(details, c.Host+": "+c.Details)
	}
	if n := len(b.Causes); n > 0 && b.Causes[n-1].Text != b.Causes[n-1].Details { // it is written for users
		f.Message += " Last exception: " + b.Causes[n-1].Text
	}
	f.Details = strings.Join(details, "\n")
	return f
}

// failed records that the step of the action that is under way failed, or one that had not
// begun.
func (c *change) failed(b *buildJob, host string, t *stepError) error {
	if b.Event == "" {
		name := eventBuild
		if b.op.Step == stepClaim {
			name, host = eventSchedule, ""
		}
		event, err := c.begin(b.Action, name, host)
		if err != nil {
			return err
		}
		b.Event = event.ID
	}
	err := c.end(b.Event, t)
	b.Event, b.Awaited = "", ""
	return err
}

// abortion is the failure of a server for which no other host may be tried.
func (b *buildJob) abortion(reason string, cause error) Failure {
	return Failure{Code: 500, Message: fmt.Sprintf("Build of instance %s aborted: %s", b.subject, reason), Details: cause.Error()}
}

// gaveUp is the effect of a failure that no other host can repair: the server is in error, and what
// was done for it is undone.
func (b *buildJob) gaveUp(f Failure) effect {
	return func(c *change, row *ServerRow) error {
		if err := c.failed(b, row.Host, &stepError{text: f.Message, details: f.Details}); err != nil {
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
func (b *buildJob) unbindAll(ctx context.Context) (next, error) {
	rows, err := b.portRows(ctx)
	if err != nil {
		return next{}, err
	}
	for _, row := range rows {
		if err := b.s.bindings.unbind(ctx, PortRow{Server: b.subject, Port: row.Port}); err != nil {
			return next{}, err
		}
	}
	return next{}, nil
}

// removePorts takes the ports from the server, and deletes those that were created for it.
func (b *buildJob) removePorts(ctx context.Context) (next, error) {
	rows, err := b.portRows(ctx)
	if err != nil {
		return next{}, err
	}
	for _, row := range rows {
		if !row.Own {
			continue
		}
		if err := b.s.bindings.unbind(ctx, row); err != nil {
			return next{}, err
		}
	}
	known, err := b.known(ctx)
	if err == nil {
		err = b.s.bindings.deleteUnknown(ctx, b.subject, known)
	}
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error {
		_, err := c.Remove(&PortRow{}, Where(ByServer, row.ID))
		return err
	}}, nil
}
