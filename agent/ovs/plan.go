package ovs

import (
	"cmp"
	"maps"
	"slices"
)

// Plan returns the steps from the actual to the desired state of a switch, in an order that removes
// nothing before its replacement exists: none when they are equal. Each step may run twice, and
// none relies on another's success to do no harm.
func Plan(d Desired, a Actual) []Step {
	t := aim(d, a)
	var steps []Step
	steps = append(steps, t.setQueues(a)...)
	steps = append(steps, t.setFlows(a)...)
	steps = append(steps, t.setClasses(a)...)
	steps = append(steps, t.removeFlows(a)...)
	steps = append(steps, t.removeClasses(a)...)
	steps = append(steps, t.removeQueues(a)...)
	if a.Strays > 0 {
		steps = append(steps, RemoveStrays{})
	}
	return steps
}

func (t *target) setQueues(a Actual) (steps []Step) {
	for _, device := range slices.Sorted(maps.Keys(t.qos)) {
		want := t.qos[device]
		var have QoS
		if q := a.Devices[device].QoS; q != nil {
			have = *q
		}
		if !have.Ours || have.Type != want.Type || have.Rate != want.Rate {
			steps = append(steps, SetQoS{device, want.Type, want.Rate})
		}
		for _, n := range slices.Sorted(maps.Keys(want.Queues)) {
			prev, ok := have.Queues[n]
			if !ok || prev.Ours && prev != want.Queues[n] {
				steps = append(steps, SetQueue{device, n, want.Queues[n]})
			}
		}
	}
	return steps
}

func (t *target) setFlows(a Actual) (steps []Step) {
	for _, e := range changed(t.meters, func(bridge string) map[int]Meter { return a.Bridges[bridge].Meters }) {
		steps = append(steps, SetMeter{e.place, e.number, t.meters[e]})
	}
	for _, e := range changed(t.flows, func(bridge string) map[int]Flow { return a.Bridges[bridge].Flows }) {
		steps = append(steps, SetFlow{e.place, e.number, t.flows[e]})
	}
	return steps
}

func (t *target) removeFlows(a Actual) (steps []Step) {
	for _, bridge := range slices.Sorted(maps.Keys(a.Bridges)) {
		for _, n := range unwanted(bridge, a.Bridges[bridge].Flows, t.flows) {
			steps = append(steps, RemoveFlow{bridge, n})
		}
		for _, n := range unwanted(bridge, a.Bridges[bridge].Meters, t.meters) {
			steps = append(steps, RemoveMeter{bridge, n})
		}
	}
	return steps
}

func (t *target) removeQueues(a Actual) (steps []Step) {
	for _, device := range slices.Sorted(maps.Keys(a.Devices)) {
		have := a.Devices[device].QoS
		if have == nil || !have.Ours {
			continue
		}
		want, desired := t.qos[device]
		if !desired {
			steps = append(steps, RemoveQoS{device})
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(have.Queues)) {
			if _, retained := want.Queues[n]; !retained && have.Queues[n].Ours {
				steps = append(steps, RemoveQueue{device, n})
			}
		}
	}
	return steps
}

// changed lists desired entries that do not exist, or differ.
func changed[V comparable](want map[entry]V, have func(place string) map[int]V) []entry {
	entries := slices.SortedFunc(maps.Keys(want), func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.number, b.number))
	})
	return slices.DeleteFunc(entries, func(e entry) bool {
		v, ok := have(e.place)[e.number]
		return ok && v == want[e]
	})
}

// unwanted lists the numbers of what a place has and should not have.
func unwanted[V any](place string, have map[int]V, want map[entry]V) []int {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(have)), func(n int) bool {
		_, desired := want[entry{place, n}]
		return desired
	})
}
