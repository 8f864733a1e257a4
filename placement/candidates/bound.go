package candidates

// A matcher holds the memory of the matchings.
type matcher struct {
	room    []int32 // how many more parts each local provider can take
	visited []bool
	who     []int // depths of the parts to match
	assign  []int32
}

// matchable reports whether the parts that have no provider yet could have one
// each, as far as it can be told without trying: with isolation, whether the
// suffixed ones can have different providers; and for each contested class,
// whether enough is left for as many pieces and in sum; in both cases within the
// subtrees of what is picked. It never says no when there is a way.
func (c *combiner) matchable() bool {
	if c.depth == len(c.domains) {
		return true
	}
	if c.isolate() && !c.matchIsolated() {
		return false
	}
	for class := range c.contested {
		if !c.matchClass(class) {
			return false
		}
	}
	return true
}

// matchIsolated looks for different providers for the suffixed groups.
func (c *combiner) matchIsolated() bool {
	m := &c.match
	m.start(c.locals())
	for d := c.depth; d < len(c.domains); d++ {
		if c.parts[c.domains[d].part].granular {
			m.who = append(m.who, d)
		}
	}
	for local := range m.room {
		m.room[local] = 1
		if c.taken[local] {
			m.room[local] = 0
		}
	}
	return c.matchAll()
}

// matchClass looks for providers for the parts that want a class.
func (c *combiner) matchClass(class int) bool {
	m := &c.match
	m.start(c.locals())
	var sum int64
	for d := c.depth; d < len(c.domains); d++ {
		if amount := c.wants(d, class); amount > 0 {
			m.who = append(m.who, d)
			sum += amount
		}
	}
	c.makeRoom()
	for local, room := range m.room {
		if room > 0 {
			sum -= c.left[local*c.contested+class]
		}
	}
	return sum <= 0 && c.matchAll()
}

// makeRoom works out how many of the parts in who each provider could take at
// most: of every class that they all want, what is left divided by the least that
// one of them wants.
func (c *combiner) makeRoom() {
	m := &c.match
	for _, d := range m.who {
		for _, local := range c.options[c.domains[d].from:c.domains[d].to] {
			m.room[local] = int32(len(m.who))
		}
	}
	for class := range c.contested {
		least := c.least(class)
		if least == 0 {
			continue
		}
		for local, room := range m.room {
			if room > 0 {
				m.room[local] = int32(min(int64(room), c.left[local*c.contested+class]/least))
			}
		}
	}
}

// least returns the smallest amount of a class that a part in who wants, 0 when
// one wants none.
func (c *combiner) least(class int) int64 {
	var least int64
	for _, d := range c.match.who {
		amount := c.wants(d, class)
		if amount == 0 {
			return 0
		}
		if least == 0 || amount < least {
			least = amount
		}
	}
	return least
}

// related reports whether an option of a part without provider can be in the
// subtrees that the picks so far leave.
func (c *combiner) related(part int, local int32) bool {
	if len(c.subtrees) == 0 || !c.parts[part].granular {
		return true
	}
	c.picks[part] = local
	return c.rooted(part, c.depth)
}

// wants returns how much of a contested class the part at a depth needs.
func (c *combiner) wants(d, class int) int64 {
	for _, n := range c.parts[c.domains[d].part].needs {
		if n.contest == class {
			return n.amount
		}
	}
	return 0
}

// start clears the matcher for so many providers.
func (m *matcher) start(locals int) {
	m.room = resize(m.room, locals)
	clear(m.room)
	m.who = m.who[:0]
}

// matchAll matches each part in who with a provider in its domain that affords
// it, no provider with more parts than it has room for. It grows the matching
// by augmenting paths (Kuhn's algorithm), where the room of a provider stands
// for as many copies of it.
func (c *combiner) matchAll() bool {
	m := &c.match
	m.assign = resize(m.assign, len(m.who))
	for i := range m.assign {
		m.assign[i] = -1
	}
	m.visited = resize(m.visited, len(m.room))
	for i := range m.who {
		clear(m.visited)
		if !c.augment(i) {
			return false
		}
	}
	return true
}

// augment finds a provider for one part of who, moving others if it must.
func (c *combiner) augment(i int) bool {
	m := &c.match
	d := &c.domains[m.who[i]]
	t := &c.parts[d.part]
	for _, local := range c.options[d.from:d.to] {
		if m.visited[local] || !c.affords(t, local) || !c.related(d.part, local) {
			continue
		}
		m.visited[local] = true
		if m.room[local] > 0 {
			m.room[local]--
			m.assign[i] = local
			return true
		}
		for j, at := range m.assign {
			if at == local && c.augment(j) {
				m.assign[i] = local
				return true
			}
		}
	}
	return false
}
