package host

import (
	"slices"

	"github.com/berthcloud/berth/agent/driver"
)

// A step is one thing that a driver is asked for.
type step struct {
	verb string // build, destroy, plug, unplug, start or stop
	port driver.Port
}

// plan says what makes a server what is wanted of it. A server that is not there is nil,
// and so is what is wanted of one that is to be left alone. A half made one is made anew.
func plan(want *Wanted, is *driver.State) (steps []step) {
	if want == nil {
		return nil
	}
	if want.Gone {
		if is != nil {
			steps = append(steps, step{verb: "destroy"})
		}
		return steps
	}
	if is == nil {
		return []step{{verb: "build"}}
	}
	if !is.Built {
		return []step{{verb: "destroy"}, {verb: "build"}}
	}
	for _, id := range is.Ports {
		if !slices.ContainsFunc(want.Ports, func(p driver.Port) bool { return p.ID == id }) {
			steps = append(steps, step{"unplug", driver.Port{ID: id}})
		}
	}
	for _, p := range want.Ports {
		if !slices.Contains(is.Ports, p.ID) {
			steps = append(steps, step{"plug", p})
		}
	}
	switch {
	case want.Running && (!is.Running || want.Boot != "" && want.Boot != is.Boot):
		steps = append(steps, step{verb: "start"})
	case !want.Running && is.Running:
		steps = append(steps, step{verb: "stop"})
	}
	return steps
}
