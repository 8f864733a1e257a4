package compute

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// askedTogether are the queries for candidates that are under way. Servers that are scheduled at the
// same time with equal queries get one answer, which was asked for after each of them had asked, so
// that it is as new as one of their own: while a query is under way, and for a while after a long one,
// all that come wait for the next.
type askedTogether struct {
	mu  sync.Mutex
	all map[string]*askedOnce // the newest by query
}

// The pause after a query is so many times as long as the query, and bounded. An answer of a thousand
// candidates takes much CPU time; with the pause more servers share the next one.
const (
	askPause    = 3
	maxAskPause = 250 * time.Millisecond
)

// An askedOnce is one query.
type askedOnce struct {
	begun bool // others must not join it; guarded by the mutex of askedTogether
	done  chan struct{}
	// When done:
	offer *selection.Offer
	err   error
	next  time.Time // when an equal one may begin
}

// ask returns the answer to a query.
func (t *askedTogether) ask(ctx context.Context, q placement.Query, ask func() (selection.Answer, error)) (*selection.Offer, error) {
	key := fmt.Sprintf("%+v", q)
	for {
		t.mu.Lock()
		t.forget()
		before := t.all[key]
		one, first := before, before == nil || before.begun
		if first {
			one = &askedOnce{done: make(chan struct{})}
			t.all[key] = one
		}
		t.mu.Unlock()
		if first {
			before.await(ctx)
			t.carryOut(ctx, one, ask)
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if ctx.Err() != nil || !errors.Is(one.err, context.Canceled) {
			return one.offer, one.err
		}
		// The operation that asked for all of them has ended.
	}
}

// forget drops queries after which the next need not wait.
func (t *askedTogether) forget() {
	if t.all == nil {
		t.all = map[string]*askedOnce{}
	}
	for key, one := range t.all {
		select {
		case <-one.done:
			if !time.Now().Before(one.next) {
				delete(t.all, key)
			}
		default:
		}
	}
}

// await waits until an equal query may begin, or ctx ends. It may be nil.
func (o *askedOnce) await(ctx context.Context) {
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

func (t *askedTogether) carryOut(ctx context.Context, one *askedOnce, ask func() (selection.Answer, error)) {
	t.mu.Lock()
	one.begun = true
	t.mu.Unlock()
	begin := time.Now()
	if one.err = ctx.Err(); one.err == nil {
		var answer selection.Answer
		answer, one.err = ask()
		one.offer = selection.NewOffer(answer)
	}
	now := time.Now()
	one.next = now.Add(min(askPause*now.Sub(begin), maxAskPause))
	close(one.done)
}

// A choice is a choice of hosts for servers.
type choice struct {
	*selection.Chooser
	request request.Request
	offer   *selection.Offer
	// leaves is the provider of the host that the server is to leave, "" for none.
	leaves placement.UUID
	// final says that there is no host when the chooser has none. Otherwise it was made from what
	// others claim from as well, or from hosts that were not read for it.
	final bool
}

// choose prepares the choice for servers that ask for the same. One that has to be final gets an answer
// and hosts of its own. The error is a *Failure when there can be no host.
func (s *Service) choose(ctx context.Context, jobs []*job, ports []Port, final bool) (*choice, error) {
	p, err := s.snapshot(ctx, jobs, final)
	if err != nil {
		return nil, err
	}
	spec := p.spec(ports)
	if spec.Routed, err = s.routed(ctx, ports); err != nil {
		var f *Failure
		if errors.As(err, &f) {
			return nil, f
		}
		return nil, failureOf(ctx, err, networkTrouble)
	}
	c := &choice{final: final}
	for _, h := range p.hosts {
		if h.Name == p.wanted.Ignored {
			c.leaves = h.Provider
		}
	}
	if c.request, err = request.New(spec, s.rules.Settings.Requests, p.aggregates); err != nil {
		return nil, refusal(err)
	}
	if c.offer, p.wanted.Suffixes, err = s.candidates(ctx, c.request, final); undecided(ctx, err) {
		return nil, err
	} else if err != nil {
		f := refusal(err)
		if kind, _ := fault.Of(err); kind == fault.Invalid { // a trait that placement does not know, say
			f.Details = strings.Join(append([]string{f.Details}, s.explanation(ctx, c)...), "\n")
		}
		return nil, f
	}
	c.Chooser = selection.New(p.wanted, p.hosts, c.offer, s.drawing())
	return c, nil
}

// drawing returns the settings of a choice: each time with another seed, as Nova, unless it is set.
func (s *Service) drawing() selection.Settings {
	settings := s.rules.Settings.Selection
	if settings.Seed == 0 {
		settings.Seed = rand.Uint64()
	}
	return settings
}

// candidates queries placement, and returns with the answer the server's own suffixes for those in it.
func (s *Service) candidates(ctx context.Context, r request.Request, alone bool) (o *selection.Offer, own map[string]string, err error) {
	ask := func(q placement.Query) (*selection.Offer, error) {
		if alone {
			answer, err := s.placement.Candidates(ctx, q)
			return selection.NewOffer(answer), err
		}
		q, own = r.Alike(q)
		return s.asked.ask(ctx, q, func() (selection.Answer, error) { return s.placement.Candidates(ctx, q) })
	}
	o, err = ask(r.Query)
	if err != nil || !o.Empty() {
		return o, own, err
	}
	if q, ok := r.Fallback(); ok {
		o, err = ask(q)
	}
	return o, own, err
}
