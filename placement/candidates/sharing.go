package candidates

// findSharingProviders lists the sharing providers that could serve.
func (q *compiledQuery) findSharingProviders() {
	sharing := bitset(q.snapshot.WithSharing())
	for index := sharing.from(0); index >= 0; index = sharing.from(index + 1) {
		t := q.snapshot.Tree(index)
		for _, p := range t.Providers {
			if !p.Shares {
				continue
			}
			serves := make([]bool, len(q.requests))
			useful := false
			for i := range q.requests {
				r := &q.requests[i]
				v, _ := r.mismatch(p, false)
				serves[i] = v == fits && r.mayUseSharing(index)
				useful = useful || serves[i]
			}
			if !useful {
				continue
			}
			s := sharingProvider{provider: p, tree: t, serves: serves, anchors: newBitset(q.snapshot.IndexLimit())}
			for _, id := range p.Aggregates {
				s.anchors.or(q.snapshot.WithAggregate(id))
			}
			q.sharingProviders = append(q.sharingProviders, s)
		}
	}
}
