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
// whether enough is left for as many pieces and in sum. It never says no when
// there is a way.
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

// matchClass looks for providers with enough of one class left.
func (c *combiner) matchClass(class int) bool {
	m := &c.match
	m.start(c.locals())
	var least, sum int64
	for d := c.depth; d < len(c.domains); d++ {
		if amount := c.wants(d, class); amount > 0 {
			m.who = append(m.who, d)
			sum += amount
			if least == 0 || amount < least {
				least = amount
			}
		}
	}
	if len(m.who) == 0 {
		return true
	}
	for _, d := range m.who {
		for _, o := range c.options[c.domains[d].from:c.domains[d].to] {
			left := c.left[int(o.local)*c.contested+class]
			if left >= least && m.room[o.local] == 0 {
				m.room[o.local] = int32(min(left/least, int64(len(m.who))))
				sum -= left
			}
		}
	}
	return sum <= 0 && c.matchAll()
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
	for _, o := range c.options[d.from:d.to] {
		if m.visited[o.local] || !c.affords(t, o.local) {
			continue
		}
		m.visited[o.local] = true
		if m.room[o.local] > 0 {
			m.room[o.local]--
			m.assign[i] = o.local
			return true
		}
		for j, at := range m.assign {
			if at == o.local && c.augment(j) {
				m.assign[i] = o.local
				return true
			}
		}
	}
	return false
}
