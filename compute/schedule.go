package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// A claimant is an operation that a host is chosen for.
type claimant interface {
	serverID() ID
	choice() *hostChoice
	// target is what a server that moves gets on the host that is chosen, nil for one that is on no
	// host.
	target() *moveTarget
	// claim stores a claim and writes it to placement. The error is a *hostRefused or errNotTaken
	// when another candidate should be tried, and a *Failure when placement cannot be used.
	claim(ctx context.Context, claim selection.Claim) error
}

// A moveTarget is the flavor that a server has after its move.
type moveTarget struct {
	flavor   json.RawMessage // as in ServerRow
	flavorID ID
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

// failureOf is the failure of a server by an error, from which something follows.
func failureOf(ctx context.Context, err error, reason string) error {
	if outcomeUnknown(ctx, err) {
		return err
	}
	return aborted(reason, err)
}

// place chooses and claims a host for each of some servers with the same request. The error
// is a *Failure when there is none.
func (s *Service) place(ctx context.Context, jobs []claimant, ports []Port) error {
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
		j.choice().Rest = rest
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

// noValidHost is the failure of servers for which there is no valid host, with the reasons. Of a
// server that moves they are those of all hosts but its own.
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

// The most time that a failure waits for placement's explanation, and of that for the explanations
// of others: one is requested at a time, so that the requests of other servers do not wait for
// those that fail.
const (
	explainTime         = 3 * time.Second
	explainQueueTimeout = 500 * time.Millisecond
)

// explanation returns placement's explanation of a query without candidates, a line for the details
// of the failure; none when there is no explanation in time. Placement counts the host that a
// server leaves as any other.
func (s *Service) explanation(ctx context.Context, c *choice) []string {
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	queued := time.NewTimer(explainQueueTimeout)
	defer queued.Stop()
	select {
	case s.explains <- struct{}{}:
		defer func() { <-s.explains }()
	case <-queued.C:
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
