package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/compute/serverports"
)

// The events of a server's creation, as Nova calls them: that of the choice of a host is there when
// it failed only.
const (
	eventSchedule = "conductor_schedule_and_build_instances"
	eventBuild    = "compute__do_build_and_run_instance"
)

// A buildJob brings a server to the host that is chosen for it, or takes it from there.
type buildJob struct {
	hostCommands
	BuildData
	// ports are the server's as they were when its host was chosen, and were read at portsAt.
	ports   []compute.Port
	portsAt time.Time
}

// portsTime is how long ports are bound as they were read before. A port that is changed meanwhile
// has another revision and is read again; the rules of a policy have no part in its revision, and
// Neutron does not compare them with the allocation.
const portsTime = 2 * time.Second

// BuildData is what such an operation stores.
type BuildData struct {
	Common
	scheduler.HostChoice
	// Networks are the interfaces of the server, in their order. One without a port gets one.
	Networks []compute.NetworkSpec `json:"networks,omitempty"`
	Groups   []compute.ID          `json:"groups,omitempty"` // security groups of created ports
	Tried    int                   `json:"tried,omitempty"`  // hosts
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

func (b *buildJob) data() operationData { return &b.BuildData }

func (b *buildJob) clear() operationData {
	b.BuildData = BuildData{}
	return &b.BuildData
}

func (b *buildJob) Choice() *scheduler.HostChoice { return &b.HostChoice }

func (b *buildJob) Target() *scheduler.MoveTarget { return nil }

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
				return compute.FailureOf(ctx, err, compute.NetworkTrouble)
			}
		}
		return nil
	}, func(*buildJob) next { return next{Deferred: true} }) // the claim is stored before it is made
}

// chooseHosts chooses and claims a host for each of the servers that are created together: for all,
// or all of them fail. A server that a host could not build takes its next alternate instead.
func chooseHosts(ctx context.Context, jobs []*buildJob) ([]next, error) {
	return together(ctx, jobs, func() error {
		if first := jobs[0]; len(jobs) == 1 && first.Tried > 0 && !first.Rechoose {
			return first.takeAlternate(ctx)
		}
		return scheduleAll(ctx, jobs)
	}, func(b *buildJob) next {
		return next{Change: func(_ *Change, row *compute.ServerRow) error {
			b.Rechoose, row.Task = false, compute.Networking
			return nil
		}}
	})
}

// together carries out a step of servers that are created together, unless a service that it needs
// has been unavailable for too long. They fail together when its error is a *Failure.
func together(ctx context.Context, jobs []*buildJob, do func() error, done func(*buildJob) next) ([]next, error) {
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
		case err == nil:
			all[i] = done(b)
		case errors.As(err, &f):
			all[i] = next{Back: true, Change: b.gaveUp(f.For(b.subject))}
		default:
			return nil, err
		}
	}
	return all, nil
}

// scheduleAll is one attempt to schedule servers. Its error is a *Failure when it is of no
// use to try again.
func scheduleAll(ctx context.Context, jobs []*buildJob) error {
	s := jobs[0].s
	alike := true
	all := make([]scheduler.Claimant, len(jobs))
	for i, b := range jobs {
		if b.ports == nil || b.Tried > 0 { // else they were just read by the step before
			if err := b.readPorts(ctx); err != nil {
				return compute.FailureOf(ctx, err, compute.NetworkTrouble)
			}
		}
		if err := b.releaseEarlier(ctx); err != nil {
			return compute.FailureOf(ctx, err, "its allocation could not be released")
		}
		alike = alike && !slices.ContainsFunc(b.ports, s.scheduler.AffectsPlacement)
		all[i] = b
	}
	if alike {
		return s.scheduler.Place(ctx, all, jobs[0].ports)
	}
	for i, b := range jobs { // each has a request of its own
		if err := s.scheduler.Place(ctx, all[i:i+1], b.ports); err != nil {
			return err
		}
	}
	return nil
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
	var moves []compute.MigrationRow
	err = b.view(ctx, func(r compute.Reader) (err error) {
		moves, err = compute.Rows[compute.MigrationRow](r, compute.Where(compute.ByServer, b.subject))
		return err
	})
	if err == nil {
		err = b.s.claims.releaseMigrations(ctx, moves)
	}
	if err != nil {
		return next{}, err
	}
	return next{Change: func(_ *Change, row *compute.ServerRow) error {
		b.HostClaim = compute.HostClaim{}
		row.Host, row.Node = "", ""
		return nil
	}}, nil
}

