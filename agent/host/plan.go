package host

import (
	"slices"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A step is one call of a driver.
type step struct {
	verb string // build, destroy, plug, unplug, or one of power's
	port hostlist.Port
}

// plan returns the steps that make a server match its entry. actual is nil for a server that does
// not exist, want is nil for one that is not in the list and must not be touched. A server that was
// built in part, or for another generation, is destroyed and built again. A Kept server is never
// built, whatever its generation; what was built of it in part is of no use and is destroyed.
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
	usable := actual != nil && actual.Built && (want.Kept || actual.Generation == want.Generation)
	if actual != nil && !usable {
		steps = append(steps, step{verb: "destroy"})
	}
	switch {
	case !usable && want.Kept:
		return steps
	case !usable:
		built := driver.State{Running: want.Running, Boot: want.Boot}
		return append(append(steps, step{verb: "build"}), power(want, &built)...)
	}
	changes := power(want, actual)
	if !want.Running { // it stands still before its ports are unplugged
		steps, changes = append(steps, changes...), nil
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
	return append(steps, changes...)
}

// power returns the steps that bring a server that is built to the power of its entry. Another boot
// starts it again, whatever it was doing.
func power(want *hostlist.Server, actual *driver.State) (steps []step) {
	restarts := want.Boot != "" && want.Boot != actual.Boot
	running, power := actual.Running, actual.Power
	switch {
	case !want.Running && want.Power == hostlist.Suspended:
		if power != want.Power {
			steps = append(steps, step{verb: "suspend"})
		}
		return steps
	case !want.Running:
		if running || power != "" {
			steps = append(steps, step{verb: "stop"})
		}
		return steps
	case restarts || !running && power == "":
		steps = append(steps, step{verb: "start"})
		power = ""
	case power == hostlist.Suspended:
		steps = append(steps, step{verb: "resume"})
		power = ""
	case power == hostlist.Paused && want.Power != power:
		return append(steps, step{verb: "unpause"})
	}
	if want.Power == hostlist.Paused && want.Power != power {
		steps = append(steps, step{verb: "pause"})
	}
	return steps
}

// knownPower is the power of an entry as this agent understands it.
func knownPower(want *hostlist.Server) string {
	if want.Running && want.Power == hostlist.Paused || !want.Running && want.Power == hostlist.Suspended {
		return want.Power
	}
	return ""
}
