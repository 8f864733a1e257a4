package ovs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovs"
	"github.com/berthcloud/berth/agent/ovsdb"
	"github.com/berthcloud/berth/internal/ovstest"
)

// A host is a switch with an integration bridge, with two servers on it, and a
// patch to a physical bridge with an uplink.
type host struct {
	*ovstest.Switch
	ovs             *ovs.Switch
	network         *ovstest.Namespace // at the other end of the uplink
	server, second  *ovstest.Namespace // at those of tap1 and tap2
	serverIP, farIP string
}

func newHost(t *testing.T) *host {
	t.Helper()
	s := ovstest.NewSwitch(t)
	h := &host{Switch: s, ovs: &ovs.Switch{DB: connect(t, s), RunDir: s.RunDir(), TC: s.Wrap("tc")}}
	s.AddBridge("br-int")
	s.AddBridge("br-ex")
	h.network, h.farIP = s.AddPort("br-ex", "eth1", "")
	h.server, h.serverIP = s.AddPort("br-int", "tap1", "p1")
	h.second, _ = s.AddPort("br-int", "tap2", "p2")
	s.Control("add-port", "br-int", "to-ex", "--", "set", "interface", "to-ex", "type=patch", "options:peer=to-int",
		"--", "add-port", "br-ex", "to-int", "--", "set", "interface", "to-int", "type=patch", "options:peer=to-ex")
	return h
}

func connect(t *testing.T, s *ovstest.Switch) *ovsdb.Client {
	t.Helper()
	remotes, err := ovsdb.ParseRemotes(s.Server.Remote())
	if err != nil {
		t.Fatal(err)
	}
	db := ovsdb.New(ovsdb.Config{Remotes: remotes, Database: "Open_vSwitch"})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = db.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return db
}

func (h *host) observe(t *testing.T) ovs.Actual {
	t.Helper()
	a, err := h.ovs.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// reach takes the switch to what is desired and returns the steps.
func (h *host) reach(t *testing.T, d ovs.Desired) []ovs.Step {
	t.Helper()
	steps := ovs.Plan(d, h.observe(t))
	for range 2 { // each may run twice
		if failed := h.ovs.Apply(t.Context(), steps); len(failed) > 0 {
			t.Errorf("Apply: %v", failed)
		}
	}
	if again := ovs.Plan(d, h.observe(t)); len(again) > 0 {
		t.Errorf("after %v the plan is %v, want none", steps, again)
	}
	return steps
}

// classes waits until tc has the HTB classes of a device, as "class rate ceil".
func (h *host) classes(t *testing.T, device string, want ...string) {
	t.Helper()
	class := regexp.MustCompile(`class htb (\S+) .*rate (\S+) ceil (\S+)`)
	ovstest.Await(t, fmt.Sprintf("tc has %v on %s", want, device), func() bool {
		out := h.Run("tc", "-s", "class", "show", "dev", device)
		got := make(map[string]bool)
		for _, m := range class.FindAllStringSubmatch(out, -1) {
			got[strings.Join(m[1:], " ")] = true
		}
		for _, w := range want {
			if !got[w] {
				return false
			}
		}
		return len(got) == len(want)
	})
}

func twoServers() ovs.Desired {
	return ovs.Desired{
		Bridges: []ovs.Bridge{{Name: "br-ex", Rate: 1_000_000}},
		Ports: []ovs.Port{
			{ID: "p1", Bridge: "br-ex", Egress: ovs.Rate{Min: 100_000, Max: 300_000}, Ingress: ovs.Rate{Max: 50_000}},
			{ID: "p2", Bridge: "br-ex", Egress: ovs.Rate{Min: 200_000}},
		},
	}
}

func TestQueuesAreMade(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.reach(t, twoServers())
	h.classes(t, "eth1", "1:fffe 1Gbit 1Gbit", "1:1 700Mbit 1Gbit", "1:2 100Mbit 300Mbit", "1:3 200Mbit 1Gbit")
	h.classes(t, "tap1", "1:fffe 50Mbit 50Mbit", "1:1 12Kbit 50Mbit")
	h.classes(t, "tap2")

	if fs := ovs.Findings(twoServers(), h.observe(t)); len(fs) > 0 {
		t.Errorf("findings: %v", fs)
	}
	h.Control("remove", "interface", "tap2", "external_ids", "attached-mac")
	if fs := ovs.Findings(twoServers(), h.observe(t)); !hasKind(fs, ovs.UserspaceDatapath) {
		t.Errorf("without an address to go by, findings are %v", fs)
	}

	// What a port sends has its queue at the uplink, beyond the patch.
	out, err := exec.CommandContext(t.Context(), "ovs-appctl", "-t", h.RunDir()+"/vswitchd.ctl", "ofproto/trace", "br-int",
		"in_port=2,dl_src=02:00:00:00:00:01").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "set(skb_priority(0x2))") {
		t.Errorf("the way of a packet of tap2, %v:\n%s", err, out)
	}

	h.reach(t, ovs.Desired{})
	h.classes(t, "eth1")
	h.classes(t, "tap1")
	if got := h.Control("--columns=_uuid", "find", "queue") + h.Control("--columns=_uuid", "find", "qos"); got != "" {
		t.Errorf("rows are left: %s", got)
	}
}

