package ovn

import (
	"time"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// The tests of who is alive have a clock of their own.
var NewView = newView

func (v *view) Take(changes []ovsdb.Change)               { v.take(changes) }
func (v *view) Events(now time.Time) ([]Event, time.Time) { return v.events(now) }
func (v *view) Reported(name string) Chassis              { return v.reported[name] }
func (v *view) Remembered() int                           { return len(v.heard) }
func (v *view) Row(id ovsdb.UUID) ovsdb.Row               { return v.chassis[id] }
func (v *view) Ports() int                                { return len(v.ports.reported) }
