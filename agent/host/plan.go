package host

import (
	"slices"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A step is one call of a driver.
type step struct {
	verb string // build, destroy, plug, unplug, start or stop
	port hostlist.Port
}

// plan returns the steps that make a server match its entry. A server that does not exist is nil,
// and so is the entry of one that must not be touched. A half built server is built again, and so
// is one of another generation. One that is kept is not built: half built, it is of no use.
func plan(want *hostlist.Server, actual *driver.State) (steps []step) {
	if want == nil {
		return nil
	}
	if want.Deleted {
		if actual != nil {
			steps = append(steps, step{verb: "destroy"})
		}
		return steps
	}
	retained := actual != nil && actual.Built && (want.Kept || actual.Generation == want.Generation)
	if actual != nil && !retained {
		steps = append(steps, step{verb: "destroy"})
	}
	switch {
	case !retained && want.Kept:
		return steps
	case !retained:
		return append(steps, step{verb: "build"})
	}
	if !want.Running && actual.Running {
		steps = append(steps, step{verb: "stop"})
	}
	for _, id := range actual.Ports {
		if !slices.ContainsFunc(want.Ports, func(p hostlist.Port) bool { return p.ID == id }) {
			steps = append(steps, step{"unplug", hostlist.Port{ID: id}})
		}
	}
	for _, p := range want.Ports {
		if !slices.Contains(actual.Ports, p.ID) {
			steps = append(steps, step{"plug", p})
		}
	}
	if want.Running && (!actual.Running || want.Boot != "" && want.Boot != actual.Boot) {
		steps = append(steps, step{verb: "start"})
	}
	return steps
}
