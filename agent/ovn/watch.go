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

// Watch calls handle for every change of a chassis, and of where ports are plugged in, until the
// context ends, whose error it returns. At the start all are added. A list of all chassis follows
// the changes at the start and after each reconnect. While the database cannot be reached nothing
// is reported: chassis and ports are as they were.
//
// The client must run and watch [Tables], and no other goroutine may call its Next. While handle
// runs, changes accumulate: each chassis is then reported once, in its current state.
//
// A chassis is alive as long as it keeps up with the number that SB_Global has in nb_cfg, one
// behind at most, or has changed its own less than downTime ago (Neutron's agent_down_time, 75 s).
// So it depends on a program that raises the number now and then, as Neutron does: without one all
// are alive. The times that are compared are those of the changes' arrival here, not the clock of
// the host.
func Watch(ctx context.Context, db *ovsdb.Client, downTime time.Duration, handle func(Event)) error {
	v := newView(downTime)
	var next time.Time
	for {
		d, err := until(ctx, db, next)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // or a check for chassis that are alive is due
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
