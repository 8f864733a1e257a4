package compute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// schedule creates the ports of servers that are created together, and chooses and claims a host
// for each: for all, or all of them fail. A server that a host could not build takes its next alternate instead.
// It is the doing of the steps ports and claim.
func schedule(ctx context.Context, jobs []*job) ([]next, error) {
	first := jobs[0]
	f, err := first.waitedTooLong(ctx)
	switch {
	case err != nil:
	case f != nil:
		err = f
	case len(jobs) == 1 && first.b.Tried > 0 && !first.b.Anew:
		err = first.takeAlternate(ctx)
	default:
		err = first.s.scheduleAll(ctx, jobs)
	}
	all := make([]next, len(jobs))
	for i, j := range jobs {
		switch {
		case err == nil:
			all[i].Change = j.scheduled()
		case errors.As(err, &f):
			all[i] = next{Back: true, Change: j.gaveUp(f.of(j.op.Server))}
		default:
			return nil, err
		}
	}
	return all, nil
}

// scheduled is the effect of a choice.
func (j *job) scheduled() effect {
	return func(_ *change, row *ServerRow) error {
		j.b.Anew, row.Task = false, Networking
		return nil
	}
}

// thisServer stands for the id of a server in the text of a failure of several servers.
const thisServer = "{server}"

func aborted(reason string, cause error) *Failure {
	return &Failure{Code: 500, Message: fmt.Sprintf("Build of instance %s aborted: %s", thisServer, reason), Details: cause.Error()}
}

// of returns the failure of several servers as that of one of them.
func (f *Failure) of(server ID) Failure {
	own := *f
	own.Message = strings.ReplaceAll(f.Message, thisServer, string(server))
	return own
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
			return failureOf(ctx, err, networkTrouble)
		}
		if err := j.takeBack(ctx); err != nil {
			return failureOf(ctx, err, "its allocation could not be released")
		}
		alike = alike && !slices.ContainsFunc(ports[i], s.matters)
	}
	if alike {
		return s.place(ctx, jobs, ports[0])
	}
	for i, j := range jobs { // each has a request of its own
		if err := s.place(ctx, []*job{j}, ports[i]); err != nil {
			return err
		}
	}
	return nil
}

// matters reports whether what a port is like says where its server can go.
func (s *Service) matters(p Port) bool {
	return len(p.Asks.Groups) > 0 || s.rules.Settings.Requests.RoutedNetworks
}

// failureOf is the failure of a server by an error, from which something follows.
func failureOf(ctx context.Context, err error, reason string) error {
	if undecided(ctx, err) {
		return err
	}
	return aborted(reason, err)
}

// takeBack begins the step claim: it releases the claim of an earlier run.
func (j *job) takeBack(ctx context.Context) error {
	at := operation.Cursor{Step: stepClaim}
	if j.b.Claim != nil {
		back, err := j.unclaim(ctx)
		if err != nil {
			return err
		}
		return j.Commit(ctx, at, back.Change)
	}
	if j.Cursor() == at {
		return nil
	}
	return j.Commit(ctx, at)
}

// unclaim deletes the allocation of a server.
func (j *job) unclaim(ctx context.Context) (next, error) {
	server, err := j.server(ctx)
	if err != nil {
		return next{}, err
	}
	if j.op.Kind != remove { // the server gets others, which a late release of the network service must not find
		if err := j.settleReleases(ctx); err != nil {
			return next{}, err
		}
	}
	if err := j.s.setAllocations(ctx, server, nil); err != nil {
		return next{}, err
	}
	if err := j.releaseMigrations(ctx); err != nil {
		return next{}, err
	}
	return next{Change: func(_ *change, row *ServerRow) error {
		j.b.Claim, j.b.Devices = nil, nil
		row.Host, row.Node = "", ""
		return nil
	}}, nil
}

