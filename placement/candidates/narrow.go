package candidates

// narrow finds the trees that may anchor a candidate: those that have, or are
// shared, every class, trait and aggregate that is wanted somewhere. It looks at
// indexes only, so that a tree it keeps need not have room.
func (p *plan) narrow() {
	slots := p.w.Slots()
	p.live = newBitset(slots)
	p.live.fill(slots)
	for _, id := range p.rootRequired {
		p.live.and(p.w.WithTrait(id))
	}
	part := newBitset(slots)
	anyOf := newBitset(slots)
	for i := range p.parts {
		p.home(i, part, anyOf)
		p.away(part, func(s *sharer) bool { return s.serves[i] })
		p.live.and(part)
	}
	for _, ids := range p.required {
		clear(anyOf)
		for _, id := range ids {
			anyOf.or(p.w.WithTrait(id))
		}
		p.away(anyOf, func(s *sharer) bool { return hasAny(s.provider, ids) })
		p.live.and(anyOf)
	}
}

// home sets the trees whose own providers may serve a part. anyOf is scratch.
func (p *plan) home(i int, out, anyOf bitset) {
	t := &p.parts[i]
	out.fill(p.w.Slots())
	if t.inTree >= 0 {
		clear(out)
		out.add(t.inTree)
	}
	for _, n := range t.needs {
		out.and(p.w.WithClass(n.class))
	}
	for _, ids := range t.required {
		clear(anyOf)
		for _, id := range ids {
			anyOf.or(p.w.WithTrait(id))
		}
		out.and(anyOf)
	}
	for _, ids := range t.memberOf {
		clear(anyOf)
		for _, id := range ids {
			anyOf.or(p.w.WithAggregate(id))
		}
		out.and(anyOf)
	}
}

// away adds the anchors of the sharing providers for which ok holds.
func (p *plan) away(out bitset, ok func(*sharer) bool) {
	for i := range p.sharers {
		if s := &p.sharers[i]; ok(s) {
			out.or(s.anchors)
		}
	}
}
