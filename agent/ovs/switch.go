package ovs

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// A Switch is an Open vSwitch of this host. It may be used from many goroutines,
// but two that apply steps at the same time may undo each other's.
type Switch struct {
	// DB is a client of the database Open_vSwitch, which runs.
	DB *ovsdb.Client
	// RunDir has the management sockets of the bridges; "" is
	// /var/run/openvswitch.
	RunDir string
	// OFCtl and TC are the programs ovs-ofctl and tc, looked up in the PATH; "" stands for these
	// names.
	OFCtl, TC string
	// Timeout is that of one run of a program; 0 is 10 s.
	Timeout time.Duration
}

// Observe returns the state of the switch. A bridge that does not answer OpenFlow requests says so
// in its state; other errors are those of the database.
func (s *Switch) Observe(ctx context.Context) (Actual, error) {
	r, err := s.read(ctx)
	if err != nil {
		return Actual{}, fmt.Errorf("reading the switch's database: %w", err)
	}
	a := Actual{Bridges: make(map[string]BridgeState), Devices: make(map[string]Device), Strays: r.strays()}
	for _, row := range r.bridges {
		name := ovsdb.Value[string](row, "name")
		a.Bridges[name] = s.bridge(ctx, name, ovsdb.Value[string](row, "datapath_type"))
		for _, id := range ovsdb.Values[ovsdb.UUID](row, "ports") {
			if port, ok := r.ports[id]; ok {
				device := ovsdb.Value[string](port, "name")
				a.Devices[device] = s.device(ctx, device, r.device(name, port), a.Bridges[name].Userspace)
			}
		}
	}
	return a, nil
}

func (s *Switch) bridge(ctx context.Context, name, datapath string) BridgeState {
	b := BridgeState{Userspace: datapath == "netdev"}
	if b.Flows, b.Err = s.flows(ctx, name); b.Err == nil {
		b.Meters, b.Err = s.meters(ctx, name)
	}
	return b
}

// device adds what tc knows of one.
func (s *Switch) device(ctx context.Context, name string, d Device, userspace bool) Device {
	if userspace && d.isUplink() && d.QoS != nil && d.QoS.Ours {
		d.Classes, d.ClassErr = s.classes(ctx, name)
	}
	return d
}

// device makes one of its row and those that it leads to.
func (r *rows) device(bridge string, port ovsdb.Row) Device {
	d := Device{Bridge: bridge}
	for _, id := range ovsdb.Values[ovsdb.UUID](port, "interfaces") {
		row := r.interfaces[id]
		ids := ovsdb.Pairs[string, string](row, "external_ids")
		d.Interfaces = append(d.Interfaces, Interface{
			Name:   ovsdb.Value[string](row, "name"),
			Type:   typeOf(row),
			Port:   ids["iface-id"],
			MAC:    macOf(ids["attached-mac"]),
			Number: int(max(ovsdb.Value[int64](row, "ofport"), 0)), // -1 when it could not be added
			Speed:  Kbps(ovsdb.Value[int64](row, "link_speed") / 1000),
			Error:  ovsdb.Value[string](row, "error"),
		})
	}
	if id := ovsdb.Value[ovsdb.UUID](port, "qos"); id != "" {
		d.QoS = r.discipline(id)
	}
	return d
}

// macOf returns a MAC address in lower case, "" when the text is none.
func macOf(text string) string {
	if m, err := net.ParseMAC(text); err == nil && len(m) == 6 {
		return m.String()
	}
	return ""
}

// typeOf has one word for what the schema has two for.
func typeOf(row ovsdb.Row) string {
	t := ovsdb.Value[string](row, "type")
	if t == "system" {
		return ""
	}
	return t
}

func (r *rows) discipline(id ovsdb.UUID) *QoS {
	row := r.qos[id]
	q := &QoS{
		Ours: ours(row), Type: ovsdb.Value[string](row, "type"), Rate: rate(row, "max-rate"), Queues: make(map[int]Queue),
	}
	for n, id := range ovsdb.Pairs[int64, ovsdb.UUID](row, "queues") {
		queue := r.queues[id]
		q.Queues[int(n)] = Queue{
			Ours: ours(queue), Owner: ovsdb.Pairs[string, string](queue, "external_ids")["berth-port"],
			Min: rate(queue, "min-rate"), Max: rate(queue, "max-rate"), Burst: rate(queue, "burst"),
		}
	}
	return q
}

// A Failure is a step that was not carried out.
type Failure struct {
	Step Step
	Err  error
}

func (f Failure) Error() string { return fmt.Sprintf("%s: %v", f.Step, f.Err) }
func (f Failure) Unwrap() error { return f.Err }

// Apply carries out the steps, all that can be, and returns those that could not.
// ovs-vswitchd acts on changes of the database a moment later.
func (s *Switch) Apply(ctx context.Context, steps []Step) []Failure {
	var failed []Failure
	for _, step := range steps {
		if err := step.apply(ctx, s); err != nil {
			failed = append(failed, Failure{step, err})
		}
	}
	return failed
}

func (s *Switch) runDir() string { return cmp.Or(s.RunDir, "/var/run/openvswitch") }
