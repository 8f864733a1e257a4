package candidates

// narrow finds the trees that may anchor a candidate: those that have, or are
// shared, every class, trait and aggregate that is wanted somewhere. What they
// have room for is left to the scan of the trees, but for queries that sharing
// providers could serve.
func (p *plan) narrow() {
	p.live = newBitset(p.w.Slots())
	p.live.fill(p.w.Slots())
	for _, id := range p.rootRequired {
		p.live.and(p.w.WithTrait(id))
	}
	if len(p.sharers) == 0 {
		p.narrowAlone()
	} else {
		p.narrowShared()
	}
}

// narrowAlone is for queries that no sharing provider could serve.
func (p *plan) narrowAlone() {
	for i := range p.parts {
		p.home(i, p.live)
	}
	for _, ids := range p.required {
		keepAny(p.live, ids, p.w.WithTrait)
	}
	p.demand()
}

// narrowShared adds, for each part, the anchors of the sharers that could serve
// it to the trees that could serve it themselves.
func (p *plan) narrowShared() {
	slots := p.w.Slots()
	set := newBitset(slots)
	for i := range p.parts {
		set.fill(slots)
		p.home(i, set)
		p.keepRoomy(i, set)
		p.away(set, func(s *sharer) bool { return s.serves[i] })
		p.live.and(set)
	}
	for _, ids := range p.required {
		set.fill(slots)
		keepAny(set, ids, p.w.WithTrait)
		p.away(set, func(s *sharer) bool { return hasAny(s.provider, ids) })
		p.live.and(set)
	}
}

// home keeps those trees in set whose own providers may serve a part.
func (p *plan) home(i int, set bitset) {
	t := &p.parts[i]
	if t.inTree >= 0 {
		had := set.has(t.inTree)
		clear(set)
		if had {
			set.add(t.inTree)
		}
	}
	for _, n := range t.needs {
		set.and(p.w.WithClass(n.class))
	}
	for _, ids := range t.required {
		keepAny(set, ids, p.w.WithTrait)
	}
	for _, ids := range t.memberOf {
		keepAny(set, ids, p.w.WithAggregate)
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

// away adds the anchors of the sharing providers for which ok holds.
func (p *plan) away(set bitset, ok func(*sharer) bool) {
	for i := range p.sharers {
		if s := &p.sharers[i]; ok(s) {
			set.or(s.anchors)
		}
	}
}
