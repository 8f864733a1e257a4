package candidates

// A matching has the memory of the attempts to give the rest of the requests a provider each.
type matching struct {
	spare   []int32 // how many more requests each provider can take
	visited []bool
	depths  []int   // of the domains to match
	mate    []int32 // the provider of each
}

// matchable reports whether the requests that have no provider yet could have one each, as far as it
// can be told without trying: with isolation, whether the suffixed ones can have different
// providers; and for each common class, whether enough is left for as many pieces and in sum;
// in both cases within the subtrees of what is assigned. It never says no when there is a way.
func (a *assignment) matchable() bool {
	if a.depth == len(a.domains) {
		return true
	}
	if a.asked.Isolate && !a.matchIsolated() {
		return false
	}
	for class := range a.commonClasses {
		if !a.matchClass(class) {
			return false
		}
	}
	return true
}

// matchIsolated looks for different providers for the suffixed groups.
func (a *assignment) matchIsolated() bool {
	m := &a.match
	m.start(a.count())
	for depth := a.depth; depth < len(a.domains); depth++ {
		if a.requests[a.domains[depth].request].granular {
			m.depths = append(m.depths, depth)
		}
	}
	for number := range m.spare {
		if !a.taken[number] {
			m.spare[number] = 1
		}
	}
	return a.matchAll()
}

// matchClass looks for providers for the requests that want a class.
func (a *assignment) matchClass(class int) bool {
	m := &a.match
	m.start(a.count())
	var sum int64
	for depth := a.depth; depth < len(a.domains); depth++ {
		if amount := a.wants(depth, class); amount > 0 {
			m.depths = append(m.depths, depth)
			sum += amount
		}
	}
	a.countSpare()
	for number, spare := range m.spare {
		if spare > 0 {
			sum -= a.left[number*a.commonClasses+class]
		}
	}
	return sum <= 0 && a.matchAll()
}

// countSpare works out how many of the requests to match each provider could take at most: of every
// class that they all want, what is left divided by the least that one of them wants.
func (a *assignment) countSpare() {
	m := &a.match
	for _, depth := range m.depths {
		d := a.domains[depth]
		for _, number := range a.providers[d.from:d.to] {
			m.spare[number] = int32(len(m.depths))
		}
	}
	for class := range a.commonClasses {
		var least int64
		for i, depth := range m.depths {
			if amount := a.wants(depth, class); i == 0 || amount < least {
				least = amount
			}
		}
		if least == 0 {
			continue
		}
		for number, spare := range m.spare {
			if spare > 0 {
				m.spare[number] = int32(min(int64(spare), a.left[number*a.commonClasses+class]/least))
			}
		}
	}
}

// wants returns how much of a common class the request of a domain needs.
func (a *assignment) wants(depth, class int) int64 {
	for _, n := range a.requests[a.domains[depth].request].needs {
		if n.common == class {
			return n.amount
		}
	}
	return 0
}

// start clears the matching for so many providers.
func (m *matching) start(providers int) {
	m.spare = resize(m.spare, providers)
	clear(m.spare)
	m.depths = m.depths[:0]
}

// matchAll matches each domain with one of its options that may be given to its request, no provider
// with more than it can take. The matching grows by augmenting paths (Kuhn's algorithm), where what
// a provider can take stands for as many copies of it.
func (a *assignment) matchAll() bool {
	m := &a.match
	m.mate = resize(m.mate, len(m.depths))
	for i := range m.mate {
		m.mate[i] = -1
	}
	m.visited = resize(m.visited, len(m.spare))
	for i := range m.depths {
		clear(m.visited)
		if !a.augment(i) {
			return false
		}
	}
	return true
}

// augment finds a provider for one domain, moving others if it must.
func (a *assignment) augment(i int) bool {
	m := &a.match
	d := a.domains[m.depths[i]]
	r := &a.requests[d.request]
	for _, number := range a.providers[d.from:d.to] {
		if m.visited[number] || !a.affords(r, number) {
			continue
		}
		if r.granular && len(a.sameSubtrees) > 0 &&
			!a.subtrees.possible(&a.treeOptions, a.assigned, a.depth, a.depth, d.request, number) {
			continue
		}
		m.visited[number] = true
		if m.spare[number] > 0 {
			m.spare[number]--
			m.mate[i] = number
			return true
		}
		for j, other := range m.mate {
			if other == number && a.augment(j) {
				m.mate[i] = number
				return true
			}
		}
	}
	return false
}
