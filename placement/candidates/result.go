package candidates

import (
	"iter"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Result is the answer to a query. It is safe for concurrent use, and may be
// ranged over more than once.
type Result struct {
	query *compiledQuery
	done  <-chan struct{} // nil: never
}

// Until returns the result with searches that end, with less than there is, when done is closed.
// Whether requests fit together can take longer than any client waits, in one tree even, so a
// search without a waiting client has to end. Who closes done knows that results are partial then.
func (r *Result) Until(done <-chan struct{}) *Result { return &Result{r.query, done} }

// unlimited returns the result with all its candidates, in the order of the
// walk.
func (r *Result) unlimited() *Result {
	q := *r.query
	q.requested.Limit, q.requested.Sample = 0, nil
	return &Result{&q, r.done}
}

// Groups returns the suffixes of the groups in the order of Mappings. It must
// not be changed.
func (r *Result) Groups() []string { return r.query.groups }

// Classes returns the resource classes that the query requests, sorted. It must
// not be changed, and is empty when the query names something that does not
// exist.
func (r *Result) Classes() []placement.ClassID { return r.query.classes }

// All yields the candidates. They are generated one by one, so that breaking
// off early saves the work for the rest; only a query with a Sample chooses all
// that it yields before it yields the first, and keeps as many as Limit allows.
func (r *Result) All() iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		if r.query.impossible {
			return
		}
		s := newSolver(r.query, r.done)
		defer s.free()
		if r.query.requested.Sample != nil {
			s.sample(yield)
		} else {
			s.inOrder(&scan{compiledQuery: r.query}, yield)
		}
	}
}

// In yields the candidates whose anchor is a tree of the snapshot, whatever the query's limits and
// its sample. All trees together have the candidates of All.
func (r *Result) In(t *snapshot.Tree) iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		if r.query.impossible || !r.query.candidateTrees.has(t.Index()) {
			return
		}
		s := newSolver(r.query, r.done)
		defer s.free()
		if !s.begin(t.Index()) {
			return
		}
		for s.assignment.next() {
			if !s.repeated() && !s.hidden() && !yield(s.candidate(&s.assignment)) {
				return
			}
		}
	}
}
