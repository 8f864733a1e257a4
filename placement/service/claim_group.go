package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// How claims are written: those that wait together in one transaction of the store, as
// decision 27 describes.

// errConcurrentMembers says that a request is refused for what others of its transaction take, and
// not without them. On a shared store another service may free as much before these are
// committed, and then there is no moment at which the refusal is true: the request is
// decided in the next transaction.
var errConcurrentMembers = errors.New("placement: refused for what is not committed")

// writeTogether has a request written with those that wait when it does. When it returns,
// the snapshot has what became of it, or is sure to have it before it is answered from:
// also a refusal waits, since it may rest on a write that the snapshot does not show. The loop has
// no limit of its own: the store refuses a request that it cannot write within its time, and a
// context that ended is an error of claims.
func (s *Service) writeTogether(ctx context.Context, r *claimRequest) error {
	write := s.claims
	if !r.plain() {
		write = s.writeSingle
	}
	err := write(ctx, s.settings.Now(), r)
	for errors.Is(err, errConcurrentMembers) { // until it is decided, or ctx ends
		err = write(ctx, s.settings.Now(), r)
	}
	switch {
	case !s.store.Shared():
		s.publisher.publish(ctx, placement.Changes{})
	case errors.Is(err, placement.ErrStale), s.publisher.backlog.Swap(false):
		s.publisher.report(s.publisher.follow(ctx))
	}
	return err
}

// plain reports whether every database can have the texts of a request. A statement with one that
// the database cannot have fails as a whole, and with it all requests of its transaction.
func (r *claimRequest) plain() bool {
	ascii := func(text string) bool {
		return !strings.ContainsFunc(text, func(c rune) bool { return c == 0 || c > unicode.MaxASCII })
	}
	return !slices.ContainsFunc(r.claims, func(c placement.Claim) bool {
		return !ascii(c.Project) || !ascii(c.User) || !ascii(c.Type) || !ascii(string(c.Consumer))
	})
}

// writeSingle writes one request behind a savepoint of its own.
func (s *Service) writeSingle(ctx context.Context, now time.Time, r *claimRequest) error {
	return s.store.Update(ctx, now, func(w placement.Writer) error {
		return s.writeClaims(w, []*claimRequest{r})[0]
	})
}

// writeClaims decides and writes requests in one transaction. Those
// about one consumer are written one after the other, in their order. It runs on the writing
// goroutine of the store, which is why unpublished needs no lock. A transaction may be run again:
// nothing is kept from one run to the next but by OnCommit.
func (s *Service) writeClaims(writer placement.Writer, requests []*claimRequest) []error {
	outcome := make([]error, len(requests))
	unpublished := s.publisher.unpublished
	for rest := newClaimGroup(requests, outcome); rest != nil; {
		g, others := rest.distinct()
		replacements, err := s.writeGroup(writer, g, unpublished)
		if err != nil {
			for i := range outcome {
				outcome[i] = err
			}
			return outcome
		}
		if rest = others; rest == nil {
			break
		}
		// What the first requests made of the trees is what the next ones start from, in this
		// transaction only: the publisher's trees change when it is durable.
		unpublished = maps.Clone(unpublished)
		for _, r := range replacements {
			unpublished[r.From] = r.To
		}
	}
	return outcome
}

// writeGroup decides and writes requests about different consumers: first on the snapshot,
// and when that refuses any of them, which it may for being old, all of them on rows. It
// returns what becomes of the trees, or why the transaction must be rolled back.
func (s *Service) writeGroup(
	writer placement.Writer, g *claimGroup, unpublished map[*snapshot.Tree]*snapshot.Tree,
) ([]snapshot.Replacement, error) {
	state := newClaimState(s.publisher.current.Load())
	state.unpublished = unpublished
	decided := false
	if !g.needRows(state.snapshot, s.store.Shared()) {
		var err error
		if decided, err = g.decide(writer, state); err != nil {
			return nil, err
		}
	}
	if !decided {
		var err error
		if state, err = s.stateOfRows(writer, g); err != nil {
			return nil, err
		}
		for i, r := range g.all {
			err := state.decide(r, g.consumers[i])
			if err != nil && s.store.Shared() && !g.refusedAlone(i, state) {
				err = errConcurrentMembers
			}
			*g.outcome[i] = err
		}
	}
	if state.empty() {
		return nil, nil
	}
	if err := writer.WriteClaims(state.rows); err != nil {
		return nil, err
	}
	replacements := state.replacements(writer.Stamp())
	s.publishLater(writer, replacements, state.requests)
	return replacements, nil
}

