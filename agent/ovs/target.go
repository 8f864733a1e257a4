package ovs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// A target is Actual as it should be, as far as that can be had.
type target struct {
	qos      map[string]QoS // by device
	flows    map[entry]Flow
	meters   map[entry]Meter
	classes  map[entry]Class
	findings []Finding
}

// An entry is the place of a flow or a meter in a bridge, or of a class in a device.
type entry struct {
	place  string
	number int
}

// Findings returns the desired rates that a switch in this state cannot enforce, sorted.
func Findings(d Desired, a Actual) []Finding {
	fs := aim(d, a).findings
	slices.SortFunc(fs, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Port, y.Port), cmp.Compare(x.Device, y.Device), cmp.Compare(x.Kind, y.Kind))
	})
	return slices.Compact(fs)
}

// aim works out the target.
func aim(d Desired, a Actual) *target {
	t := &target{
		qos: make(map[string]QoS), flows: make(map[entry]Flow), meters: make(map[entry]Meter), classes: make(map[entry]Class),
	}
	rates := make(map[string]Kbps)
	for _, b := range d.Bridges {
		rates[b.Name] = b.Rate
	}
	queues, plugged := number(d.Ports, a), plugs(a)
	for _, p := range slices.SortedFunc(slices.Values(d.Ports), byID) {
		if p.Egress == (Rate{}) && p.Ingress == (Rate{}) {
			continue
		}
		pl, ok := plugged[p.ID]
		if !ok || pl.Number == 0 {
			t.find(NotPlugged, p.ID, pl.Name, pl.Error)
			continue
		}
		t.receive(p, pl, a, rates[p.Bridge])
		t.send(p, pl, a, rates[p.Bridge], queues[p.ID])
	}
	t.leaveRest(a)
	t.class(a)
	return t
}

func byID(a, b Port) int { return cmp.Compare(a.ID, b.ID) }

func (t *target) find(k Kind, port, device, detail string) {
	t.findings = append(t.findings, Finding{k, port, device, detail})
}

// A plug is where a server's port is plugged in.
type plug struct {
	Interface
	device string
	bridge string
}

// plugs finds the interfaces of servers' ports. While a port is being plugged in again it may have
// two, of which a working one is preferred.
func plugs(a Actual) map[string]plug {
	all := make(map[string]plug)
	for _, name := range slices.Sorted(maps.Keys(a.Devices)) {
		for _, i := range a.Devices[name].Interfaces {
			if prev, twice := all[i.Port]; i.Port != "" && (!twice || prev.Number == 0) {
				all[i.Port] = plug{i, name, a.Devices[name].Bridge}
			}
		}
	}
	return all
}

// receive aims at the queue of a port's own interface.
func (t *target) receive(p Port, pl plug, a Actual, rate Kbps) {
	r := p.Ingress
	if r.Min > 0 {
		t.find(IngressMinimum, p.ID, pl.Name, "")
	}
	limit := cmp.Or(r.Max, rate)
	if r.Max == 0 && (r.Min == 0 || limit == 0) {
		return
	}
	if t.free(p.ID, pl.device, a) {
		q := Queue{Ours: true, Owner: p.ID, Min: min(r.Min, limit), Max: limit, Burst: r.Burst}
		t.qos[pl.device] = QoS{Ours: true, Type: linuxHTB, Rate: limit, Queues: map[int]Queue{0: q}}
	}
}

// free reports whether a device can have a QoS of ours.
func (t *target) free(port, device string, a Actual) bool {
	d := a.Devices[device]
	switch {
	case !d.hasQueues():
		t.find(NoQueues, port, device, d.Interfaces[0].Type)
	case d.QoS != nil && !d.QoS.Ours:
		t.find(Foreign, port, device, d.QoS.Type)
	default:
		return true
	}
	return false
}

