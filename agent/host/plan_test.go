package host

import (
	"slices"
	"testing"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
)

func TestPlan(t *testing.T) {
	a, b := hostlist.Port{ID: "a"}, hostlist.Port{ID: "b"}
	runs := func(boot string, ports ...hostlist.Port) *hostlist.Server {
		return &hostlist.Server{ID: "s", Running: true, Boot: boot, Ports: ports}
	}
	retained := &hostlist.Server{Kept: true}
	paused := &hostlist.Server{ID: "s", Running: true, Power: hostlist.Paused}
	suspended := &hostlist.Server{ID: "s", Power: hostlist.Suspended}
	for name, tc := range map[string]struct {
		want  *hostlist.Server
		is    *driver.State
		steps []step
	}{
		"Nothing":       {nil, nil, nil},
		"New":           {runs("", a), nil, []step{{verb: "build"}}},
		"AsWanted":      {runs("", a), &driver.State{Built: true, Running: true, Ports: []string{"a"}}, nil},
		"StartedBefore": {runs(""), &driver.State{Built: true, Running: true, Boot: "1"}, nil},
		"HalfMade":      {runs("", a), &driver.State{}, []step{{verb: "destroy"}, {verb: "build"}}},
		"NotWanted":     {nil, &driver.State{Built: true}, nil},
		"ToGo":          {&hostlist.Server{Deleted: true}, &driver.State{Built: true}, []step{{verb: "destroy"}}},
		"HasGone":       {&hostlist.Server{Deleted: true}, nil, nil},
		"OtherPorts": {
			runs("", a), &driver.State{Built: true, Running: true, Ports: []string{"b"}},
			[]step{{"unplug", b}, {"plug", a}},
		},
		"Stop":    {&hostlist.Server{}, &driver.State{Built: true, Running: true}, []step{{verb: "stop"}}},
		"Stopped": {&hostlist.Server{Boot: "1"}, &driver.State{Built: true}, nil},
		"Start":   {runs(""), &driver.State{Built: true}, []step{{verb: "start"}}},
		"OtherGeneration": {
			runs("", a), &driver.State{Built: true, Running: true, Ports: []string{"a"}, Generation: 1},
			[]step{{verb: "destroy"}, {verb: "build"}},
		},
		"Kept": {
			retained, &driver.State{Built: true, Running: true, Ports: []string{"a"}},
			[]step{{verb: "stop"}, {"unplug", a}},
		},
		"KeptGeneration":  {retained, &driver.State{Built: true, Generation: 1}, nil},
		"KeptAndMissing":  {retained, nil, nil},
		"KeptAndHalfMade": {retained, &driver.State{}, []step{{verb: "destroy"}}},
		"Pause":           {paused, &driver.State{Built: true, Running: true, Boot: "1"}, []step{{verb: "pause"}}},
		"Paused":          {paused, &driver.State{Built: true, Running: true, Power: hostlist.Paused}, nil},
		"PausedOnNewHost": {paused, nil, []step{{verb: "build"}, {verb: "pause"}}},
		"PausedOfStopped": {paused, &driver.State{Built: true}, []step{{verb: "start"}, {verb: "pause"}}},
		"PausedOfSaved": {
			paused, &driver.State{Built: true, Power: hostlist.Suspended},
			[]step{{verb: "resume"}, {verb: "pause"}},
		},
		"PausedAndPort": {
			&hostlist.Server{ID: "s", Running: true, Power: hostlist.Paused, Ports: []hostlist.Port{a}},
			&driver.State{Built: true, Running: true, Power: hostlist.Paused},
			[]step{{"plug", a}},
		},
		"Unpause": {
			runs(""), &driver.State{Built: true, Running: true, Power: hostlist.Paused, Boot: "1"},
			[]step{{verb: "unpause"}},
		},
		"RebootOfPaused": {
			runs("2"), &driver.State{Built: true, Running: true, Power: hostlist.Paused, Boot: "1"},
			[]step{{verb: "start"}},
		},
		"StopOfPaused": {
			&hostlist.Server{}, &driver.State{Built: true, Running: true, Power: hostlist.Paused},
			[]step{{verb: "stop"}},
		},
		"Suspend":         {suspended, &driver.State{Built: true, Running: true}, []step{{verb: "suspend"}}},
		"Suspended":       {suspended, &driver.State{Built: true, Power: hostlist.Suspended}, nil},
		"SuspendedAndNew": {suspended, nil, []step{{verb: "build"}, {verb: "suspend"}}},
		"Resume": {
			runs(""), &driver.State{Built: true, Power: hostlist.Suspended, Boot: "1"},
			[]step{{verb: "resume"}},
		},
		"RebootOfSaved": {
			runs("2"), &driver.State{Built: true, Power: hostlist.Suspended, Boot: "1"},
			[]step{{verb: "start"}},
		},
		"StopOfSuspended": {
			&hostlist.Server{}, &driver.State{Built: true, Power: hostlist.Suspended},
			[]step{{verb: "stop"}},
		},
		"KeptOfPaused": {
			retained, &driver.State{Built: true, Running: true, Power: hostlist.Paused, Ports: []string{"a"}},
			[]step{{verb: "stop"}, {"unplug", a}},
		},
		"Reboot": {runs("2"), &driver.State{Built: true, Running: true, Boot: "1"}, []step{{verb: "start"}}},
	} {
		if got := plan(tc.want, tc.is); !slices.EqualFunc(got, tc.steps, func(x, y step) bool {
			return x.verb == y.verb && x.port.ID == y.port.ID
		}) {
			t.Errorf("%s: %v, want %v", name, got, tc.steps)
		}
	}
}