// Rates change; the queues keep their numbers, and what is right is skipped.
func TestRatesChange(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	d := twoServers()
	h.reach(t, d)
	d.Ports[0].Egress.Min = 150_000
	want := []string{
		"set queue 0 of eth1 for the rest: 650000 to 1000000 kbit/s, burst 0 kbit",
		"set queue 1 of eth1 for port p1: 150000 to 300000 kbit/s, burst 0 kbit",
	}
	var got []string
	for _, s := range h.reach(t, d) {
		got = append(got, s.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps -want +got:\n%s", diff)
	}
	h.classes(t, "eth1", "1:fffe 1Gbit 1Gbit", "1:1 650Mbit 1Gbit", "1:2 150Mbit 300Mbit", "1:3 200Mbit 1Gbit")
}

// ovs-vswitchd forgets flows and meters, not queues. While it is away, the
// database is written to, and the rest fails.
func TestSwitchRestarts(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	d := twoServers()
	h.reach(t, d)
	h.StopDaemon()
	a := h.observe(t)
	if err := a.Bridges["br-int"].Err; err == nil {
		t.Error("the bridge has no error while ovs-vswitchd is away")
	}
	d.Ports[1].Egress.Min = 250_000
	failed := h.ovs.Apply(t.Context(), append([]ovs.Step{ovs.SetFlow{Bridge: "br-int", Port: 2}}, ovs.Plan(d, a)...))
	if len(failed) != 1 || failed[0].Step != (ovs.SetFlow{Bridge: "br-int", Port: 2}) {
		t.Errorf("Apply: %v, want the flow to fail and nothing else", failed)
	}
	h.StartDaemon()
	for _, step := range h.reach(t, d) {
		switch step.(type) {
		case ovs.SetFlow, ovs.SetMeter, ovs.SetClass:
		default:
			t.Errorf("after the restart there is the step %q", step)
		}
	}
	h.classes(t, "eth1", "1:fffe 1Gbit 1Gbit", "1:1 650Mbit 1Gbit", "1:2 100Mbit 300Mbit", "1:3 250Mbit 1Gbit")
}

func TestVanishedPort(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	d := twoServers()
	h.reach(t, d)
	h.Control("del-port", "tap1")
	d.Ports = d.Ports[1:]
	h.reach(t, d)
	h.classes(t, "eth1", "1:fffe 1Gbit 1Gbit", "1:1 800Mbit 1Gbit", "1:3 200Mbit 1Gbit")
	if a := h.observe(t); a.Strays != 0 || len(a.Bridges["br-int"].Flows) != 1 || len(a.Bridges["br-int"].Meters) != 0 {
		t.Errorf("left are %d rows and %+v", a.Strays, a.Bridges["br-int"])
	}
}

// A QoS, queues, flows and a meter of others stay as they are.
func TestForeignStaysUntouched(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.Control("set", "port", "tap1", "qos=@q", "--", "--id=@q", "create", "qos", "type=linux-htb",
		"other-config:max-rate=7000000",
		"queues:0=@z", "--", "--id=@z", "create", "queue", "other-config:max-rate=7000000", "external_ids:id=x")
	h.Control("create", "queue", "other-config:max-rate=9") // that nothing uses
	h.openflow(t, "add-meter", "br-int", "meter=7,kbps,band=type=drop,rate=1000")
	h.openflow(t, "add-flow", "br-int", "table=0,cookie=7,priority=100,in_port=1,actions=meter:7,NORMAL")
	foreign := func() string {
		return h.Control("--columns=_uuid,qos,name", "list", "port", "tap1") + h.Control("list", "qos") +
			h.Control("list", "queue") +
			h.openflow(t, "dump-flows", "br-int") + h.openflow(t, "dump-meters", "br-int")
	}
	before := foreign()
	d := twoServers()
	h.reach(t, d)
	a := h.observe(t)
	if fs := ovs.Findings(d, a); !hasKind(fs, ovs.Foreign) {
		t.Errorf("findings are %v, want one of %q", fs, ovs.Foreign)
	}
	for _, s := range []ovs.Step{
		ovs.RemoveQoS{Device: "tap1"},
		ovs.SetQoS{Device: "tap1"},
		ovs.SetQueue{Device: "tap1"},
		ovs.RemoveQueue{Device: "tap1"},
	} {
		if failed := h.ovs.Apply(t.Context(), []ovs.Step{s}); len(failed) != 1 {
			t.Errorf("%s was carried out", s)
		}
	}
	h.reach(t, ovs.Desired{})
	if diff := cmp.Diff(before, foreign()); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

func hasKind(fs []ovs.Finding, k ovs.Kind) bool {
	for _, f := range fs {
		if f.Kind == k {
			return true
		}
	}
	return false
}

func (h *host) openflow(t *testing.T, command, bridge string, args ...string) string {
	t.Helper()
	args = append([]string{"-OOpenFlow13", "--no-stats", command, "unix:" + h.RunDir() + "/" + bridge + ".mgmt"}, args...)
	out, err := exec.CommandContext(t.Context(), "ovs-ofctl", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The limits hold on the wire: 20 Mbit/s each way, where ten times as much goes
// through without.
func TestLimitsHoldOnTheWire(t *testing.T) {
	h := loadable(t)
	h.reach(t, ovs.Desired{Ports: []ovs.Port{{
		ID: "p1", Egress: ovs.Rate{Max: 20_000, Burst: 4_000}, Ingress: ovs.Rate{Max: 20_000},
	}}})
	h.classes(t, "tap1", "1:fffe 20Mbit 20Mbit", "1:1 12Kbit 20Mbit")
	for direction, rate := range map[string]float64{
		"from the server": send(t, h.server, h.farIP), "to the server": send(t, h.network, h.serverIP),
	} {
		t.Logf("%s: %.1f Mbit/s", direction, rate)
		if rate < 3 || rate > 25 {
			t.Errorf("%s there are %.1f Mbit/s, want 20 at most and not much less", direction, rate)
		}
	}
	h.reach(t, ovs.Desired{})
	h.classes(t, "tap1")
	if free := best(40, func() float64 { return send(t, h.server, h.farIP) }); free < 40 {
		t.Errorf("without limits there are %.1f Mbit/s", free)
	}
}

// A server with a guarantee keeps it while another floods the uplink, and may use
// more when there is more.
func TestGuaranteeHoldsOnTheWire(t *testing.T) {
	h := loadable(t)
	h.reach(t, ovs.Desired{
		Bridges: []ovs.Bridge{{Name: "br-ex", Rate: 40_000}},
		Ports:   []ovs.Port{{ID: "p1", Bridge: "br-ex", Egress: ovs.Rate{Min: 30_000}}},
	})
	end := h.second.Serve("iperf3", "-u", "-b", "80M", "-c", h.farIP, "-p", "5202", "-t", "60")
	dropped := regexp.MustCompile(`pfifo .* parent 1:1 .*\n.*dropped [1-9]`)
	ovstest.Await(t, "the flood fills its queue", func() bool {
		return dropped.MatchString(h.Run("tc", "-s", "qdisc", "show", "dev", "eth1"))
	})
	rate := best(25, func() float64 { return send(t, h.server, h.farIP) })
	end()
	single := best(32, func() float64 { return send(t, h.server, h.farIP) })
	t.Logf("with a flood %.1f Mbit/s, without %.1f Mbit/s", rate, single)
	if rate < 25 {
		t.Errorf("of 30 Mbit/s that are guaranteed %.1f get through a flood", rate)
	}
	if single < 32 {
		t.Errorf("without a flood there are %.1f Mbit/s, want nearly 40", single)
	}
}

// best measures again a few times while a rate is below what it should be: the machine
// may be busy with other things.
func best(want float64, measure func() float64) (rate float64) {
	for range 10 {
		if rate = max(rate, measure()); rate >= want {
			break
		}
	}
	return rate
}

// loadable returns a host whose network and first server have iperf3 servers.
func loadable(t *testing.T) *host {
	t.Helper()
	ovstest.Need(t, "iperf3 ethtool", "iperf3", "ethtool")
	h := newHost(t)
	for _, n := range []*ovstest.Namespace{h.server, h.second, h.network} {
		n.Run("ethtool", "-K", "eth0", "tx", "off") // the datapath in userspace takes checksums as they are
	}
	h.server.Serve("iperf3", "-s")
	h.network.Serve("iperf3", "-s")
	h.network.Serve("iperf3", "-s", "-p", "5202")
	ovstest.Await(t, "the servers listen", func() bool {
		_, err := h.server.Try("iperf3", "-c", h.farIP, "-n", "1K")
		_, err2 := h.network.Try("iperf3", "-c", h.serverIP, "-n", "1K")
		_, err3 := h.second.Try("iperf3", "-c", h.farIP, "-n", "1K", "-p", "5202")
		return err == nil && err2 == nil && err3 == nil
	})
	return h
}

// send measures what TCP carries, in Mbit/s.
func send(t *testing.T, from *ovstest.Namespace, dst string) float64 {
	t.Helper()
	out := from.Run("iperf3", "-c", dst, "-t", "2", "-J")
	var report struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	return report.End.Received.Rate / 1e6
}

func TestProgramsThatFail(t *testing.T) {
	t.Parallel()
	hangs := filepath.Join(t.TempDir(), "ovs-ofctl")
	if err := os.WriteFile(hangs, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := &ovs.Switch{OFCtl: hangs, Timeout: 50 * time.Millisecond}
	failed := s.Apply(t.Context(),
		[]ovs.Step{ovs.RemoveFlow{Bridge: "br-int", Port: 1}, ovs.RemoveMeter{Bridge: "br-int", Number: 1}})
	if len(failed) != 2 || !errors.Is(failed[0], context.DeadlineExceeded) {
		t.Errorf("Apply: %v, want two that took too long", failed)
	}
	s.OFCtl = "no-such-program"
	failed = s.Apply(t.Context(), []ovs.Step{ovs.RemoveFlow{Bridge: "br-int", Port: 1}})
	if len(failed) != 1 || !errors.Is(failed[0], exec.ErrNotFound) {
		t.Errorf("Apply: %v, want %v", failed, exec.ErrNotFound)
	}
}
