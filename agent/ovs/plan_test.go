package ovs_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/agent/ovs"
	"github.com/berthcloud/berth/internal/golden"
)

// TestPlan reads testdata/plan.txt: what a switch has and should have, and what is
// to be done. After that, nothing is.
func TestPlan(t *testing.T) {
	golden.Answer(t, "testdata/plan.txt", func(t *testing.T, question []string) (answer []string) {
		d, a := parse(t, strings.Join(question, "\n"))
		steps := ovs.Plan(d, a)
		for _, s := range steps {
			answer = append(answer, s.String())
		}
		for _, f := range ovs.Findings(d, a) {
			answer = append(answer, fmt.Sprintf("finding %q %s: %s %s", f.Port, f.Device, f.Kind, f.Detail))
		}
		for _, s := range steps {
			carryOut(&a, s)
			carryOut(&a, s)
		}
		if again := ovs.Plan(d, a); len(again) > 0 {
			t.Errorf("%s\nthe second plan is %v, want none", question, again)
		}
		return answer
	})
}

// parse reads the lines of a scenario:
//
//	bridge NAME RATE                                             desired
//	port ID BRIDGE egress=MIN..MAX ingress=MIN..MAX              desired; BRIDGE "-" for none
//	switch BRIDGE [userspace] [silent] [flow=PORT:QUEUE] [meter=NUMBER:RATE:BURST]
//	device NAME BRIDGE [type=] [port=] [mac=] [number=] [speed=] [error=] [qos=TYPE:RATE]
//	    [queue=NUMBER:OWNER:MIN:MAX] [class=NUMBER/MAC/LIMIT]
//	strays NUMBER
//
// A qos whose type begins with "-" is not ours, nor is a queue of the owner "-".
func parse(t *testing.T, text string) (ovs.Desired, ovs.Actual) {
	t.Helper()
	var d ovs.Desired
	a := ovs.Actual{Bridges: make(map[string]ovs.BridgeState), Devices: make(map[string]ovs.Device)}
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "bridge":
			d.Bridges = append(d.Bridges, ovs.Bridge{Name: words[1], Rate: kbps(words[2])})
		case words[0] == "port":
			d.Ports = append(d.Ports, portOf(words))
		case words[0] == "switch":
			a.Bridges[words[1]] = bridgeOf(words[2:])
		case words[0] == "device":
			a.Devices[words[1]] = deviceOf(words)
		case words[0] == "strays":
			a.Strays = int(kbps(words[1]))
		default:
			t.Fatalf("the line %q", line)
		}
	}
	return d, a
}

func kbps(s string) ovs.Kbps {
	n, _ := strconv.Atoi(s)
	return ovs.Kbps(n)
}

func portOf(words []string) ovs.Port {
	p := ovs.Port{ID: words[1], Bridge: strings.TrimPrefix(words[2], "-")}
	for _, w := range words[3:] {
		direction, rates, _ := strings.Cut(w, "=")
		least, most, _ := strings.Cut(rates, "..")
		r := ovs.Rate{Min: kbps(least), Max: kbps(most)}
		if direction == "egress" {
			p.Egress = r
		} else {
			p.Ingress = r
		}
	}
	return p
}

func bridgeOf(words []string) ovs.BridgeState {
	b := ovs.BridgeState{Flows: make(map[int]ovs.Flow), Meters: make(map[int]ovs.Meter)}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		parts := strings.Split(value+"::", ":")
		switch name {
		case "userspace":
			b.Userspace = true
		case "silent":
			b.Err = errors.New("connection refused")
		case "flow":
			b.Flows[int(kbps(parts[0]))] = ovs.Flow{Queue: int(kbps(parts[1]))}
		case "meter":
			b.Meters[int(kbps(parts[0]))] = ovs.Meter{Rate: kbps(parts[1]), Burst: kbps(parts[2])}
		}
	}
	return b
}

