package ovs

// Actual is what a switch has of what matters here.
type Actual struct {
	Bridges map[string]BridgeState
	Devices map[string]Device // by name
	Strays  int               // rows of ours that nothing uses any more
}

// A BridgeState is a bridge with what is ours of its OpenFlow tables.
type BridgeState struct {
	Userspace bool         // its datapath is that of ovs-vswitchd
	Flows     map[int]Flow // by the OpenFlow port they are for
	Meters    map[int]Meter
	Err       error // why flows and meters are not known, nil when they are
}

// A Device is what Open vSwitch calls a port: one interface, or a bond of several.
type Device struct {
	Bridge     string
	Interfaces []Interface
	QoS        *QoS          // nil for none
	Classes    map[int]Class // of our queues of an uplink in the userspace datapath, by number
	ClassErr   error         // why those are not known, nil when they are
}

// An Interface is one of a device.
type Interface struct {
	Name   string
	Type   string // "" for one of the system
	Port   string // ID of the server's port that it is; "" for none
	MAC    string // of the server's port, in lower case; "" when unknown
	Number int    // of the OpenFlow port, 0 when it has none
	Speed  Kbps   // of the link, 0 when unknown
	Error  string // of ovs-vswitchd, "" when it works
}

// A QoS is a queueing discipline of a device.
type QoS struct {
	Ours   bool
	Type   string
	Rate   Kbps // max-rate
	Queues map[int]Queue
}

// A Queue is one of a QoS. Rates that are 0 are not set.
type Queue struct {
	Ours            bool
	Owner           string // ID of the port, or that of the default queue
	Min, Max, Burst Kbps
}

// A Flow is how packets from an OpenFlow port begin.
type Flow struct {
	Meter bool // they pass the port's meter
	Queue int  // 0: the default one
}

// A Meter drops what exceeds a rate.
type Meter struct{ Rate, Burst Kbps }

const (
	linuxHTB = "linux-htb"
	nobody   = "" // owner of queue 0 of an uplink

	meterBase = 100_000 // is less than any datapath's maximum; port numbers are less than 65280
	meterEnd  = meterBase + 65535
)

// hasQueues reports whether linux-htb works on all interfaces of a device: those
// that the kernel knows.
func (d Device) hasQueues() bool {
	for _, i := range d.Interfaces {
		if i.Type != "" && i.Type != "internal" && i.Type != "tap" {
			return false
		}
	}
	return len(d.Interfaces) > 0
}

// isUplink reports whether a device leads out of the host: it is none of Open
// vSwitch's own and no server's.
func (d Device) isUplink() bool {
	for _, i := range d.Interfaces {
		if i.Port != "" || i.Type != "" && i.Type != "dpdk" {
			return false
		}
	}
	return len(d.Interfaces) > 0
}

// speed returns that of a device's slowest link, as a bond may be down to one; 0
// when it is not known.
func (d Device) speed() Kbps {
	if len(d.Interfaces) == 0 {
		return 0
	}
	least := d.Interfaces[0].Speed
	for _, i := range d.Interfaces {
		least = min(least, i.Speed)
	}
	return least
}
