package tc

import (
	"maps"
	"slices"
)

// Plan returns the steps from the actual state to the requested one, in an order in which each
// finds what it needs and no packet is lost between two of them. It is pure and total: it leaves
// out what makes no sense (Check reports it), and does not touch qdiscs, classes and filters of
// others. After the steps, the next Plan is empty.
func Plan(links []Link, actual Actual) []Step {
	wants, _ := resolve(links)
	trees := make(map[string]bool)     // devices that have a tree
	redirects := make(map[string]bool) // interfaces whose packets are redirected
	var steps []Step
	for _, w := range wants {
		if !w.possible(actual) {
			continue
		}
		device := w.device()
		trees[device] = true
		redirects[w.Interface] = redirects[w.Interface] || w.Direction == Ingress
		steps = append(steps, w.steps(device, actual)...)
	}
	return append(steps, leftovers(actual, trees, redirects)...)
}

// possible reports whether there is an interface to enforce the link on. One that serves other
// interfaces is not, nor is a device of another program with the name of an IFB.
func (w want) possible(actual Actual) bool {
	iface, ok := actual[w.Interface]
	device, taken := actual[w.device()]
	return ok && !iface.IFB && (w.Direction == Egress || !taken || device.IFB)
}

// steps bring one link into shape. Packets are led to its device last, when all
// is ready for them.
func (w want) steps(device string, actual Actual) []Step {
	d := actual[device]
	if w.Direction == Egress {
		return w.treeSteps(device, d)
	}
	var steps []Step
	if !d.IFB || !d.Up {
		steps = append(steps, Step{Op: AddIFB, Device: device})
	}
	steps = append(steps, w.treeSteps(device, d)...)
	if actual[w.Interface].Redirect != device {
		steps = append(steps, Step{Op: SetRedirect, Device: w.Interface, To: device})
	}
	return steps
}

// leftovers removes what no link needs. Redirections are removed first: an interface that is
// redirected to a device that does not exist receives nothing.
func leftovers(actual Actual, trees, redirects map[string]bool) []Step {
	var first, then []Step
	for _, name := range slices.Sorted(maps.Keys(actual)) {
		d := actual[name]
		if d.Redirect != "" && !redirects[name] {
			first = append(first, Step{Op: DelRedirect, Device: name})
		}
		switch {
		case trees[name]:
		case d.IFB:
			then = append(then, Step{Op: DelIFB, Device: name})
		case d.Tree != nil:
			then = append(then, Step{Op: DelRoot, Device: name})
		}
	}
	return append(first, then...)
}

// treeSteps bring one device's tree into shape. What is in the way goes first,
// then come classes, their queues, and the filters that lead to them.
func (w want) treeSteps(device string, d Device) []Step {
	if d.Foreign != "" {
		return nil
	}
	var steps []Step
	tree := d.Tree
	if tree != nil && !tree.sound() {
		steps = append(steps, Step{Op: DelRoot, Device: device})
		tree = nil
	}
	if tree == nil {
		steps = append(steps, Step{Op: SetRoot, Device: device})
		tree = &Tree{}
	}
	slots := w.assign(tree)
	steps = append(steps, sweep(device, tree, slots)...)
	steps = append(steps, setClass(device, tree, RootMinor, w.root)...)
	steps = append(steps, setClass(device, tree, RestMinor, w.rest)...)
	steps = append(steps, setLeaf(device, tree, RestMinor)...)
	for i, p := range w.ports {
		s := slots[i]
		steps = append(steps, setClass(device, tree, s.minor, p.class)...)
		steps = append(steps, setLeaf(device, tree, s.minor)...)
		if !s.filtered {
			steps = append(steps, Step{Op: SetFilter, Device: device, Filter: w.filter(p.mac, s.minor)})
		}
	}
	return steps
}

// sound reports whether all classes have the right parents. HTB can neither move a class nor change
// its default, so that another tree is created again.
func (t *Tree) sound() bool {
	if t.Default != RestMinor {
		return false
	}
	for minor, n := range t.Classes {
		if (minor == RootMinor) != (n.Parent == 0) || n.Parent > RootMinor {
			return false
		}
	}
	return true
}

// A slot is the place of a port's class.
type slot struct {
	minor    Minor
	filtered bool // a proper filter leads there already
}

// assign gives each port's class a number: the one that a filter for it leads to
// already, else the lowest that is free. So a port keeps its class as long as it
// has it, also over a restart, without anything having been written down.
func (w want) assign(t *Tree) []slot {
	slots := make([]slot, len(w.ports))
	proper := w.proper(t)
	taken := make(map[Minor]bool)
	for i, p := range w.ports {
		if minor, ok := proper[p.mac]; ok {
			slots[i] = slot{minor, true}
			taken[minor] = true
		}
	}
	next := PortMinor
	for i := range slots {
		if slots[i].filtered {
			continue
		}
		for taken[next] {
			next++
		}
		slots[i].minor = next
		next++
	}
	return slots
}

// proper gives the class of each address that has a filter as w would make it.
// One that shares its priority with another is not proper: they can only be
// removed together.
func (w want) proper(t *Tree) map[MAC]Minor {
	sharing := make(map[uint16]int)
	for _, f := range t.Filters {
		sharing[f.Pref]++
	}
	minors := make(map[MAC]Minor)
	for _, f := range t.Filters {
		inRange := f.Class >= PortMinor && f.Class <= LastMinor
		if inRange && f == w.filter(f.MAC, f.Class) && sharing[f.Pref] == 1 {
			minors[f.MAC] = f.Class
		}
	}
	return minors
}

// filter is the one that leads to a port's class.
func (w want) filter(mac MAC, minor Minor) Filter {
	f := Filter{Pref: uint16(minor), Address: Source, MAC: mac, Class: minor}
	if w.Direction == Ingress {
		f.Address = Destination
	}
	return f
}

// sweep removes the filters and classes that no port has: filters first, since
// a class to which one leads cannot be removed.
func sweep(device string, t *Tree, slots []slot) []Step {
	prefs := make(map[uint16]bool)
	minors := map[Minor]bool{RootMinor: true, RestMinor: true}
	for _, s := range slots {
		minors[s.minor] = true
		prefs[uint16(s.minor)] = s.filtered
	}
	stale := make(map[uint16]bool)
	for _, f := range t.Filters {
		if !prefs[f.Pref] {
			stale[f.Pref] = true
		}
	}
	var steps []Step
	for _, pref := range slices.Sorted(maps.Keys(stale)) {
		steps = append(steps, Step{Op: DelFilter, Device: device, Filter: Filter{Pref: pref}})
	}
	for _, minor := range slices.Sorted(maps.Keys(t.Classes)) {
		if !minors[minor] {
			steps = append(steps, Step{Op: DelClass, Device: device, Minor: minor})
		}
	}
	return steps
}

func setClass(device string, t *Tree, minor Minor, c Class) []Step {
	if n, ok := t.Classes[minor]; ok && n.Class == c {
		return nil
	}
	return []Step{{Op: SetClass, Device: device, Minor: minor, Class: c}}
}

func setLeaf(device string, t *Tree, minor Minor) []Step {
	if t.Classes[minor].Leaf != "" {
		return nil
	}
	return []Step{{Op: SetLeaf, Device: device, Minor: minor}}
}
