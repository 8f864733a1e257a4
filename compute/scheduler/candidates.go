package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// queryGroup are the queries for candidates that are under way. Servers that are scheduled at the
// same time with equal queries get one answer to a query that was sent after each of them had
// begun, so that it is as new as one of their own: while a query is under way, and for a while
// after a long one, all that come wait for the next.
type queryGroup struct {
	mu  sync.Mutex
	all map[string]*groupedQuery // the newest by query
}

// The pause after a query is so many times as long as the query, and bounded. An answer of a
// thousand candidates takes much CPU time; with the pause more servers share the next one.
const (
	queryPause    = 6
	maxQueryPause = 250 * time.Millisecond
)

// An groupedQuery is one query.
type groupedQuery struct {
	begun bool // others must not join it; guarded by the mutex of queryGroup
	done  chan struct{}
	// When done:
	offer *selection.Offer
	err   error
	next  time.Time // when an equal one may begin
}

// query returns the answer to a query, which send sends.
func (t *queryGroup) query(
	ctx context.Context, q placement.Query, send func() (selection.Answer, error),
) (*selection.Offer, error) {
	key := fmt.Sprintf("%+v", q)
	for {
		t.mu.Lock()
		t.forget()
		before := t.all[key]
		query, first := before, before == nil || before.begun
		if first {
			query = &groupedQuery{done: make(chan struct{})}
			t.all[key] = query
		}
		t.mu.Unlock()
		if first {
			before.await(ctx)
			t.carryOut(ctx, query, send)
		}
		select {
		case <-query.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if ctx.Err() != nil || !errors.Is(query.err, context.Canceled) {
			return query.offer, query.err
		}
		// The operation that sent it for all of them has ended.
	}
}

// forget drops queries after which the next need not wait.
func (t *queryGroup) forget() {
	if t.all == nil {
		t.all = map[string]*groupedQuery{}
	}
	for key, query := range t.all {
		select {
		case <-query.done:
			if !time.Now().Before(query.next) {
				delete(t.all, key)
			}
		default:
		}
	}
}

// await waits until an equal query may begin, or ctx ends. It may be nil.
func (o *groupedQuery) await(ctx context.Context) {
	if o == nil {
		return
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return
	}
	pause := time.NewTimer(time.Until(o.next))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

func (t *queryGroup) carryOut(ctx context.Context, query *groupedQuery, send func() (selection.Answer, error)) {
	t.mu.Lock()
	query.begun = true
	t.mu.Unlock()
	began := time.Now()
	if query.err = ctx.Err(); query.err == nil {
		var answer selection.Answer
		answer, query.err = send()
		query.offer = selection.NewOffer(answer)
	}
	ended := time.Now()
	query.next = ended.Add(min(queryPause*ended.Sub(began), maxQueryPause))
	close(query.done)
}

// A choice is a choice of hosts for servers.
type choice struct {
	*selection.Chooser
	request request.Request
	offer   *selection.Offer
	// at is the query of the request that the offer answers: 0 is Query, and what follows Fallbacks.
	at int
	// earlier is a choice among hosts that report NUMA nodes, none of which would do; nil for none.
	earlier *choice
	// leaves is the provider of the host that the server is to leave, "" for none.
	leaves placement.UUID
	// final says that there is no host when the chooser has none. Otherwise it was made from what
	// others claim from as well, or from hosts that were not read for it.
	final bool
	// kept is what the server has of sharing providers, which claims have in addition to what
	// placement was queried for.
	kept allocations.Amounts
}

// onFallback reports whether a server with cells has a choice among hosts without NUMA nodes.
func (c *choice) onFallback() bool { return c.at > 0 && c.request.OnNodes() }

// next returns the first query for hosts that report no NUMA nodes, when the choice was among hosts
// that do: of these there are candidates, and none will do.
func (c *choice) next() (from int, ok bool) {
	return c.at + 1, c.at == 0 && c.request.OnNodes() && !c.offer.Empty() && len(c.request.Fallbacks()) > 0
}

// A search says which hosts are searched.
type search struct {
	final bool // with an answer and hosts of its own
	// keeping is among the hosts that can use the sharing providers that the server has something of.
	keeping bool
	from    int // the query of the request to begin with, as choice.at
}

// choose prepares the choice for servers with the same request. It has no chooser when it is
// keeping, and nothing can be kept. The error is a *Failure when there can be no host.
func (s *Scheduler) choose(ctx context.Context, jobs []Claimant, ports []compute.Port, by search) (*choice, error) {
	p, err := s.snapshot(ctx, jobs, by.final)
	if err != nil {
		return nil, err
	}
	spec := p.spec(ports)
	if spec.Routed, err = s.routed(ctx, ports); err != nil {
		var f *compute.Failure
		if errors.As(err, &f) {
			return nil, f
		}
		return nil, compute.FailureOf(ctx, err, compute.NetworkTrouble)
	}
	c := &choice{final: by.final}
	for _, h := range p.hosts {
		if h.Name == p.wanted.Ignored {
			c.leaves = h.Provider
		}
	}
	settings, err := s.hosts.Requests(ctx)
	if err != nil {
		return nil, err
	}
	if c.request, err = request.New(spec, settings, p.aggregates); err != nil {
		return nil, Refusal(err)
	}
	if by.keeping && !c.keep(jobs[0].Target(), p.server) {
		return c, nil
	}
	if p.wanted.Suffixes, err = s.candidates(ctx, c, by); compute.OutcomeUnknown(ctx, err) {
		return nil, err
	} else if err != nil {
		f := Refusal(err)
		if kind, _ := fault.Of(err); kind == fault.Invalid { // a trait that placement does not know, say
			f.Details = strings.Join(slices.Concat([]string{f.Details}, s.advice(ctx, c), c.request.Warnings), "\n")
		}
		return nil, f
	}
	c.Chooser = selection.New(p.wanted, p.hosts, c.offer, s.selectionSettings())
	return c, nil
}

// keep has the choice be among the hosts that can use the sharing providers that a server has
// something of, and reports whether there are any such providers.
func (c *choice) keep(target *MoveTarget, server compute.ServerRow) bool {
	r, kept, ok := c.request.Keeping(target.Shared, target.FlavorID != server.FlavorID)
	if !ok {
		return false
	}
	c.request, c.kept = r, allocations.Amounts{}
	for provider, classes := range kept {
		c.kept[string(provider)] = classes
	}
	return true
}

// selectionSettings returns the settings of a choice: each time with another seed, as Nova, unless
// it is set.
func (s *Scheduler) selectionSettings() selection.Settings {
	settings := s.rules.Settings.Selection
	if settings.Seed == 0 {
		settings.Seed = rand.Uint64()
	}
	return settings
}

// candidates queries placement for the offer of a choice, and returns the server's own suffixes for
// those in it.
func (s *Scheduler) candidates(ctx context.Context, c *choice, by search) (own map[string]string, err error) {
	query := func(q placement.Query) (*selection.Offer, error) {
		if by.final {
			answer, err := s.apart(ctx, q)
			return selection.NewOffer(answer), err
		}
		q, own = c.request.Alike(q)
		return s.queries.query(ctx, q, func() (selection.Answer, error) { return s.apart(ctx, q) })
	}
	for i, q := range append([]placement.Query{c.request.Query}, c.request.Fallbacks()...)[by.from:] {
		c.at = by.from + i
		c.offer, err = query(q)
		// Placement refuses traits of NUMA nodes that no host has so far.
		if err != nil && !refused(err) || err == nil && !c.offer.Empty() {
			break
		}
	}
	return own, err
}
