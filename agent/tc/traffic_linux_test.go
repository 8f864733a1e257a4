package tc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/agent/tc"
)

// A lab is a host with two servers and a NIC, and what is at the other end of
// the NIC's wire. Each is a network namespace:
//
//	quiet ──tap0─┐
//	             bridge ──nic════wire── outside
//	loud ───tap1─┘
type lab struct {
	host, quiet, loud, outside string
	kernel                     *tc.Linux
}

// The lab's addresses, and where iperf3 listens outside.
const (
	outsideIP           = "192.0.2.1"
	quietPort, loudPort = 5201, 5202
)

func newLab(t *testing.T) *lab {
	t.Helper()
	needKernel(t, "iperf3")
	l := &lab{
		host: namespace(t, "host"), quiet: namespace(t, "quiet"),
		loud: namespace(t, "loud"), outside: namespace(t, "outside"),
	}
	run(t, "ip", "-n", l.host, "link", "add", "bridge", "type", "bridge")
	run(t, "ip", "-n", l.host, "link", "set", "bridge", "up")
	for i, end := range []struct{ host, ns string }{{"nic", l.outside}, {"tap0", l.quiet}, {"tap1", l.loud}} {
		run(t, "ip", "-n", l.host, "link", "add", end.host, "type", "veth",
			"peer", "name", "eth0", "address", mac(byte(i)).String(), "netns", end.ns)
		run(t, "ip", "-n", l.host, "link", "set", end.host, "master", "bridge", "up")
		run(t, "ip", "-n", end.ns, "address", "add", fmt.Sprintf("192.0.2.%d/24", i+1), "dev", "eth0")
		run(t, "ip", "-n", end.ns, "link", "set", "eth0", "up")
	}
	l.kernel = openIn(t, l.host)
	l.serve(t, quietPort)
	l.serve(t, loudPort)
	return l
}

// serve runs iperf3's server outside until the test ends.
func (l *lab) serve(t *testing.T, port int) {
	t.Helper()
	cmd := exec.Command("ip", "netns", "exec", l.outside, "iperf3", "-s", "-p", strconv.Itoa(port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// A flow is what a server does for a while.
type flow struct {
	ns          string
	port        int
	connections int
	download    bool
}

// measure lets all flows run together for some seconds, after one to get going,
// and gives what arrived of each in kbit/s.
func measure(t *testing.T, seconds int, flows ...flow) []tc.Kbps {
	t.Helper()
	for _, f := range flows { // so that all are ready to begin together
		if _, err := f.run(t.Context(), "-n", "64K"); err != nil {
			t.Fatal(err)
		}
	}
	rates := make([]tc.Kbps, len(flows))
	errs := make([]error, len(flows))
	var wg sync.WaitGroup
	for i, f := range flows {
		wg.Go(func() { rates[i], errs[i] = f.run(t.Context(), "-t", strconv.Itoa(seconds), "-O", "1") })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return rates
}

// Of a full frame, as HTB counts it, iperf3 counts only what it sent itself.
const (
	frame   = 1514
	payload = 1448
)

// run gives the rate of whole frames. It tries again while the server is not
// there yet, or busy with what was before.
func (f flow) run(ctx context.Context, args ...string) (tc.Kbps, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	command := append([]string{
		"ip", "netns", "exec", f.ns, "iperf3", "-J", "-c", outsideIP,
		"-p", strconv.Itoa(f.port), "-P", strconv.Itoa(f.connections),
	}, args...)
	if f.download {
		command = append(command, "-R")
	}
	rate, err := measured(ctx, command)
	for err != nil {
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(50 * time.Millisecond):
			rate, err = measured(ctx, command)
		}
	}
	return rate, nil
}

// measured reads iperf3's report, which is where it tells of errors.
func measured(ctx context.Context, command []string) (tc.Kbps, error) {
	out, err := execute(ctx, command...)
	if err != nil {
		return 0, err
	}
	var report struct {
		Error string `json:"error"`
		End   struct {
			Received struct {
				Bits float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return 0, err
	}
	if report.Error != "" {
		return 0, errors.New(report.Error)
	}
	return tc.Kbps(report.End.Received.Bits * frame / payload / 1000), nil
}

// TestGuaranteeHolds lets a server with one connection keep its guarantee
// against a neighbour with many, in both directions, and take more when the
// neighbour is done. What the machine does besides may spoil a try.
func TestGuaranteeHolds(t *testing.T) {
	const (
		link      tc.Kbps = 500_000
		guarantee tc.Kbps = 200_000
		tries             = 3
	)
	for _, direction := range []tc.Direction{tc.Egress, tc.Ingress} {
		t.Run(string(direction), func(t *testing.T) {
			l := newLab(t)
			quiet := flow{l.quiet, quietPort, 1, direction == tc.Ingress}
			loud := flow{l.loud, loudPort, 16, direction == tc.Ingress}
			with := func(p tc.Port) {
				enforce(t, l.kernel, tc.Link{Interface: "nic", Direction: direction, Rate: link, Ports: []tc.Port{p}})
			}
			for try := 1; ; try++ {
				with(tc.Port{Key: "all", Max: link})
				without := measure(t, 2, quiet, loud)
				with(tc.Port{Key: "quiet", MAC: mac(1), Min: guarantee})
				together := measure(t, 3, quiet, loud)
				alone := measure(t, 2, quiet)
				t.Logf("try %d: kbit/s without a guarantee %d, with it %d, alone %d", try, without, together, alone)
				switch {
				case together[0] >= guarantee*95/100 && alone[0] > together[0]*3/2:
					if without[0] >= guarantee*95/100 {
						t.Log("the neighbour was not greedy enough for this to prove much")
					}
					return
				case try == tries:
					t.Fatalf("the server got %d kbit/s beside its neighbour and %d alone; guaranteed are %d of %d",
						together[0], alone[0], guarantee, link)
				}
			}
		})
	}
}
