package ovs_test

import (
	"maps"

	"github.com/berthcloud/berth/agent/ovs"
)

// carryOut does to a state what a step does to a switch.
func carryOut(a *ovs.Actual, step ovs.Step) {
	switch s := step.(type) {
	case ovs.SetQoS:
		d := a.Devices[s.Device]
		if d.QoS == nil {
			d.QoS = &ovs.QoS{Ours: true, Queues: make(map[int]ovs.Queue)}
		}
		if d.QoS.Ours {
			d.QoS.Type, d.QoS.Rate = s.Type, s.Rate
		}
		a.Devices[s.Device] = d
	case ovs.SetQueue:
		if q := a.Devices[s.Device].QoS; q != nil && q.Ours {
			q.Queues[s.Number] = s.Queue
		}
	case ovs.RemoveQueue:
		delete(a.Devices[s.Device].QoS.Queues, s.Number)
	case ovs.RemoveQoS:
		d := a.Devices[s.Device]
		d.QoS, d.Classes = nil, nil
		a.Devices[s.Device] = d
	case ovs.RemoveStrays:
		a.Strays = 0
	case ovs.SetClass:
		d := a.Devices[s.Device]
		if d.Classes == nil {
			d.Classes = make(map[int]ovs.Class)
		}
		d.Classes[s.Number] = s.Class
		a.Devices[s.Device] = d
	case ovs.RemoveClass:
		delete(a.Devices[s.Device].Classes, s.Number)
	case ovs.SetMeter:
		a.Bridges[s.Bridge].Meters[s.Number] = s.Meter
	case ovs.SetFlow:
		a.Bridges[s.Bridge].Flows[s.Port] = s.Flow
	case ovs.RemoveFlow:
		delete(a.Bridges[s.Bridge].Flows, s.Port)
	case ovs.RemoveMeter:
		delete(a.Bridges[s.Bridge].Meters, s.Number)
	}
}

// foreign returns what is not ours of a state.
func foreign(a ovs.Actual) map[string]ovs.QoS {
	all := make(map[string]ovs.QoS)
	for name, d := range a.Devices {
		if d.QoS != nil && !d.QoS.Ours {
			all[name] = ovs.QoS{Type: d.QoS.Type, Rate: d.QoS.Rate, Queues: maps.Clone(d.QoS.Queues)}
		}
	}
	return all
}