func deviceOf(words []string) ovs.Device {
	d := ovs.Device{Bridge: words[2]}
	i := ovs.Interface{Name: words[1], Number: 1}
	for _, w := range words[3:] {
		name, value, _ := strings.Cut(w, "=")
		parts := strings.Split(value, ":")
		switch name {
		case "type":
			i.Type = value
		case "port":
			i.Port = value
		case "mac":
			i.MAC = value
		case "class":
			parts := strings.Split(value, "/")
			if d.Classes == nil {
				d.Classes = make(map[int]ovs.Class)
			}
			d.Classes[int(kbps(parts[0]))] = ovs.Class{MAC: parts[1], Limit: int(kbps(parts[2]))}
		case "number":
			i.Number = int(kbps(value))
		case "speed":
			i.Speed = kbps(value)
		case "error":
			i.Error = value
		case "qos":
			kind, theirs := strings.CutPrefix(parts[0], "-")
			d.QoS = &ovs.QoS{Ours: !theirs, Type: kind, Rate: kbps(parts[1]), Queues: make(map[int]ovs.Queue)}
		case "queue":
			d.QoS.Queues[int(kbps(parts[0]))] = ovs.Queue{
				Ours: d.QoS.Ours && parts[1] != "-", Owner: parts[1], Min: kbps(parts[2]), Max: kbps(parts[3]),
			}
		}
	}
	d.Interfaces = append(d.Interfaces, i)
	return d
}

// Steps get lost, ports come and go, others change what is ours: once all steps of
// a plan succeed, the next one is empty, and nothing foreign has changed.
func TestPlanConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawSwitch(t)
		theirs := foreign(a)
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for _, s := range ovs.Plan(drawDesired(t), a) {
				if rapid.Bool().Draw(t, "the step works") {
					carryOut(&a, s)
				}
			}
		}
		d := drawDesired(t)
		for _, s := range ovs.Plan(d, a) {
			carryOut(&a, s)
		}
		if again := ovs.Plan(d, a); len(again) > 0 {
			t.Fatalf("the second plan is %v", again)
		}
		if diff := cmp.Diff(theirs, foreign(a)); diff != "" {
			t.Fatalf("what is not ours has changed:\n%s", diff)
		}
		everyMinimumHasItsQueue(t, d, a)
	})
}

// everyMinimumHasItsQueue checks what a plan is for, without reading how it is
// made: a port with a guarantee and no finding has a flow to a queue of its own
// that keeps it.
func everyMinimumHasItsQueue(t *rapid.T, d ovs.Desired, a ovs.Actual) {
	missed := make(map[string]bool)
	for _, f := range ovs.Findings(d, a) {
		missed[f.Port] = true
	}
	for _, p := range d.Ports {
		if p.Egress.Min == 0 || missed[p.ID] {
			continue
		}
		tap := a.Devices["tap-"+p.ID]
		q := a.Devices["eth0"].QoS.Queues[a.Bridges[tap.Bridge].Flows[tap.Interfaces[0].Number].Queue]
		if q.Owner != p.ID || q.Min != p.Egress.Min {
			t.Fatalf("port %+v has the queue %+v", p, q)
		}
	}
}

func drawSwitch(t *rapid.T) ovs.Actual {
	a := ovs.Actual{
		Bridges: map[string]ovs.BridgeState{
			"br-int": bridgeOf(nil),
			"br-ex":  bridgeOf([]string{rapid.SampledFrom([]string{"", "userspace"}).Draw(t, "datapath")}),
		},
		Devices: make(map[string]ovs.Device),
	}
	devices := []string{"eth0 br-ex", "patch br-ex type=patch number=2"}
	for i := range rapid.IntRange(0, 4).Draw(t, "plugged ports") {
		devices = append(devices, fmt.Sprintf("tap-p%d br-int port=p%d mac=02:00:00:00:00:0%d number=%d", i, i, i, i+3))
	}
	for _, line := range devices {
		words := strings.Fields("device " + line)
		if rapid.IntRange(0, 5).Draw(t, "foreign") == 0 {
			words = append(words, "qos=-linux-htb:7", "queue=1:x:1:2")
		}
		a.Devices[words[1]] = deviceOf(words)
	}
	return a
}

func drawDesired(t *rapid.T) ovs.Desired {
	d := ovs.Desired{Bridges: []ovs.Bridge{{Name: "br-ex", Rate: 10_000}}}
	rates := func(name string) ovs.Rate {
		r := ovs.Rate{Min: ovs.Kbps(rapid.SampledFrom([]int{0, 0, 1000, 4000}).Draw(t, name))}
		if rapid.Bool().Draw(t, "limited") {
			r.Max = r.Min + 1000
		}
		return r
	}
	for i := range 5 {
		if rapid.Bool().Draw(t, "desired") {
			d.Ports = append(d.Ports, ovs.Port{
				ID: fmt.Sprintf("p%d", i), Bridge: "br-ex", Egress: rates("egress"), Ingress: rates("ingress"),
			})
		}
	}
	return d
}
