package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/explain"
)

// Refusal is the failure of servers when placement refuses a query, or a claim.
func Refusal(err error) *compute.Failure {
	f := &compute.Failure{Code: 500, Message: "No valid host was found. ", Details: err.Error()}
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
func (s *Scheduler) noValidHost(ctx context.Context, c *choice) *compute.Failure {
	none := c.NoValidHost()
	details := none.Details
	switch {
	case c.earlier != nil:
		before := c.earlier.NoValidHost()
		none.Reason, details = before.Reason, slices.Concat(before.Details, details)
	case c.Nowhere(), c.onFallback():
		details = slices.Concat(details, s.reasons(ctx, c), c.request.Warnings)
	}
	return &compute.Failure{Code: 500, Message: none.Error(), Details: strings.Join(details, "\n")}
}

// reasons returns why a request has no candidates, a line for each reason: from placement's
// explanation, or where there is none, by queries with fewer constraints.
func (s *Scheduler) reasons(ctx context.Context, c *choice) []string {
	if e := s.explanation(ctx, c, c.request.Query); e != nil {
		return c.request.Explained(e, func(q placement.Query) *explain.Explanation { return s.explanation(ctx, c, q) })
	}
	reasons, err := c.request.Reasons(func(q placement.Query) (bool, error) {
		if c.leaves != "" {
			q.Limit = s.rules.Settings.Requests.MaxResults // the first ones may be on its own
		}
		answer, err := s.placement.Candidates(ctx, q)
		return answer.Elsewhere(c.leaves), err
	})
	if err != nil {
		reasons = []string{"the reason is unknown:  " + err.Error()}
	}
	if c.leaves != "" {
		for i, r := range reasons {
			reasons[i] = "other hosts: " + r
		}
	}
	return reasons
}

// advice returns a line with the change that would help a request that placement refuses; none
// where placement explains nothing.
func (s *Scheduler) advice(ctx context.Context, c *choice) []string {
	if e := s.explanation(ctx, c, c.request.Query); e != nil {
		if advice := e.Advice(c.request.Owner); advice != "" {
			return []string{advice}
		}
	}
	return nil
}

// The most time that a failure waits for placement's explanation, and of that for the explanations
// of others: one is requested at a time, so that the requests of other servers do not wait for
// those that fail.
const (
	explainTime         = 3 * time.Second
	explainQueueTimeout = 500 * time.Millisecond
)

// explanation returns placement's explanation of a query, of a server that leaves a host with what
// that host lacks; nil when there is none in time, as with upstream's placement service.
func (s *Scheduler) explanation(ctx context.Context, c *choice, q placement.Query) *explain.Explanation {
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
	e, err := s.placement.Explain(ctx, q, c.leaves)
	if err != nil {
		return nil
	}
	return e
}
