package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/exporter"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// A PlacementServer is a running placement service: its database is open and its listeners accept
// connections.
type PlacementServer struct {
	Server
	cfg     *config.Placement
	service *service.Service
}

func placementPolicy() policySource { return policySource{defaults: placementapi.PolicyDefaults()} }

// StartPlacement opens the database and the listeners, and reads the snapshot. The error is a
// [Failure], and everything that was opened is closed.
func StartPlacement(
	ctx context.Context, p Process, cfg *config.Placement, log *slog.Logger, d Dependencies,
) (s *PlacementServer, err error) {
	s = &PlacementServer{cfg: cfg}
	s.Server = newServer(cfg, log, d, serviceOptions{
		service: "placement", trial: "the database is the embedded one", strategy: cfg.API.AuthStrategy,
		policy: placementPolicy(), kind: PlacementDatabase, database: &cfg.Database,
		status: s.status, probe: s.alive,
	})
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	metrics := newPlacementMetrics(s.metrics)
	opts, err := s.begin(ctx, p)
	if err != nil {
		return s, err
	}
	opts.Empty = d.Empty
	if err := s.read(ctx, opts, metrics); err != nil {
		return s, err
	}
	s.wire(metrics, s.withConsole(d))
	return s, nil
}

// read opens the database and reads the snapshot.
func (s *PlacementServer) read(ctx context.Context, opts sqlstore.Options, m *placementMetrics) error {
	begin := time.Now()
	opts.Progress = s.reading()
	store, err := sqlstore.Open(ctx, opts)
	if err != nil {
		return databaseFailure(err)
	}
	s.closeAtEnd(store)
	s.progress("reading the database, after adding the standard names that it lacks")
	s.service, err = service.New(ctx, store, s.settings(m))
	if err != nil {
		return Fail(DatabaseUnusable, err)
	}
	s.atEnd(Background(func(ctx context.Context) {
		reconcileEvery(ctx, s.service, s.cfg.ReconcileInterval, m.sharing, s.log)
	}))
	snap, _ := s.service.Ready() // whether it is current is for requests to find out
	s.log.Info("the database is read into memory", "providers", snap.Len(), "trees", snap.TreeCount(),
		"seconds", time.Since(begin).Seconds())
	return nil
}

// settings converts the settings for the service. A refresh that fails after a commit is counted
// and logged only: the write has succeeded, and its client has the answer.
func (s *PlacementServer) settings(m *placementMetrics) service.Settings {
	set := service.DefaultSettings()
	set.IncompleteProject = s.cfg.Placement.IncompleteConsumerProjectID
	set.IncompleteUser = s.cfg.Placement.IncompleteConsumerUserID
	set.ConflictRetries = s.cfg.Placement.AllocationConflictRetryCount
	set.Observe = m.claim
	set.Cause = causeOf
	set.ObserveOthers = m.sharing.followed
	set.RefreshFailed = func(err error) {
		m.refreshFailed.Inc()
		s.log.Warn("the snapshot could not be brought up to date; requests that need it are answered with 503 until it can",
			"error", err.Error())
	}
	return set
}

// causeOf returns the request that a context belongs to, for the change log.
func causeOf(ctx context.Context) placement.Cause {
	o, _ := ctx.Value(logging.Key{}).(*logging.Origin)
	if o == nil {
		return placement.Cause{}
	}
	return placement.Cause{
		RequestID: o.RequestID, GlobalID: o.GlobalID, User: o.User, Project: o.Project, Operation: httpapi.Operation(ctx),
	}
}

// wire assembles the handlers and opens the API, with the console in front.
func (s *PlacementServer) wire(m *placementMetrics, front func(http.Handler) http.Handler) {
	api := &placementapi.API{
		Placement:  s.service,
		Policy:     s.rules,
		Now:        time.Now,
		Candidates: candidateSettings(s.cfg),
		Searched:   m.searched,
		Explainer:  placementapi.NewExplainer(s.log, m.foundNone),
		Streams: placementapi.StreamSettings{
			Max: s.cfg.MaxEventStreams, PerProject: s.cfg.MaxEventStreamsPerProject, Changed: m.streams,
		},
	}
	m.watch(s.service, s.ready)
	s.atEnd(Background(api.Explainer.Run), Background(api.Prepare))
	s.cloud = exporter.Direct(s.service.Snapshot)
	s.open(httpapi.Config{
		Service:       "placement",
		History:       microversion.Placement,
		Routes:        api.Routes(),
		CodeSince:     23,
		UndefinedCode: placement.CodeUndefined,
	}, front, s.ready)
}

// ready reports whether requests can be answered correctly.
func (s *PlacementServer) ready() (bool, string) {
	snap, err := s.service.Ready()
	if err == nil {
		err = s.writable()
	}
	if err != nil {
		return false, err.Error()
	}
	return true, fmt.Sprintf("ok, %d providers", snap.Len())
}

// candidateSettings converts the settings for the API. Upstream compares the number of candidates
// with its bound after it has added one, so that 0 means 1; below is no bound.
func candidateSettings(cfg *config.Placement) placementapi.CandidateSettings {
	bound := max(1, cfg.Placement.MaxAllocationCandidates)
	if cfg.Placement.MaxAllocationCandidates < 0 {
		bound = 0
	}
	c := placementapi.CandidateSettings{
		Max:          bound,
		BreadthFirst: cfg.Placement.AllocationCandidatesGenerationStrategy == config.BreadthFirst,
	}
	if cfg.Placement.RandomizeAllocationCandidates {
		c.Seed = rand.Uint64
	}
	return c
}

// status returns the text for systemd.
func (s *PlacementServer) status() string {
	snap, _ := s.service.Ready() // an old snapshot counts too
	return fmt.Sprintf("%d providers", snap.Len())
}

// alive returns once a read has acquired everything that it may wait for, or the database is
// unavailable. It does not return while the service hangs, which the watchdog detects.
func (s *PlacementServer) alive(ctx context.Context) error {
	_, err := s.service.Snapshot(ctx)
	return err
}

// ServePlacement runs the service until ctx ends, with the settings that read returns. A reload
// calls read again. The error is a [Failure].
func ServePlacement(ctx context.Context, p Process, read func() (*config.Placement, []string, error)) error {
	return serve(ctx, p, PlacementLog, read, func(cfg *config.Placement, log *slog.Logger) (*Server, error) {
		s, err := StartPlacement(ctx, p, cfg, log, Dependencies{})
		return &s.Server, err
	})
}
