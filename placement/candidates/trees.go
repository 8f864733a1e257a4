package candidates

import (
	"math/bits"
	"slices"
)

// narrow finds the trees that may anchor a candidate: those that have, or are
// shared, every class, trait and aggregate that is wanted somewhere. What they
// have free capacity for is left to the scan of the trees, but for queries that sharing
// providers could serve.
func (q *compiledQuery) narrow() {
	q.candidateTrees = newBitset(q.snapshot.IndexLimit())
	q.candidateTrees.fill(q.snapshot.IndexLimit())
	for _, id := range q.rootRequired {
		q.candidateTrees.and(q.snapshot.WithTrait(id))
	}
	if len(q.sharingProviders) == 0 {
		q.narrowAlone()
	} else {
		q.narrowShared()
	}
}

// narrowAlone is for queries that no sharing provider could serve.
func (q *compiledQuery) narrowAlone() {
	for i := range q.requests {
		q.keepOwn(i, q.candidateTrees)
	}
	for _, ids := range q.required {
		keepAny(q.candidateTrees, ids, q.snapshot.WithTrait)
	}
	// What the scan looks up in the capacity indexes: the most that one request wants of each class.
	q.largest = make([]largestAmount, len(q.classes))
	for i, class := range q.classes {
		q.largest[i].free = q.snapshot.FreeCapacity(class)
	}
	for i := range q.requests {
		for _, n := range q.requests[i].needs {
			at, _ := slices.BinarySearch(q.classes, n.class)
			q.largest[at].amount = max(q.largest[at].amount, n.amount)
		}
	}
}

// narrowShared adds, for each request, the anchors of the sharing providers that could serve
// it to the trees that could serve it themselves.
func (q *compiledQuery) narrowShared() {
	trees := q.snapshot.IndexLimit()
	set := newBitset(trees)
	for i := range q.requests {
		set.fill(trees)
		q.keepOwn(i, set)
		for _, n := range q.requests[i].needs {
			free := q.snapshot.FreeCapacity(n.class)
			for at := range set {
				set[at] = free.Word(at, set[at], n.amount)
			}
		}
		q.addAnchors(set, func(s *sharingProvider) bool { return s.serves[i] })
		q.candidateTrees.and(set)
	}
	for _, ids := range q.required {
		set.fill(trees)
		keepAny(set, ids, q.snapshot.WithTrait)
		q.addAnchors(set, func(s *sharingProvider) bool { return hasAny(s.provider, ids) })
		q.candidateTrees.and(set)
	}
}

// keepOwn keeps those trees in set whose own providers may serve a request.
func (q *compiledQuery) keepOwn(i int, set bitset) {
	r := &q.requests[i]
	if r.inTree >= 0 {
		had := set.has(r.inTree)
		clear(set)
		if had {
			set.add(r.inTree)
		}
	}
	for _, n := range r.needs {
		set.and(q.snapshot.WithClass(n.class))
	}
	for _, ids := range r.required {
		keepAny(set, ids, q.snapshot.WithTrait)
	}
	for _, ids := range r.memberOf {
		keepAny(set, ids, q.snapshot.WithAggregate)
	}
}

// keepAny keeps those trees in set that are with any of the ids.
func keepAny[K any](set bitset, ids []K, with func(K) []uint64) {
	if len(ids) == 1 {
		set.and(with(ids[0]))
		return
	}
	union := make(bitset, len(set))
	for _, id := range ids {
		union.or(with(id))
	}
	set.and(union)
}

// addAnchors adds the anchors of the sharing providers for which ok holds.
func (q *compiledQuery) addAnchors(set bitset, ok func(*sharingProvider) bool) {
	for i := range q.sharingProviders {
		if s := &q.sharingProviders[i]; ok(s) {
			set.or(s.anchors)
		}
	}
}

// A scan goes through the trees that may anchor a candidate. It looks at their
// free capacity a word at a time, so that a search that ends early has not looked at all.
type scan struct {
	*compiledQuery
	at   int    // the word that comes next
	word uint64 // what is left of the one before
}

// next returns the index of the next tree, -1 when there is none.
func (s *scan) next() int {
	for s.word == 0 {
		if s.at == len(s.candidateTrees) {
			return -1
		}
		if s.candidateTrees[s.at] != 0 {
			s.word = s.candidateTrees[s.at]
			for i := range s.largest {
				l := &s.largest[i]
				s.word = l.free.Word(s.at, s.word, l.amount)
			}
		}
		s.at++
	}
	index := (s.at-1)<<6 + bits.TrailingZeros64(s.word)
	s.word &= s.word - 1
	return index
}
