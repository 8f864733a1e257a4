// Package routed syncs the segments of routed networks to placement and compute: each segment with
// IPv4 subnets is a provider with an inventory of its addresses, in a host aggregate of the hosts
// that reach it, by which compute chooses hosts for servers. It does what upstream's service plugin
// "segments" does. Which segments are due is noted by the transactions of the other parts
// (network.SegmentSyncRow); here both services are made what the rows of subnets, ports and agents
// say, so that a sync may be repeated.
//
// A sync of one segment takes these steps, each of which reads first what is there:
//
//	provider   with its inventory; removed when no IPv4 subnet has addresses to allocate
//	aggregate  found by its name, or created; hosts are added and removed
//	member     the provider is brought into the aggregate
//
// For a segment without addresses the aggregate is deleted after the provider is removed.
package routed

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// Placement is what the sync needs of the placement service.
type Placement interface {
	providertree.Placement
	// Join brings a provider into an aggregate, in which it may be already.
	Join(ctx context.Context, provider, aggregate placement.UUID) error
}

// A Service syncs segments. Its methods may be called concurrently, and several services may work
// on one database: a segment is synced by one of them at a time.
type Service struct {
	db        *network.Database
	placement Placement
	compute   network.Aggregates
	process   string // identifies the service among the workers on the database

	running  sync.Mutex         // of SyncSegments; guards what follows
	failures map[network.ID]int // how many syncs of a segment failed since the last that did not
	last     network.ID         // segment that was leased; those after it are next
}

// New returns the sync of the segments in a database. Without both services nothing is synced, and
// the rules of the database have no SyncSegments.
func New(db *network.Database, p Placement, c network.Aggregates) *Service {
	return &Service{
		db: db, placement: p, compute: c, process: string(network.NewID()), failures: map[network.ID]int{},
	}
}

// Interval is the interval at which RunSegments looks for segments that another worker has marked
// or has not finished, and for those whose sync is to be repeated.
const Interval = 10 * time.Second

const (
	// syncTime bounds the requests for a batch of segments. leaseTime is longer, so that all of them
	// have ended when another worker takes the segments.
	syncTime  = 2 * time.Minute
	leaseTime = 3 * time.Minute
	// firstRetryTime is the pause after a sync that failed: services are often back soon, after a
	// restart for example. retryTime is the pause after further failures and incomplete syncs.
	firstRetryTime = Interval
	retryTime      = time.Minute
	// batchSize is the number of segments for which compute's aggregates are read once.
	batchSize = 20
)

// RunSegments syncs segments until ctx ends: all at the start, and then those that are marked.
func (s *Service) RunSegments(ctx context.Context, tick <-chan time.Time) {
	if !s.db.Rules.SyncSegments {
		return
	}
	for started := false; ; {
		err := error(nil)
		if !started {
			err = s.MarkAllSegments(ctx)
			started = err == nil
		}
		if err == nil {
			err = s.SyncSegments(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.db.Rules.Log.ErrorContext(ctx, "the segments to sync cannot be read", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case <-s.db.SegmentsMarked():
		}
	}
}

// MarkAllSegments marks all segments that placement and compute have or should have.
func (s *Service) MarkAllSegments(ctx context.Context) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		syncs, err := network.Rows[network.SegmentSyncRow](tx)
		if err != nil {
			return err
		}
		subnets, err := network.Rows[network.SubnetRow](tx)
		if err != nil {
			return err
		}
		known := network.IDs(syncs, func(r *network.SegmentSyncRow) network.ID { return r.Segment })
		return errors.Join(tx.MarkSegments(known...), tx.MarkSubnets(subnets...))
	})
}

// SyncSegments syncs the segments that are due and that no other worker syncs. Failures of a sync
// are in the segment's row and in the log; the error is one of the database.
func (s *Service) SyncSegments(ctx context.Context) error {
	s.running.Lock()
	defer s.running.Unlock()
	for {
		batch, err := s.lease(ctx)
		if err != nil || len(batch) == 0 {
			return err
		}
		s.last = batch[len(batch)-1].Segment
		if err := s.syncBatch(ctx, batch); err != nil {
			return err
		}
	}
}

// UnsyncedSegments returns the number of segments with changes that placement and compute do not
// have yet.
func (s *Service) UnsyncedSegments(ctx context.Context) (n int, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		n = 0
		rows, err := network.Rows[network.SegmentSyncRow](r)
		for _, row := range rows {
			if row.Synced < row.Changes {
				n++
			}
		}
		return err
	})
	return n, err
}

// lease takes some of the segments that are due. It returns their rows.
func (s *Service) lease(ctx context.Context) (batch []network.SegmentSyncRow, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		batch, err = s.available(r, s.db.Rules.Now())
		return err
	})
	if err != nil || len(batch) == 0 {
		return nil, err
	}
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if batch, err = s.available(tx, tx.At); err != nil {
			return err
		}
		for i := range batch {
			row := &batch[i]
			row.Instance, row.Process, row.LeasedUntil = tx.Settings.Instance, s.process, tx.At.Add(leaseTime)
			if err := tx.Replace(row); err != nil {
				return err
			}
		}
		return nil
	})
	return batch, err
}