// releaseMigrations deletes the allocations of moves of a server that have not ended.
func (j *job) releaseMigrations(ctx context.Context) error {
	var all []MigrationRow
	err := j.view(ctx, func(r Reader) (err error) {
		all, err = Rows[MigrationRow](r, Where(ByServer, j.op.Server))
		return err
	})
	for _, m := range all {
		if err == nil && (!m.over() || m.Type == typeEvacuate && m.Status == done) {
			e := allocations.Exchange{Placement: j.s.placement, Migration: string(m.ID)}
			err = e.Confirm(ctx)
		}
	}
	return err
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
		err := jobs[i].claim(ctx, claim)
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

// refusal is the failure of servers when placement refuses a query, or a claim.
func refusal(err error) *Failure {
	f := &Failure{Code: 500, Message: "No valid host was found. ", Details: err.Error()}
	var none *request.NoValidHost
	if errors.As(err, &none) {
		f.Message, f.Details = none.Error(), strings.Join(none.Details, "\n")
	} else if kind, _ := fault.Of(err); kind != fault.Invalid {
		f.Message += "The placement service cannot be used."
	}
	return f
}

// noValidHost is the failure of servers for which there is no valid host, with the reasons. Of a server that moves they are
// those of all hosts but its own.
func (s *Service) noValidHost(ctx context.Context, c *choice) error {
	none := c.NoValidHost()
	details := none.Details
	if c.Nowhere() {
		var explanation []string
		reasons, err := c.request.Reasons(func(q placement.Query) (bool, error) {
			if c.leaves != "" {
				q.Limit = s.rules.Settings.Requests.MaxResults // the first ones may be on its own
			}
			answer, err := s.placement.Candidates(ctx, q)
			return answer.Elsewhere(c.leaves), err
		})
		if err != nil {
			reasons = []string{"the reason is unknown:  " + err.Error()}
		} else {
			explanation = s.explanation(ctx, c)
		}
		if c.leaves != "" {
			for i, r := range reasons {
				reasons[i] = "other hosts: " + r
			}
		}
		details = slices.Concat(details, reasons, explanation, c.request.Warnings)
	}
	return &Failure{Code: 500, Message: none.Error(), Details: strings.Join(details, "\n")}
}

// The most time that a failure waits for placement's explanation, and of that for the explanations of others: one is asked for at a
// time, so that the requests of other servers do not wait for those that fail.
const (
	explainTime = 3 * time.Second
	explainTurn = 500 * time.Millisecond
)

// explanation returns placement's explanation of a query without candidates, a line for the details of the failure; none when there is
// no explanation in time. Placement counts the host that a server leaves as any other.
func (s *Service) explanation(ctx context.Context, c *choice) []string {
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	turn := time.NewTimer(explainTurn)
	defer turn.Stop()
	select {
	case s.explains <- struct{}{}:
		defer func() { <-s.explains }()
	case <-turn.C:
		return nil
	case <-ctx.Done():
		return nil
	}
	text, err := s.placement.Explain(ctx, c.request.Query)
	switch {
	case err != nil, text == "":
		return nil
	case c.leaves != "":
		return []string{"placement, for all hosts with its own: " + text}
	}
	return []string{"placement: " + text}
}

// A hostRefused says that a host will not do after all.
type hostRefused struct{ why string }

// Error says why.
func (h *hostRefused) Error() string { return "compute: the host was refused:  " + h.why }

// errNotTaken says that placement did not take a claim.
var errNotTaken = errors.New("compute: placement refused the claim")

// claim stores a claim and writes it to placement. The error is a *hostRefused or errNotTaken when
// another candidate should be tried, and a *Failure when placement cannot be used.
func (j *job) claim(ctx context.Context, claim selection.Claim) error {
	j.b.Claim = &claim
	var server ServerRow
	err := j.Commit(ctx, operation.Cursor{Step: stepClaim}, func(c *change, row *ServerRow) error {
		if err := c.checkHost(*row, claim.Host, j.b.Forced); err != nil {
			return err
		}
		if err := c.chooseDevices(j, *row, claim.Host, claim.Node); err != nil {
			return err
		}
		if j.b.Migration != "" {
			return c.goesTo(j, claim)
		}
		row.Host, row.Node = claim.Host, claim.Node
		server = *row
		return nil
	})
	if err != nil {
		return err
	}
	if j.b.Migration != "" {
		return j.exchange(ctx)
	}
	err = j.s.claimAllocations(ctx, server, claim.Amounts)
	switch {
	case err == nil, undecided(ctx, err):
		return err
	case errors.Is(err, errNotTaken), errors.Is(err, allocations.ErrCapacity), errors.Is(err, allocations.ErrGeneration):
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
	if up, err := c.HostIsUp(c, host); err != nil || !up {
		return cmp.Or[error](err, &hostRefused{"its compute service is down"})
	}
	if server.Group == "" {
		return nil
	}
	g, err := One[GroupRow](c, Where(ByID, server.Group))
	if err != nil {
		return err
	}
	members, err := Rows[ServerSummary](c, Where(ByGroup, server.Group))
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
	if g.Policy == selection.Affinity && here == 0 && elsewhere > 0 || g.Policy == selection.AntiAffinity && here >= max(1, g.MaxPerHost) {
		return &hostRefused{"other servers of its " + g.Policy + " group were scheduled there, or elsewhere, at the same time"}
	}
	return nil
}

// takeAlternate claims the next of the candidates that were left when the first one was chosen.
func (j *job) takeAlternate(ctx context.Context) error {
	if err := j.takeBack(ctx); err != nil {
		return failureOf(ctx, err, "its allocation could not be released")
	}
	if _, err := j.readPorts(ctx); errors.Is(err, ErrNoPort) {
		return aborted(networkTrouble, err)
	} else if err != nil {
		return err
	}
	for len(j.b.Rest) > 0 {
		claim := j.b.Rest[0]
		err := j.claim(ctx, claim)
		if !errors.Is(err, errNotTaken) && !errors.As(err, new(*hostRefused)) {
			return err
		}
		j.b.Rest = j.b.Rest[1:]
	}
	return j.exhausted()
}
