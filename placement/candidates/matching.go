package candidates

// A matching decides whether the requests that have no provider yet could have one each. It is made
// for one assignment, whose memory it reads, and keeps its own for the next question.
type matching struct {
	*constraints
	assigned []int32 // the assignment's
	depth    int     // of the first domain without a provider

	spare   []int32 // how many more requests each provider can take
	visited []bool
	depths  []int   // of the domains to match
	mate    []int32 // the provider of each
}

// possible reports whether the domains from depth on could have a provider each, as far as it
// can be seen without trying: with isolation, whether the suffixed groups can have different
// providers; and for each common class, whether enough is left for as many requests and in sum;
// in both cases within the subtrees of what is assigned. It never says no when there is a way.
func (m *matching) possible(c *constraints, assigned []int32, depth int) bool {
	m.constraints, m.assigned, m.depth = c, assigned, depth
	if depth == len(m.domains) {
		return true
	}
	if m.requested.Isolate {
		m.start()
		for depth := m.depth; depth < len(m.domains); depth++ {
			if m.requests[m.domains[depth].request].granular {
				m.depths = append(m.depths, depth)
			}
		}
		for number := range m.spare {
			if !m.taken[number] {
				m.spare[number] = 1
			}
		}
		if !m.matchAll() {
			return false
		}
	}
	for class := range m.commonClasses {
		if !m.matchClass(class) {
			return false
		}
	}
	return true
}

// matchClass looks for providers for the requests that want a class.
func (m *matching) matchClass(class int) bool {
	m.start()
	var sum int64
	for depth := m.depth; depth < len(m.domains); depth++ {
		if amount := m.wants(depth, class); amount > 0 {
			m.depths = append(m.depths, depth)
			sum += amount
		}
	}
	m.countSpare()
	for number, spare := range m.spare {
		if spare > 0 {
			sum -= m.remaining[number*m.commonClasses+class]
		}
	}
	return sum <= 0 && m.matchAll()
}

// countSpare works out how many of the requests to match each provider could take at most: of every
// class that they all want, what is left divided by the least that one of them wants.
func (m *matching) countSpare() {
	for _, depth := range m.depths {
		d := m.domains[depth]
		for _, number := range m.providers[d.from:d.to] {
			m.spare[number] = int32(len(m.depths))
		}
	}
	for class := range m.commonClasses {
		var least int64
		for i, depth := range m.depths {
			if amount := m.wants(depth, class); i == 0 || amount < least {
				least = amount
			}
		}
		if least == 0 {
			continue
		}
		for number, spare := range m.spare {
			if spare > 0 {
				m.spare[number] = int32(min(int64(spare), m.remaining[number*m.commonClasses+class]/least))
			}
		}
	}
}

// wants returns how much of a common class the request of a domain needs.
func (m *matching) wants(depth, class int) int64 {
	for _, n := range m.requests[m.domains[depth].request].common {
		if n.common == class {
			return n.amount
		}
	}
	return 0
}

// start clears the matching.
func (m *matching) start() {
	m.spare = resize(m.spare, m.count())
	clear(m.spare)
	m.depths = m.depths[:0]
}

// matchAll matches each domain with one of its options that may be given to its request, no
// provider with more than it can take. The matching grows by augmenting paths (Kuhn's algorithm),
// where what a provider can take stands for as many copies of it.
func (m *matching) matchAll() bool {
	m.mate = resize(m.mate, len(m.depths))
	for i := range m.mate {
		m.mate[i] = -1
	}
	m.visited = resize(m.visited, len(m.spare))
	for i := range m.depths {
		if m.stopped() {
			return true // whatever follows ends
		}
		clear(m.visited)
		if !m.augment(i) {
			return false
		}
	}
	return true
}

// augment finds a provider for one domain, moving others if it must.
func (m *matching) augment(i int) bool {
	d := m.domains[m.depths[i]]
	r := &m.requests[d.request]
	for _, number := range m.providers[d.from:d.to] {
		if m.visited[number] || !m.affords(r, number) {
			continue
		}
		if r.granular && len(m.sameSubtrees) > 0 &&
			!m.subtrees.possible(&m.treeOptions, m.assigned, m.depth, m.depth, d.request, number) {
			continue
		}
		m.visited[number] = true
		if m.spare[number] > 0 {
			m.spare[number]--
			m.mate[i] = number
			return true
		}
		for j, other := range m.mate {
			if other == number && m.augment(j) {
				m.mate[i] = number
				return true
			}
		}
	}
	return false
}
