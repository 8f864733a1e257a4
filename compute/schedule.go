package compute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// schedule creates the ports of servers that are created together, and chooses and claims a host
// for each: for all, or all of them fail. A server whose deletion is requested is left out. It
// returns an error when the caller must retry.
func (s *Service) schedule(ctx context.Context, jobs []*job) error {
	for {
		live := slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j.lost || !scheduled(j.op) })
		if len(live) == 0 {
			return nil
		}
		err := s.scheduleAll(ctx, live)
		var f *Failure
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			return nil
		case errors.Is(err, errDeleted), errors.Is(err, errLost):
			continue // without it
		case errors.As(err, &f):
			return s.giveUpAll(ctx, live, *f)
		default:
			return err
		}
	}
}

// scheduleAlone schedules one server.
func (j *job) scheduleAlone(ctx context.Context) error { return j.s.schedule(ctx, []*job{j}) }

// giveUpAll puts servers into error.
func (s *Service) giveUpAll(ctx context.Context, jobs []*job, f Failure) error {
	for _, j := range jobs {
		own := f
		own.Message = strings.ReplaceAll(f.Message, thisServer, string(j.op.Server))
		if err := j.giveUp(ctx, own); err != nil && !errors.Is(err, errDeleted) && !errors.Is(err, errLost) {
			return err
		}
	}
	return nil
}

// thisServer stands for the id of a server in the text of a failure of several servers.
const thisServer = "{server}"

func aborted(reason string, cause error) *Failure {
	return &Failure{Code: 500, Message: fmt.Sprintf("Build of instance %s aborted: %s", thisServer, reason), Details: cause.Error()}
}

// Error is the message for users.
func (f *Failure) Error() string { return f.Message }

// networkTrouble is the message for users of ports that cannot be created or bound.
const networkTrouble = "Failed to allocate the network(s), not rescheduling."

// scheduleAll is one attempt to schedule servers. Its error is a *Failure when it is of no
// use to try again.
func (s *Service) scheduleAll(ctx context.Context, jobs []*job) error {
	ports := make([][]Port, len(jobs))
	alike := true
	for i, j := range jobs {
		err := j.makePorts(ctx)
		if err == nil {
			ports[i], err = j.readPorts(ctx)
		}
		if err != nil {
			return j.failureOf(err, networkTrouble)
		}
		if err := j.unclaim(ctx); err != nil {
			return j.failureOf(err, "its allocation could not be released")
		}
		alike = alike && !slices.ContainsFunc(ports[i], s.matters)
	}
	if alike {
		if err := s.place(ctx, jobs, ports[0]); err != nil {
			return err
		}
		return advance(ctx, jobs)
	}
	for i, j := range jobs { // each has a request of its own
		if err := s.place(ctx, []*job{j}, ports[i]); err != nil {
			return err
		}
	}
	return advance(ctx, jobs)
}

// matters reports whether what a port is like says where its server can go.
func (s *Service) matters(p Port) bool {
	return len(p.Asks.Groups) > 0 || s.settings.Requests.RoutedNetworks
}

// failureOf is the failure of a server by an error; errors of the journal are returned as they are.
func (j *job) failureOf(err error, reason string) error {
	if errors.Is(err, errDeleted) || errors.Is(err, errLost) {
		return err
	}
	return aborted(reason, err)
}

// unclaim releases the claim of an earlier attempt.
func (j *job) unclaim(ctx context.Context) error {
	if j.b.Claim == nil && j.op.Step == stepClaim {
		return nil
	}
	server, err := j.server(ctx)
	if err != nil {
		return err
	}
	if j.b.Claim != nil {
		if err := j.s.setAllocations(ctx, server, nil); err != nil {
			return err
		}
	}
	j.b.Claim, j.b.Rest = nil, nil
	return j.commit(ctx, stepClaim, func(_ *change, row *ServerRow) error {
		row.Host, row.Node = "", ""
		return nil
	})
}

// advance moves servers that have a host to the next step.
func advance(ctx context.Context, jobs []*job) error {
	for _, j := range jobs {
		err := j.commit(ctx, stepBind, func(_ *change, row *ServerRow) error {
			row.Task = Networking
			return nil
		})
		if err != nil && !errors.Is(err, errDeleted) && !errors.Is(err, errLost) {
			return err
		}
	}
	return nil
}

// place chooses and claims a host for each of some servers that ask for the same. The error
// is a *Failure when there is none.
func (s *Service) place(ctx context.Context, jobs []*job, ports []Port) error {
	chooser, err := s.choose(ctx, jobs, ports, len(jobs) > 1)
	if err != nil {
		return err
	}
	defer func() { chooser.Release() }()
	for i := 0; !chooser.Done(); {
		claim, ok := chooser.Next()
		switch {
		case !ok && chooser.final:
			return s.noValidHost(ctx, chooser)
		case !ok:
			if chooser, err = s.choose(ctx, jobs, ports, true); err != nil {
				return err
			}
			continue
		}
		err := jobs[i].claim(ctx, stepClaim, claim)
		var refused *hostRefused
		switch {
		case err == nil:
			chooser.Taken()
			i++
		case errors.As(err, &refused):
			chooser.Refuse(refused.why)
		case !errors.Is(err, errNotTaken):
			return err
		}
	}
	rest := chooser.Alternates()
	for _, j := range jobs {
		j.b.Rest = rest
	}
	return nil
}