// publishLater has the snapshot follow what a transaction makes of trees, once that is durable.
func (s *Service) publishLater(
	writer placement.Writer, replacements []snapshot.Replacement, requests []placement.RequestEvents,
) {
	var changes placement.Changes
	for _, r := range replacements {
		changes.TreeChanges = append(changes.TreeChanges, r)
	}
	noted := changes
	noted.Requests = requests
	writer.Changed(noted)
	writer.OnCommit(func() { s.publisher.committed(changes, replacements) })
}

// A claimGroup is requests of one transaction. The three lists have one element for each request,
// in the order of arrival.
type claimGroup struct {
	all       []*claimRequest
	outcome   []*error                    // by request
	consumers [][]placement.ConsumerState // by request and claim
	follows   bool                        // others of the transaction were written before
}

// newClaimGroup makes a group of all requests of a transaction. Its members write their results
// into the elements of outcome.
func newClaimGroup(requests []*claimRequest, outcome []error) *claimGroup {
	g := new(claimGroup)
	for i, r := range requests {
		g.add(r, &outcome[i])
	}
	return g
}

func (g *claimGroup) add(r *claimRequest, outcome *error) {
	g.all, g.outcome = append(g.all, r), append(g.outcome, outcome)
}

// distinct splits off the requests about consumers of earlier requests; others is nil when
// there are none. Two claims of one consumer cannot be decided side by side: the second one must
// see the generation that the first one leaves. Splitting keeps their order.
func (g *claimGroup) distinct() (first, others *claimGroup) {
	first = &claimGroup{follows: g.follows}
	about := make(map[placement.UUID]bool)
	for i, r := range g.all {
		to := first
		if slices.ContainsFunc(r.claims, func(c placement.Claim) bool { return about[c.Consumer] }) {
			if others == nil {
				others = &claimGroup{follows: true}
			}
			to = others
		}
		to.add(r, g.outcome[i])
		for _, c := range r.claims {
			about[c.Consumer] = true
		}
	}
	return first, others
}

// refusedAlone reports whether a request that a state of rows refuses is refused whatever
// the requests before it take: for its consumer, or by what was read before they were decided.
// Requests that follow others of the same transaction are never refused alone, since what was read
// is what the others wrote.
func (g *claimGroup) refusedAlone(at int, state *claimState) bool {
	committed := newClaimState(state.snapshot)
	committed.classes = state.classes
	return !g.follows && committed.decide(g.all[at], g.consumers[at]) != nil
}

// needRows reports whether the snapshot cannot be used: an earlier attempt was stale, or
// a class may have another id or none by now, which only a shared store's others change.
func (g *claimGroup) needRows(snap *snapshot.Snapshot, shared bool) bool {
	return slices.ContainsFunc(g.all, func(r *claimRequest) bool {
		return r.rows || shared && unsureClasses(snap, r.claims)
	})
}

// unsureClasses reports whether claims name a class that is not one of the standard ones. Standard
// classes have the same id everywhere and are never deleted.
func unsureClasses(snap *snapshot.Snapshot, claims []placement.Claim) bool {
	for _, c := range claims {
		for _, a := range c.Allocations {
			for _, r := range a.Resources {
				if id, ok := snap.Class(r.Class); !ok || id >= placement.FirstCustomClass {
					return true
				}
			}
		}
	}
	return false
}

// decide decides all requests on the snapshot. It reports false when that refuses any, but
// for what was read of its consumers: then nothing is decided. A refusal by the snapshot is not
// final, since it may lack what was released meanwhile; an acceptance is checked again by the
// generations that WriteClaims compares.
func (g *claimGroup) decide(writer placement.Writer, state *claimState) (bool, error) {
	if err := g.readConsumers(writer, func(c placement.Claim) bool { return c.Seen == nil || c.Seen.Exists }); err != nil {
		return false, err
	}
	for i, r := range g.all {
		if slices.ContainsFunc(g.consumers[i], func(c placement.ConsumerState) bool { return c.Spelled }) {
			return false, nil
		}
		err := state.decide(r, g.consumers[i])
		if err != nil && !ofConsumer(err) {
			return false, nil
		}
		*g.outcome[i] = err
	}
	return true, nil
}

