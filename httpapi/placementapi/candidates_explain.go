package placementapi

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/explain"
	"github.com/berthcloud/berth/placement/snapshot"
)

// An Explainer logs which constraint left an answer without candidates. It works concurrently with
// the requests, since an explanation looks at every provider, and on one answer at a time: up to
// five a second, for at most a second each, and a twentieth of one processor's time in total. While
// it is busy, a few answers wait; further ones stay unexplained and are counted.
type Explainer struct {
	log     *slog.Logger
	observe func(candidates.Constraint)
	waiting chan emptyAnswer
	left    atomic.Int64 // answers without an explanation since the last line
}

// An emptyAnswer is an answer without candidates, with the snapshot that it was computed from.
type emptyAnswer struct {
	ctx      context.Context // of the request, but without its end
	snapshot *snapshot.Snapshot
	query    placement.Query
}

const (
	explainQueue = 8                      // answers that may wait
	explainPause = 200 * time.Millisecond // the least pause after an explanation
	explainShare = 20                     // one part of so many is spent on explanations
	explainLimit = time.Second            // for one explanation
	maxReason    = 1 << 10                // bytes of a reason in the log
)

// NewExplainer returns an Explainer that logs to log. It calls observe once for every answer
// without candidates, with the constraint that left none, or candidates.UnknownConstraint for an
// answer that is not explained. observe may be called from several goroutines.
func NewExplainer(log *slog.Logger, observe func(candidates.Constraint)) *Explainer {
	return &Explainer{log: log, observe: observe, waiting: make(chan emptyAnswer, explainQueue)}
}

// Run explains answers until ctx ends. Without it answers are only counted.
func (e *Explainer) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-e.waiting:
			begin := time.Now()
			e.explain(ctx, a)
			pause := time.NewTimer(max(explainPause, (explainShare-1)*time.Since(begin)))
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
			pause.Stop()
		}
	}
}

// add queues an answer for explanation, unless too many wait. It does not block, and a nil
// Explainer does nothing.
func (e *Explainer) add(ctx context.Context, s *snapshot.Snapshot, q placement.Query) {
	if e == nil {
		return
	}
	select {
	case e.waiting <- emptyAnswer{context.WithoutCancel(ctx), s, q}:
	default:
		e.left.Add(1)
		e.observe(candidates.UnknownConstraint)
	}
}

// explain logs and counts the reason for one answer. An explanation that fails or takes longer than
// explainLimit is logged as an error and counted as unknown.
func (e *Explainer) explain(ctx context.Context, a emptyAnswer) {
	ctx, cancel := context.WithTimeout(ctx, explainLimit)
	defer cancel()
	why, err := explain.Count(ctx, a.snapshot, a.query)
	if err != nil { // the search had none
		e.log.ErrorContext(a.ctx, "an answer without candidates cannot be explained", "error", err)
		e.observe(candidates.UnknownConstraint)
		return
	}
	e.observe(why.Constraint)
	reason := why.Reason()
	attrs := []any{"constraint", string(why.Constraint), "reason", reason[:min(len(reason), maxReason)]}
	if n := e.left.Swap(0); n > 0 {
		attrs = append(attrs, "unexplained", n)
	}
	e.log.InfoContext(a.ctx, "no allocation candidates", attrs...)
}