// TakeClaim is claimant's.
func (b *buildJob) TakeClaim(ctx context.Context, claim selection.Claim) error {
	b.Claim = &claim
	var server compute.ServerRow
	err := b.save(ctx, func(c *Change, row *compute.ServerRow) (err error) {
		if err := scheduler.CheckHost(c.Tx, *row, claim.Host, b.Forced); err != nil {
			return err
		}
		chosen, err := scheduler.Assign(c.Tx, *row, &b.HostChoice, b.ports)
		if err != nil {
			return err
		}
		b.Devices, b.Assignment = chosen.Devices, chosen.Assignment
		row.Host, row.Node = claim.Host, claim.Node
		server = *row
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.s.claims.claim(ctx, server, claim.Amounts); err != nil {
		return err
	}
	return b.s.claims.reserveOnce(ctx, b.Claim, b.Assignment)
}

// takeAlternate claims the next of the candidates that remained when the first one was chosen.
func (b *buildJob) takeAlternate(ctx context.Context) error {
	if err := b.releaseEarlier(ctx); err != nil {
		return compute.FailureOf(ctx, err, "its allocation could not be released")
	}
	if err := b.readPorts(ctx); errors.Is(err, compute.ErrNoPort) {
		return compute.BuildAborted(compute.NetworkTrouble, err)
	} else if err != nil {
		return err
	}
	for len(b.Rest) > 0 {
		err := b.TakeClaim(ctx, b.Rest[0])
		if !errors.Is(err, scheduler.ErrNotTaken) && !errors.As(err, new(*scheduler.HostRefused)) {
			return err
		}
		b.Rest = b.Rest[1:]
	}
	return b.exhausted()
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
		p, err := b.s.bindings.Create(ctx, ports, known, compute.PortSpec{
			Project: server.Project, Server: server.ID, Owner: serverports.Owner(b.s.rules, server.Zone), Network: n.Network,
			Address: n.Address, SecurityGroups: b.Groups,
		})
		if err != nil {
			return err
		}
		b.Networks[i].Port = p.ID
		err = b.save(ctx, func(c *Change, _ *compute.ServerRow) error {
			return serverports.AddPort(c.Tx, compute.PortRow{Server: server.ID, Index: i, Tag: n.Tag, Own: true}, p)
		})
		if err != nil {
			return err
		}
		if len(p.ResourceRequest.Groups) > 0 && !b.s.rules.Settings.AllowBootInGuaranteed() {
			return &networkHasPolicy{n: n.Network}
		}
	}
	return nil
}

// A networkHasPolicy says that a network has a QoS policy that guarantees bandwidth, which is not
// supported for ports that compute creates.
type networkHasPolicy struct{ n compute.ID }

// Error says which.
func (e *networkHasPolicy) Error() string {
	return fmt.Sprintf("using networks with QoS policy is not supported (network %s): create a port in it, and boot the "+
		"server with that port", e.n)
}

// known returns a function that reports whether a port is one of the server's.
func (j *job) known(ctx context.Context) (func(compute.ID) bool, error) {
	rows, err := j.portRows(ctx)
	return func(id compute.ID) bool {
		return slices.ContainsFunc(rows, func(row compute.PortRow) bool { return row.Port == id })
	}, err
}

// portRows are the server's ports.
func (j *job) portRows(ctx context.Context) (rows []compute.PortRow, err error) {
	err = j.view(ctx, func(r compute.Reader) error {
		rows, err = compute.Rows[compute.PortRow](r, compute.Where(compute.ByServer, j.subject))
		return err
	})
	return rows, err
}

// readPorts reads the server's ports again, in their order.
func (b *buildJob) readPorts(ctx context.Context) error {
	byID, err := b.s.bindings.PortsByID(ctx, b.Networks)
	if err != nil {
		return err
	}
	all := make([]compute.Port, len(b.Networks))
	for i, n := range b.Networks {
		p, ok := byID[n.Port]
		if !ok {
			return fmt.Errorf("port %s: %w", n.Port, compute.ErrNoPort)
		}
		all[i] = p
	}
	b.ports, b.portsAt = all, b.s.rules.Now()
	return nil
}

// bind binds the ports to the chosen host.
func (b *buildJob) bind(ctx context.Context) (next, error) {
	if f, err := b.waitedTooLong(ctx); err != nil {
		return next{}, err
	} else if f != nil {
		return next{Back: true, Change: b.gaveUp(f.For(b.subject))}, nil
	}
	server, err := b.server(ctx)
	if err != nil {
		return next{}, err
	}
	ports := b.ports
	b.ports = nil // an attempt that fails may have bound some
	if ports == nil || b.s.rules.Now().Sub(b.portsAt).Abs() > portsTime {
		err = b.readPorts(ctx)
		ports = b.ports
	}
	if err == nil {
		ports, err = b.bindAll(ctx, server, ports, b.HostClaim)
	}
	switch {
	case err == nil:
		return next{
			Change: func(c *Change, row *compute.ServerRow) error { return serverports.RecordPorts(c.Tx, row.ID, ports) },
			// its host is sent a command next, by a commit
			Deferred: true,
		}, nil
	case compute.OutcomeUnknown(ctx, err):
		return next{}, err
	case errors.Is(err, compute.ErrPortChanged) && b.Tried < b.s.rules.Settings.Selection.Attempts:
		return b.retry(ctx, server, err, true), nil
	case errors.As(err, new(*serverports.NotBound)):
		return b.retry(ctx, server, err, false), nil
	}
	return next{Back: true, Change: b.gaveUp(b.abortion(compute.NetworkTrouble, err))}, nil
}

// bindAll binds ports of the server to its host, with what was claimed.
func (j *job) bindAll(
	ctx context.Context, server compute.ServerRow, ports []compute.Port, claimed compute.HostClaim,
) ([]compute.Port, error) {
	zone, err := j.s.zoneOf(ctx, server.Host)
	if err != nil {
		return nil, asRetryable(err)
	}
	return j.s.bindings.BindAll(ctx, ports, serverports.BindingTarget{
		Server: server.ID, Owner: serverports.Owner(j.s.rules, zone), Host: server.Host, Mappings: claimed.Claim.Mappings,
		Devices: claimed.Devices,
	})
}

// zoneOf returns the availability zone of a host.
func (s *Service) zoneOf(ctx context.Context, host string) (zone string, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		zones, err := compute.ZonesByHost(r, host)
		zone = zones[host]
		return err
	})
	return zone, err
}

