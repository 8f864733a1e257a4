package ovn

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// A Chassis is a host with an ovn-controller.
type Chassis struct {
	Name           string // unique; often a UUID
	Hostname       string
	CMSOptions     string // ovn-cms-options, as it was written on the host; "" for none
	BridgeMappings string // ovn-bridge-mappings
	DatapathType   string // of its integration bridge: "netdev" is DPDK's, "system" or "" the kernel's
	InterfaceTypes string // that its switch has, with commas
	Alive          bool   // see Watch
}

// A Kind says what an event is about.
type Kind string

// The kinds of events.
const (
	Added   Kind = "added"
	Changed Kind = "changed" // also when it is alive no more, or again
	Removed Kind = "removed"
	Listed  Kind = "listed"
	Plugged Kind = "plugged"
)

// An Event is a change of a chassis, or with Listed the list of all, by name, or with
// Plugged what became of ports, by name.
type Event struct {
	Kind    Kind
	Chassis Chassis // as it is now; of one that was removed, as it was
	All     []Chassis
	Ports   []Port
}

// A view is what is known of the chassis.
type view struct {
	downTime time.Duration
	chassis  map[ovsdb.UUID]ovsdb.Row
	private  map[ovsdb.UUID]ovsdb.Row // rows of Chassis_Private
	global   ovsdb.Row                // of SB_Global, nil when there is none
	heard    map[string]sign          // by name of chassis
	reported map[string]Chassis       // by name, as events said
	ports    ports
}

// A sign is the last sign of life of an ovn-controller.
type sign struct {
	sequence int64 // nb_cfg
	at       time.Time
}

func newView(downTime time.Duration) *view {
	return &view{
		downTime: downTime, chassis: make(map[ovsdb.UUID]ovsdb.Row), private: make(map[ovsdb.UUID]ovsdb.Row),
		heard: make(map[string]sign), reported: make(map[string]Chassis), ports: newPorts(),
	}
}

// take takes up changes of the database.
func (v *view) take(changes []ovsdb.Change) {
	for _, c := range changes {
		switch c.Table {
		case "Chassis":
			put(v.chassis, c)
			if plugsOtherwise(c.Old, c.New) {
				v.ports.all = true
			}
		case "Chassis_Private":
			put(v.private, c)
		case "SB_Global":
			v.global = c.New
		case "Port_Binding":
			v.ports.take(c)
		}
	}
}

func put(rows map[ovsdb.UUID]ovsdb.Row, c ovsdb.Change) {
	if c.New == nil {
		delete(rows, c.UUID)
		return
	}
	rows[c.UUID] = c.New
}

// events returns the changes since the last call, by name, and when the next chassis ceases to be
// alive without a sign of life: the zero time for none.
func (v *view) events(now time.Time) (events []Event, next time.Time) {
	cur, next := v.current(now)
	for _, name := range slices.Sorted(maps.Keys(v.reported)) {
		if _, still := cur[name]; !still {
			events = append(events, Event{Kind: Removed, Chassis: v.reported[name]})
			delete(v.heard, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cur)) {
		switch prev, known := v.reported[name]; {
		case !known:
			events = append(events, Event{Kind: Added, Chassis: cur[name]})
		case prev != cur[name]:
			events = append(events, Event{Kind: Changed, Chassis: cur[name]})
		}
	}
	v.reported = cur
	if changed := v.ports.changes(v.chassis); len(changed) > 0 {
		events = append(events, Event{Kind: Plugged, Ports: changed})
	}
	return events, next
}

// list returns all chassis of the events so far.
func (v *view) list() Event {
	e := Event{Kind: Listed}
	for _, name := range slices.Sorted(maps.Keys(v.reported)) {
		e.All = append(e.All, v.reported[name])
	}
	return e
}

func (v *view) current(now time.Time) (all map[string]Chassis, next time.Time) {
	all = make(map[string]Chassis)
	sequences := v.sequences()
	for _, row := range v.chassis {
		name := ovsdb.Value[string](row, "name")
		alive, until := v.alive(name, sequences[name], now)
		if !until.IsZero() && (next.IsZero() || until.Before(next)) {
			next = until
		}
		all[name] = Chassis{
			Name: name, Hostname: ovsdb.Value[string](row, "hostname"), Alive: alive,
			CMSOptions: option(row, "ovn-cms-options"), BridgeMappings: option(row, "ovn-bridge-mappings"),
			DatapathType: option(row, "datapath-type"), InterfaceTypes: option(row, "iface-types"),
		}
	}
	return all, next
}

// sequences returns the nb_cfg of each chassis: since OVN 20.09 it is in Chassis_Private.
func (v *view) sequences() map[string]int64 {
	all := make(map[string]int64)
	for _, rows := range []map[ovsdb.UUID]ovsdb.Row{v.chassis, v.private} {
		for _, row := range rows {
			name := ovsdb.Value[string](row, "name")
			all[name] = cmp.Or(ovsdb.Value[int64](row, "nb_cfg"), all[name])
		}
	}
	return all
}

// alive reports whether a chassis keeps up, or has given a sign of life lately; then also until
// when that is so.
func (v *view) alive(name string, sequence int64, now time.Time) (alive bool, until time.Time) {
	last, known := v.heard[name]
	if !known || last.sequence != sequence {
		last = sign{sequence, now}
		v.heard[name] = last
	}
	if ovsdb.Value[int64](v.global, "nb_cfg")-sequence <= 1 { // one more may be on its way
		return true, time.Time{}
	}
	until = last.at.Add(v.downTime)
	if !now.Before(until) {
		return false, time.Time{}
	}
	return true, until
}

// option returns what the host has in external_ids of its own database. OVN puts
// it into other_config; before 20.09, and for some releases also, into
// external_ids.
func option(row ovsdb.Row, name string) string {
	if value, ok := ovsdb.Pairs[string, string](row, "other_config")[name]; ok {
		return value
	}
	return ovsdb.Pairs[string, string](row, "external_ids")[name]
}
