package ovs

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	cookie   = "0x62657274682d716f" // marks our flows
	priority = 60000                // before those that agents of Neutron and OVN have in table 0
	once     = "reg15=0/0x80000000" // the bit is set by the flow itself
)

func (step SetMeter) apply(ctx context.Context, s *Switch) error {
	meter := fmt.Sprintf("meter=%d,kbps,burst,stats,band=type=drop,rate=%d,burst_size=%d", step.Number, step.Meter.Rate,
		step.Meter.Burst)
	if _, err := s.ofctl(ctx, "mod-meter", step.Bridge, meter); err == nil {
		return nil
	}
	_, err := s.ofctl(ctx, "add-meter", step.Bridge, meter) // there was none to change
	return err
}

func (step SetFlow) apply(ctx context.Context, s *Switch) error {
	actions := "load:1->NXM_NX_REG15[31],resubmit(,0)"
	if step.Flow.Queue > 0 {
		actions = fmt.Sprintf("set_queue:%d,", step.Flow.Queue) + actions
	}
	if step.Flow.Meter {
		actions = fmt.Sprintf("meter:%d,", meterBase+step.Port) + actions
	}
	flow := fmt.Sprintf("table=0,priority=%d,cookie=%s,in_port=%d,%s,actions=%s", priority, cookie, step.Port,
		once, actions)
	_, err := s.ofctl(ctx, "add-flow", step.Bridge, flow)
	return err
}

func (step RemoveFlow) apply(ctx context.Context, s *Switch) error {
	_, err := s.ofctl(ctx, "del-flows", step.Bridge, fmt.Sprintf("table=0,cookie=%s/-1,in_port=%d", cookie, step.Port))
	return err
}

func (step RemoveMeter) apply(ctx context.Context, s *Switch) error {
	_, err := s.ofctl(ctx, "del-meter", step.Bridge, fmt.Sprintf("meter=%d", step.Number))
	return err
}

// flows reads ours.
func (s *Switch) flows(ctx context.Context, bridge string) (map[int]Flow, error) {
	text, err := s.ofctl(ctx, "dump-flows", bridge, fmt.Sprintf("table=0,cookie=%s/-1", cookie))
	return parseFlows(text), err
}

// meters reads those whose numbers are ours.
func (s *Switch) meters(ctx context.Context, bridge string) (map[int]Meter, error) {
	text, err := s.ofctl(ctx, "dump-meters", bridge)
	return parseMeters(text), err
}

var (
	inPort   = regexp.MustCompile(`[ ,]in_port=(\d+)`)
	setQueue = regexp.MustCompile(`[=,]set_queue:(\d+)`)
	metered  = regexp.MustCompile(`[=,]meter:(\d+)`)
	meterNo  = regexp.MustCompile(`meter=(\d+) `)
	band     = regexp.MustCompile(`rate=(\d+)(?: burst_size=(\d+))?`)
)

func parseFlows(text string) map[int]Flow {
	flows := make(map[int]Flow)
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "actions=") {
			port := figure(inPort, line, 1)
			// One with another port's meter is as good as one without.
			flows[port] = Flow{Meter: figure(metered, line, 1) == meterBase+port, Queue: figure(setQueue, line, 1)}
		}
	}
	return flows
}

func parseMeters(text string) map[int]Meter {
	meters := make(map[int]Meter)
	number := 0
	for _, line := range strings.Split(text, "\n") {
		number = cmp.Or(figure(meterNo, line, 1), number)
		if number > meterBase && number <= meterEnd {
			m := meters[number]
			meters[number] = Meter{
				Rate:  cmp.Or(Kbps(figure(band, line, 1)), m.Rate),
				Burst: cmp.Or(Kbps(figure(band, line, 2)), m.Burst),
			}
		}
	}
	return meters
}

// figure returns a number of a line, 0 when it is not there or too large.
func figure(r *regexp.Regexp, line string, group int) int {
	m := r.FindStringSubmatch(line)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[group])
	if err != nil {
		return 0
	}
	return n
}

func (s *Switch) ofctl(ctx context.Context, command, bridge string, args ...string) (string, error) {
	socket := "unix:" + filepath.Join(s.runDir(), bridge+".mgmt")
	return s.run(ctx, cmp.Or(s.OFCtl, "ovs-ofctl"),
		append([]string{"--no-names", "--no-stats", "-OOpenFlow13", command, socket}, args...)...)
}
