package ovn

import (
	"context"
	"time"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// Database is the name of the southbound database.
const Database = "OVN_Southbound"

// Tables returns what a client must watch for [Watch]. Databases of OVN before
// 20.09 have no Chassis_Private.
func Tables() map[string][]string {
	return map[string][]string{
		"Chassis":         {"name", "hostname", "nb_cfg", "external_ids", "other_config"},
		"Chassis_Private": {"name", "nb_cfg"},
		"SB_Global":       {"nb_cfg"},
		"Port_Binding":    {"logical_port", "chassis", "up"},
	}
}

// Watch tells handle of every change of a chassis, and of where ports are plugged in,
// until the context ends, whose error it returns. At the start all are added. A list of
// all chassis follows what has changed at the start and after each reconnect. While the
// database cannot be reached nothing is told: chassis and ports are as they were.
//
// The client must run and watch [Tables], and nobody else may call its Next. While
// handle runs, changes gather: each chassis then is told of once, as it is.
//
// A chassis is alive as long as it keeps up with the number that SB_Global has in
// nb_cfg, one behind at most, or has changed its own less than patience ago
// (Neutron's agent_down_time, 75 s). So it depends on somebody who raises the
// number now and then, as Neutron does: else all are alive. It is no wall clock of
// the host that is compared, but when its changes came here.
func Watch(ctx context.Context, db *ovsdb.Client, patience time.Duration, handle func(Event)) error {
	v := newView(patience)
	var next time.Time
	for {
		d, err := until(ctx, db, next)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // or it is time to look at who is alive
			v.take(d.Changes)
		}
		var events []Event
		events, next = v.events(time.Now())
		if d.Synced {
			events = append(events, v.list())
		}
		for _, e := range events {
			handle(e)
		}
	}
}

// until waits for changes, if there is a limit until then at most.
func until(ctx context.Context, db *ovsdb.Client, limit time.Time) (ovsdb.Delta, error) {
	if !limit.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, limit)
		defer cancel()
	}
	return db.Next(ctx)
}