// refusal is the failure of servers when placement cannot be queried, or refuses the query.
func refusal(err error) error {
	f := &Failure{Code: 500, Message: "No valid host was found. ", Details: err.Error()}
	var none *request.NoValidHost
	if errors.As(err, &none) {
		f.Message, f.Details = none.Error(), strings.Join(none.Details, "\n")
	} else if kind, _ := fault.Of(err); kind != fault.Invalid {
		f.Message += "The placement service is unavailable."
	}
	return f
}

// noValidHost is the failure of servers for which there is no valid host, with the reasons.
func (s *Service) noValidHost(ctx context.Context, c *choice) error {
	none := c.NoValidHost()
	f := &Failure{Code: 500, Message: none.Error(), Details: strings.Join(none.Details, "\n")}
	if !c.offer.Empty() {
		return f
	}
	reasons, err := c.request.Reasons(func(q placement.Query) (bool, error) {
		answer, err := s.placement.Candidates(ctx, q)
		return len(answer.Candidates) > 0, err
	})
	if err != nil {
		reasons = []string{"the reason is unknown:  " + err.Error()}
	}
	f.Details = strings.Join(append(reasons, c.request.Warnings...), "\n")
	return f
}

// A hostRefused says that a host will not do after all.
type hostRefused struct{ why string }

// Error says why.
func (h *hostRefused) Error() string { return "compute: the host was refused:  " + h.why }

// errNotTaken says that placement did not take a claim.
var errNotTaken = errors.New("compute: placement refused the claim")

// claim stores a claim and writes it to placement. The error is a *hostRefused or errNotTaken when
// another candidate should be tried, and a *Failure when placement cannot be used.
func (j *job) claim(ctx context.Context, step string, claim selection.Claim) error {
	j.b.Claim = &claim
	var server ServerRow
	err := j.commit(ctx, step, func(c *change, row *ServerRow) error {
		if err := c.checkHost(*row, claim.Host, j.b.Forced); err != nil {
			return err
		}
		if err := c.chooseDevices(j, *row, claim.Node); err != nil {
			return err
		}
		row.Host, row.Node = claim.Host, claim.Node
		server = *row
		return nil
	})
	if err != nil {
		return err
	}
	err = j.s.setAllocations(ctx, server, claim.Amounts)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, allocations.ErrCapacity), errors.Is(err, allocations.ErrGeneration):
		return errNotTaken
	}
	return refusal(err)
}

// checkHost refuses a host that has become one that will not do since it was chosen: others
// of its group have been put there, or elsewhere.
func (c *change) checkHost(server ServerRow, host string, forced bool) error {
	if forced {
		return nil
	}
	if up, err := c.isUp(host); err != nil || !up {
		return cmp.Or[error](err, &hostRefused{"its compute service is down"})
	}
	if server.Group == "" {
		return nil
	}
	g, err := One[GroupRow](c, Where(ByID, server.Group))
	if err != nil {
		return err
	}
	members, err := Rows[ServerRow](c, Where(ByGroup, server.Group))
	if err != nil {
		return err
	}
	here, elsewhere := 0, 0
	for _, m := range members {
		switch {
		case m.ID == server.ID || m.Host == "" || m.Task == Deleting:
		case m.Host == host:
			here++
		default:
			elsewhere++
		}
	}
	if g.Policy == selection.Affinity && elsewhere > 0 || g.Policy == selection.AntiAffinity && here >= max(1, g.MaxPerHost) {
		return &hostRefused{"other servers of its " + g.Policy + " group were scheduled there, or elsewhere, at the same time"}
	}
	return nil
}

// next tries one of the alternates, once what was done on the host before is taken back.
func (j *job) next(ctx context.Context) error {
	if err := j.undoClaim(ctx); err != nil {
		return err
	}
	if _, err := j.readPorts(ctx); errors.Is(err, ErrNoPort) {
		return j.abort(ctx, networkTrouble, err)
	} else if err != nil {
		return err
	}
	for len(j.b.Rest) > 0 {
		claim := j.b.Rest[0]
		err := j.claim(ctx, stepNext, claim)
		var f *Failure
		switch {
		case err == nil:
			return j.commit(ctx, stepBind, func(_ *change, row *ServerRow) error {
				row.Task = Networking
				return nil
			})
		case errors.As(err, &f):
			return j.giveUp(ctx, *f)
		case !errors.Is(err, errNotTaken) && !errors.As(err, new(*hostRefused)):
			return err
		}
		j.b.Rest = j.b.Rest[1:]
	}
	return j.giveUp(ctx, j.exhausted())
}

// again goes back to before there was a choice.
func (j *job) again(ctx context.Context) error {
	if err := j.undoClaim(ctx); err != nil {
		return err
	}
	return j.commit(ctx, stepPorts, nil)
}

// undoClaim unbinds the ports of a server and deletes its allocation.
func (j *job) undoClaim(ctx context.Context) error {
	server, err := j.server(ctx)
	if err != nil {
		return err
	}
	known, err := j.known(ctx)
	if err != nil {
		return err
	}
	for _, id := range sortedIDs(known) {
		if err := j.s.freePort(ctx, PortRow{Server: server.ID, Port: id}); err != nil {
			return err
		}
	}
	return j.s.setAllocations(ctx, server, nil)
}