// send aims at the flow, the meter and the queues on the way out.
func (t *target) send(p Port, pl plug, a Actual, rate Kbps, queue int) {
	if p.Egress.Min == 0 && p.Egress.Max == 0 {
		return
	}
	flow := Flow{Meter: p.Egress.Max > 0}
	if p.Egress.Min > 0 && t.queue(p, a, rate, queue) {
		flow.Queue = queue
	}
	if flow == (Flow{}) {
		return
	}
	if err := a.Bridges[pl.bridge].Err; err != nil {
		t.find(NoOpenFlow, p.ID, pl.bridge, err.Error())
		return
	}
	t.flows[entry{pl.bridge, pl.Number}] = flow
	if flow.Meter {
		burst := cmp.Or(p.Egress.Burst, max(p.Egress.Max*4/5, 1))
		t.meters[entry{pl.bridge, meterBase + pl.Number}] = Meter{p.Egress.Max, burst}
	}
}

// queue aims at a port's queue on every uplink of its bridge, and reports whether
// there is one.
func (t *target) queue(p Port, a Actual, rate Kbps, number int) bool {
	queued, uplinks := false, 0
	for _, name := range slices.Sorted(maps.Keys(a.Devices)) {
		d := a.Devices[name]
		if p.Bridge == "" || d.Bridge != p.Bridge || !d.isUplink() {
			continue
		}
		uplinks++
		limit := cmp.Or(rate, d.speed())
		switch {
		case limit == 0:
			t.find(NoRate, p.ID, name, "")
		case t.free(p.ID, name, a):
			t.share(name, limit, number, p)
			queued = true
		}
	}
	if uplinks == 0 {
		t.find(NoUplink, p.ID, p.Bridge, "")
	}
	return queued
}

func (t *target) share(device string, limit Kbps, number int, p Port) {
	q, ok := t.qos[device]
	if !ok {
		q = QoS{Ours: true, Type: linuxHTB, Rate: limit, Queues: make(map[int]Queue)}
		t.qos[device] = q
	}
	most := min(cmp.Or(p.Egress.Max, limit), limit)
	q.Queues[number] = Queue{Ours: true, Owner: p.ID, Min: min(p.Egress.Min, most), Max: most}
}

// leaveRest gives queue 0 of each uplink what the others leave, and something in
// any case: ARP and the host's own packets go that way.
func (t *target) leaveRest(a Actual) {
	for device, q := range t.qos {
		if !a.Devices[device].isUplink() {
			continue
		}
		var promised Kbps
		for _, queue := range q.Queues {
			promised += queue.Min
		}
		if promised > q.Rate {
			t.find(Overbooked, "", device, fmt.Sprintf("%d of %d kbit/s", promised, q.Rate))
		}
		rest := max(q.Rate-promised, q.Rate/100, 1)
		q.Queues[0] = Queue{Ours: true, Owner: nobody, Min: rest, Max: q.Rate}
	}
}

// number gives each port with a minimum a queue number that no other port of the
// host has: the one that it has now, if possible.
func number(ports []Port, a Actual) map[string]int {
	has, taken := numbered(a)
	numbers := make(map[string]int)
	var homeless []string
	for _, p := range slices.SortedFunc(slices.Values(ports), byID) {
		switch n, ok := has[p.ID]; {
		case p.Egress.Min == 0:
		case ok:
			numbers[p.ID] = n
		default:
			homeless = append(homeless, p.ID)
		}
	}
	next := 1
	for _, id := range homeless {
		for taken[next] {
			next++
		}
		numbers[id] = next
		next++
	}
	return numbers
}

// numbered returns the number of each port's queue, the first to have it when
// there are several, and all that are in use.
func numbered(a Actual) (has map[string]int, taken map[int]bool) {
	has, taken = make(map[string]int), make(map[int]bool)
	for _, name := range slices.Sorted(maps.Keys(a.Devices)) {
		if d := a.Devices[name]; d.QoS != nil && d.isUplink() {
			for _, n := range slices.Sorted(maps.Keys(d.QoS.Queues)) {
				q := d.QoS.Queues[n]
				if _, second := has[q.Owner]; q.Ours && q.Owner != nobody && n > 0 && !second && !taken[n] {
					has[q.Owner] = n
				}
				taken[n] = true
			}
		}
	}
	return has, taken
}
