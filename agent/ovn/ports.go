package ovn

import (
	"maps"
	"slices"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// A Port is where a port of a logical switch is plugged in.
type Port struct {
	Name     string // of the logical port; OpenStack gives it the port's id
	Hostname string // of the chassis that has plugged it in and wired it; "" when none has
}

// ports are what is known of the table Port_Binding.
type ports struct {
	rows     map[string]binding // by name
	reported map[string]string  // hostname by name, as events said
	changed  map[string]bool    // names of rows that changed since the last call
	all      bool               // all rows are due
}

// A binding is a row of Port_Binding.
type binding struct {
	id  ovsdb.UUID
	row ovsdb.Row
}

func newPorts() ports {
	return ports{rows: make(map[string]binding), reported: make(map[string]string), changed: make(map[string]bool)}
}

// take takes up a change of a row. A name may go from one row to another in a
// transaction, whose changes come in no order.
func (p *ports) take(c ovsdb.Change) {
	name := ovsdb.Value[string](c.New, "logical_port")
	if old := ovsdb.Value[string](c.Old, "logical_port"); c.Old != nil && (c.New == nil || old != name) {
		p.changed[old] = true
		if p.rows[old].id == c.UUID {
			delete(p.rows, old)
		}
	}
	if c.New != nil {
		p.changed[name] = true
		p.rows[name] = binding{c.UUID, c.New}
	}
}

// changes returns what has changed since it was last called, by name. Of one that is
// new it says where it is too, or that it is nowhere.
func (p *ports) changes(chassis map[ovsdb.UUID]ovsdb.Row) (changed []Port) {
	if p.all {
		for name := range p.rows {
			p.changed[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.changed)) {
		b, exists := p.rows[name]
		host := ""
		if exists {
			host = pluggedAt(b.row, chassis)
		}
		if prev, known := p.reported[name]; known && prev == host || !known && !exists {
			if !exists {
				delete(p.reported, name)
			}
			continue
		}
		p.reported[name] = host
		if !exists {
			delete(p.reported, name)
		}
		changed = append(changed, Port{name, host})
	}
	p.all = false
	clear(p.changed)
	return changed
}

// notifies is in other_config of chassis that say in the column up when a port is
// wired. Before OVN 20.12 it is when they have claimed it.
const notifies = "port-up-notif"

// pluggedAt returns the host of the chassis that has a port up, "" for none, as OVN's
// northd has it when it sets the column up of a Logical_Switch_Port, which Neutron
// reads.
func pluggedAt(port ovsdb.Row, chassis map[ovsdb.UUID]ovsdb.Row) string {
	row, ok := chassis[ovsdb.Value[ovsdb.UUID](port, "chassis")]
	if !ok || waits(row) && !ovsdb.Value[bool](port, "up") {
		return ""
	}
	return ovsdb.Value[string](row, "hostname")
}

func waits(chassis ovsdb.Row) bool {
	return ovsdb.Pairs[string, string](chassis, "other_config")[notifies] == "true"
}

// plugsOtherwise reports whether the ports of a chassis may be somewhere else than
// before.
func plugsOtherwise(old, row ovsdb.Row) bool {
	if old == nil || row == nil {
		return true
	}
	return ovsdb.Value[string](old, "hostname") != ovsdb.Value[string](row, "hostname") || waits(old) != waits(row)
}
