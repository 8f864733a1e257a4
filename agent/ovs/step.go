package ovs

import (
	"context"
	"fmt"
)

// A Step is one change of a switch: one of the types below. Its String says what
// it does.
type Step interface {
	fmt.Stringer
	apply(ctx context.Context, s *Switch) error
}

// The steps. Those that remove something succeed when it is not there; none
// changes what is not ours.
type (
	// SetQoS gives a device a QoS, or changes the one that it has.
	SetQoS struct {
		Device, Type string
		Rate         Kbps
	}
	// SetQueue adds a queue to the QoS of a device, or changes it.
	SetQueue struct {
		Device string
		Number int
		Queue  Queue
	}
	// RemoveQueue removes a queue from the QoS of a device.
	RemoveQueue struct {
		Device string
		Number int
	}
	// RemoveQoS removes the QoS of a device, with its queues.
	RemoveQoS struct{ Device string }
	// RemoveStrays removes rows that nothing uses: those of removed devices.
	RemoveStrays struct{}
	// SetMeter adds a meter to a bridge, or changes it.
	SetMeter struct {
		Bridge string
		Number int
		Meter  Meter
	}
	// SetFlow adds the flow for an OpenFlow port, or changes it.
	SetFlow struct {
		Bridge string
		Port   int
		Flow   Flow
	}
	// RemoveFlow removes the flow for an OpenFlow port.
	RemoveFlow struct {
		Bridge string
		Port   int
	}
	// SetClass has packets of a MAC address go through a queue of an uplink.
	SetClass struct {
		Device string
		Number int
		Class  Class
	}
	// RemoveClass ends that.
	RemoveClass struct {
		Device string
		Number int
	}
	// RemoveMeter removes a meter.
	RemoveMeter struct {
		Bridge string
		Number int
	}
)

func (s SetQoS) String() string {
	return fmt.Sprintf("set QoS of %s: %s, %d kbit/s", s.Device, s.Type, s.Rate)
}

func (s SetQueue) String() string {
	owner := "the rest"
	if s.Queue.Owner != nobody {
		owner = "port " + s.Queue.Owner
	}
	return fmt.Sprintf("set queue %d of %s for %s: %d to %d kbit/s, burst %d kbit", s.Number, s.Device, owner, s.Queue.Min,
		s.Queue.Max, s.Queue.Burst)
}

func (s RemoveQueue) String() string  { return fmt.Sprintf("remove queue %d of %s", s.Number, s.Device) }
func (s RemoveQoS) String() string    { return "remove QoS of " + s.Device }
func (s RemoveStrays) String() string { return "remove rows that nothing uses" }

func (s SetMeter) String() string {
	return fmt.Sprintf("set meter %d of %s: %d kbit/s, burst %d kbit", s.Number, s.Bridge, s.Meter.Rate, s.Meter.Burst)
}

func (s SetFlow) String() string {
	return fmt.Sprintf("set flow of %s from port %d: queue %d, metered %t", s.Bridge, s.Port, s.Flow.Queue, s.Flow.Meter)
}

func (s RemoveFlow) String() string {
	return fmt.Sprintf("remove flow of %s from port %d", s.Bridge, s.Port)
}

func (s SetClass) String() string {
	return fmt.Sprintf("have packets of %q go through queue %d of %s, where %d may wait", s.Class.MAC, s.Number, s.Device,
		s.Class.Limit)
}

func (s RemoveClass) String() string {
	return fmt.Sprintf("have no packets go through queue %d of %s", s.Number, s.Device)
}

func (s RemoveMeter) String() string { return fmt.Sprintf("remove meter %d of %s", s.Number, s.Bridge) }