// build has the host build the server.
func (b *buildJob) build(ctx context.Context) (next, error) {
	if b.Awaited == "" {
		return next{}, b.waitAfter(ctx, func(c *Change, row *compute.ServerRow) error {
			if b.Event == "" {
				event, err := c.StartEvent(b.Action, eventBuild, row.Host)
				if err != nil {
					return err
				}
				b.Event = event.ID
			}
			b.Awaited, row.Task = b.Event, compute.Spawning
			return c.setDesiredBuilt(*row, b.Event, b.HostClaim)
		})
	}
	event, err := b.await(ctx, "")
	if err != nil || event.Result == compute.EventSucceeded {
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
		var rows []compute.HostedRow
		err := b.view(ctx, func(r compute.Reader) (err error) {
			rows, err = compute.Rows[compute.HostedRow](r, compute.Where(compute.ByServer, b.subject))
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

// setDesiredBuilt has the host of a server build it with what was chosen. What the host may still
// have of an earlier stay is not that server.
func (c *Change) setDesiredBuilt(server compute.ServerRow, event compute.ID, claimed compute.HostClaim) error {
	_, remains, err := compute.Hosted(c, server.ID, server.Host)
	if err != nil {
		return err
	}
	assignment, err := claimed.StoredAssignment()
	if err != nil {
		return err
	}
	return c.setDesired(server, func(row *compute.HostedRow) {
		row.DesiredState, row.Event, row.Boot, row.Slots = compute.DesiredRunning, event, "", nil
		row.Assignment = assignment
		if remains {
			row.Generation++
		}
	})
}

// built is the effect of a boot that has succeeded.
func (b *buildJob) built() effect {
	return func(c *Change, row *compute.ServerRow) error {
		row.State, row.Task, row.Power, row.LaunchedAt = compute.Active, "", compute.Running, c.At
		if err := c.EndEvent(b.Event, nil); err != nil {
			return err
		}
		return c.buildEnded(*row, nil)
	}
}

// buildEnded counts the builds of a host that failed since one succeeded.
func (c *Change) buildEnded(server compute.ServerRow, cause error) error {
	nodes, err := compute.Rows[compute.NodeRow](c, compute.Where(compute.ByName, server.Node))
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
func (b *buildJob) retry(ctx context.Context, server compute.ServerRow, cause error, rechoose bool) next {
	b.s.rules.Log.WarnContext(ctx, "a build failed on a host", "server", server.ID, "host", server.Host,
		"alternates", len(b.Rest), "error", cause)
	return next{Back: true, UndoTo: stepClaim, Change: func(c *Change, row *compute.ServerRow) error {
		text := fmt.Sprintf("Build of instance %s was re-scheduled: %s", row.ID, serverports.ForUser(cause))
		if err := c.failed(b, row.Host, &compute.StepError{Text: text, Details: cause.Error()}); err != nil {
			return err
		}
		row.Task = compute.Scheduling
		b.Tried++
		b.Rechoose, b.Reservation = rechoose, "" // another host is chosen for it, and for no other server
		b.Causes = append(b.Causes, failedHost{
			Host: row.Host, Text: fmt.Sprintf("%.*s", maxCause, serverports.ForUser(cause)),
			Details: fmt.Sprintf("%.*s", maxCause, cause),
		})
		b.Rest = slices.DeleteFunc(b.Rest, func(other selection.Claim) bool { return other.Host == row.Host })
		if rechoose {
			return nil // the ports have changed, which is not the host's fault
		}
		return c.buildEnded(*row, cause)
	}}
}

// exhausted is the failure of a server that no host could build. Its details have the reason of
// each.
func (b *buildJob) exhausted() *compute.Failure {
	f := &compute.Failure{
		Code: 500,
		Message: fmt.Sprintf("Exceeded maximum number of retries. Exhausted all hosts available "+
			"for retrying build failures for instance %s.", b.subject),
	}
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
func (c *Change) failed(b *buildJob, host string, t *compute.StepError) error {
	if b.Event == "" {
		name := eventBuild
		if b.op.Step == stepClaim {
			name, host = eventSchedule, ""
		}
		event, err := c.StartEvent(b.Action, name, host)
		if err != nil {
			return err
		}
		b.Event = event.ID
	}
	err := c.EndEvent(b.Event, t)
	b.Event, b.Awaited = "", ""
	return err
}

// abortion is the failure of a server for which no other host may be tried.
func (b *buildJob) abortion(reason string, cause error) compute.Failure {
	return compute.Failure{
		Code: 500, Message: fmt.Sprintf("Build of instance %s aborted: %s", b.subject, reason), Details: cause.Error(),
	}
}

// gaveUp is the effect of a failure that no other host can repair: the server is in error, and what
// was done for it is undone.
func (b *buildJob) gaveUp(f compute.Failure) effect {
	return func(c *Change, row *compute.ServerRow) error {
		if err := c.failed(b, row.Host, &compute.StepError{Text: f.Message, Details: f.Details}); err != nil {
			return err
		}
		return c.inError(row, f)
	}
}

// inError puts a server into error.
func (c *Change) inError(row *compute.ServerRow, f compute.Failure) (err error) {
	f.Created = c.At.Format(time.RFC3339)
	row.State, row.Task = compute.Error, ""
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
		if err := b.s.bindings.Unbind(ctx, compute.PortRow{Server: b.subject, Port: row.Port}); err != nil {
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
		if err := b.s.bindings.Unbind(ctx, row); err != nil {
			return next{}, err
		}
	}
	known, err := b.known(ctx)
	if err == nil {
		err = b.s.bindings.DeleteUnknown(ctx, b.subject, known)
	}
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		_, err := c.Remove(&compute.PortRow{}, compute.Where(compute.ByServer, row.ID))
		return err
	}}, nil
}