// available returns segments that are due and that no worker has a lease of: not one that has ended
// and that this one replaces, either. They follow the last segment that was leased, in a circle, so
// that segments that change all the time do not keep others waiting.
func (s *Service) available(r network.Reader, now time.Time) ([]network.SegmentSyncRow, error) {
	rows, err := network.Rows[network.SegmentSyncRow](r)
	rows = slices.DeleteFunc(rows, func(row network.SegmentSyncRow) bool {
		replaced := row.Instance != "" && row.Instance == s.db.Rules.Settings.Instance
		leased := row.Process != "" && row.Process != s.process && !replaced && now.Before(row.LeasedUntil)
		return leased || !row.Due(now)
	})
	slices.SortFunc(rows, func(a, b network.SegmentSyncRow) int { return cmp.Compare(a.Segment, b.Segment) })
	next := slices.IndexFunc(rows, func(row network.SegmentSyncRow) bool { return row.Segment > s.last })
	rows = slices.Concat(rows[max(next, 0):], rows[:max(next, 0)])
	return rows[:min(len(rows), batchSize)], err
}

// syncBatch syncs leased segments, and ends the leases. The aggregates are read after the leases
// were taken, and the hosts after the aggregates, so that what another worker did is seen.
func (s *Service) syncBatch(parent context.Context, batch []network.SegmentSyncRow) error {
	ctx, cancel := context.WithTimeout(parent, syncTime)
	defer cancel()
	aggregates, errCompute := s.compute.Aggregates(ctx)
	var hosts map[network.ID][]string
	err := s.db.View(ctx, func(r network.Reader) (err error) {
		hosts, err = hostsOf(r, s.db.Rules,
			network.IDs(batch, func(r *network.SegmentSyncRow) network.ID { return r.Segment }))
		return err
	})
	if err != nil {
		return err // the leases end by themselves
	}
	for _, row := range batch {
		job := syncJob{
			Service: s, segment: row.Segment, hosts: hosts[row.Segment], aggregates: aggregates, errCompute: errCompute,
		}
		outcome := job.run(ctx)
		if parent.Err() != nil {
			return s.release(parent, batch)
		}
		if err := s.finish(parent, row, outcome); err != nil {
			return err
		}
	}
	return nil
}

// An outcome is how the sync of a segment ended.
type outcome struct {
	err     error    // nil when all requests succeeded
	unknown []string // hosts that compute does not know
	removed bool     // neither service has anything of the segment
}

// finish records how a sync ended, and ends the lease. Changes since the lease was taken leave the
// segment due. The log has the second failure in a row, and the end of failures.
func (s *Service) finish(ctx context.Context, leased network.SegmentSyncRow, o outcome) error {
	text, pause := o.text(), retryTime
	failures := s.failures[leased.Segment]
	if delete(s.failures, leased.Segment); o.err != nil {
		s.failures[leased.Segment] = failures + 1
		if failures == 0 {
			pause = firstRetryTime
		}
	}
	err := s.db.Update(ctx, func(tx *network.Tx) error {
		row, err := network.One[network.SegmentSyncRow](tx, network.Where(network.BySegment, leased.Segment))
		switch {
		case err != nil && !errors.Is(err, network.ErrNoRow):
			return err
		case err != nil || row.Process != s.process:
			// Another worker has taken the segment. What this one did last may be older than what the
			// other one did.
			return tx.MarkSegments(leased.Segment)
		case o.removed && o.err == nil && row.Changes == leased.Changes:
			_, err := tx.Remove(&network.SegmentSyncRow{}, network.Where(network.BySegment, leased.Segment))
			return err
		}
		row.Instance, row.Process, row.LeasedUntil = "", "", time.Time{}
		row.Error, row.RetryAt = text, time.Time{}
		if text != "" {
			row.RetryAt = tx.At.Add(pause)
		}
		if o.err == nil {
			row.Synced = leased.Changes
		}
		return tx.Replace(&row)
	})
	if err != nil {
		return err
	}
	switch log := s.db.Rules.Log; {
	case o.err != nil && failures == 1:
		log.WarnContext(ctx, "a segment could not be synced to placement and compute; the sync is retried", "segment",
			leased.Segment, "error", text)
	case o.err != nil:
		log.DebugContext(ctx, "the sync of a segment failed", "segment", leased.Segment, "error", text)
	case text != "" && text != leased.Error:
		log.InfoContext(ctx, "compute does not know hosts of a segment; they are added to its aggregate later",
			"segment", leased.Segment, "hosts", o.unknown)
	case failures > 1:
		log.InfoContext(ctx, "a segment is synced to placement and compute again", "segment", leased.Segment)
	}
	return nil
}

// releaseTime bounds the end of leases when the service stops.
const releaseTime = 5 * time.Second

// release ends the leases of segments whose sync was interrupted.
func (s *Service) release(ctx context.Context, batch []network.SegmentSyncRow) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return s.db.Update(ctx, func(tx *network.Tx) error {
		ids := network.IDs(batch, func(r *network.SegmentSyncRow) network.ID { return r.Segment })
		rows, err := network.Rows[network.SegmentSyncRow](tx, network.Where(network.BySegment, ids...))
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Process != s.process {
				continue
			}
			row.Instance, row.Process, row.LeasedUntil = "", "", time.Time{}
			if err := tx.Replace(&row); err != nil {
				return err
			}
		}
		return nil
	})
}