// ofConsumer reports whether a request is refused for what its consumer is. These were read from
// the store in this transaction, so that reading rows would refuse them as well.
func ofConsumer(err error) bool {
	kind, code := fault.Of(err)
	return kind == fault.NotFound || kind == fault.Conflict && code == placement.CodeConcurrentUpdate
}

// readConsumers reads the consumers of all claims that are read, in one round trip.
// The others are taken not to exist: when that is wrong it is found as they are written.
func (g *claimGroup) readConsumers(writer placement.Writer, queries func(placement.Claim) bool) error {
	var expected []placement.ConsumerRow
	var found []*placement.ConsumerState
	g.consumers = make([][]placement.ConsumerState, len(g.all))
	for i, r := range g.all {
		g.consumers[i] = make([]placement.ConsumerState, len(r.claims))
		for j, c := range r.claims {
			g.consumers[i][j].UUID = c.Consumer
			if queries(c) {
				expected = append(expected, placement.ConsumerRow{UUID: c.Consumer, Project: c.Project, User: c.User, Type: c.Type})
				found = append(found, &g.consumers[i][j])
			}
		}
	}
	if len(expected) == 0 {
		return nil
	}
	known, err := writer.ConsumerStates(expected)
	for i, k := range known {
		*found[i] = k
	}
	return err
}

// stateOfRows reads the consumers of all requests of a group, and the trees of their
// providers, which it locks. Consumers are read without locks: WriteClaims compares their
// generations.
func (s *Service) stateOfRows(writer placement.Writer, g *claimGroup) (*claimState, error) {
	if err := g.readConsumers(writer, func(placement.Claim) bool { return true }); err != nil {
		return nil, err
	}
	var claims []placement.Claim
	var consumers []placement.ConsumerState
	for i, r := range g.all {
		for j := range r.claims {
			who := &g.consumers[i][j]
			// The allocations of a consumer that has no row are of a release before
			// consumers were kept, and looked for when a claim failed.
			if who.Spelled || who.ID == 0 && r.rows {
				if err := readConsumer(writer, who); err != nil {
					return nil, err
				}
			}
		}
		consumers = append(consumers, g.consumers[i]...)
		claims = append(claims, r.claims...)
	}
	return s.readState(writer, claims, consumers)
}

// readConsumer reads a consumer alone: of any spelling that the store takes for the same,
// and with allocations that it has without a row of its own.
func readConsumer(writer placement.Writer, who *placement.ConsumerState) error {
	row, err := writer.Consumer(who.UUID)
	if err != nil && !errors.Is(err, placement.ErrNoRow) {
		return err
	}
	*who = placement.ConsumerState{ID: row.ID, UUID: who.UUID, Generation: row.Generation}
	allocated, err := writer.AllocationsOf(who.UUID)
	for _, a := range allocated.Allocations {
		who.Allocations = append(who.Allocations, placement.AllocatedAmount{
			Provider: a.Provider, ProviderUUID: a.ProviderUUID, Class: a.Class, Used: a.Used,
		})
	}
	return err
}

// readState locks and reads the trees of the providers that claims name or free. The result is a
// snapshot of these trees alone, whose providers are locked until the transaction ends. A provider
// that does not exist is not in it; the rules refuse the claim then.
func (s *Service) readState(
	writer placement.Writer, claims []placement.Claim, consumers []placement.ConsumerState,
) (*claimState, error) {
	var uuids []placement.UUID
	for _, who := range consumers {
		for _, h := range who.Allocations {
			if h.ProviderUUID != "" {
				uuids = append(uuids, h.ProviderUUID)
			}
		}
	}
	for _, c := range claims {
		for _, a := range c.Allocations {
			uuids = append(uuids, a.Provider)
		}
	}
	rows, err := writer.LockProviders(uuids...)
	if err != nil {
		return nil, err
	}
	roots := make([]int64, 0, len(rows)) // nil would be all
	for _, p := range rows {
		roots = append(roots, p.Root)
	}
	slices.Sort(roots)
	roots = slices.Compact(roots)
	trees, err := writer.TreeRows(roots)
	if err != nil {
		return nil, err
	}
	now := s.publisher.current.Load()
	state := newClaimState(now.Only(roots, trees))
	if unsureClasses(now, claims) {
		state.classes, err = (&tx{Writer: writer}).classIDs()
	}
	return state, err
}
