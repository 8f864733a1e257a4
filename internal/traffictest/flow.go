package traffictest

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
)

// Serve runs iperf3's server in a namespace until the test ends.
func Serve(tb testing.TB, namespace string, port int) {
	tb.Helper()
	p, err := process.Start(exec.Command("ip", "netns", "exec", namespace, "iperf3", "-s", "-p", strconv.Itoa(port)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.End(syscall.SIGKILL, commandTime); err != nil {
			tb.Error(err)
		}
	})
}

// A Flow is the traffic from one namespace.
type Flow struct {
	Namespace   string
	Server      string // the address of iperf3's server
	Port        int
	Connections int
	Download    bool // it receives instead
}

// Reach sends a little, which must arrive.
func (f Flow) Reach(tb testing.TB) {
	tb.Helper()
	if _, err := f.run(tb.Context(), "-n", "64K"); err != nil {
		tb.Fatal(err)
	}
}

// Measure runs all flows together for some seconds, after one to get started, and returns the
// received rate of each in kbit/s of whole frames.
func Measure(tb testing.TB, seconds int, flows ...Flow) []int64 {
	tb.Helper()
	for _, f := range flows { // so that all begin together
		f.Reach(tb)
	}
	rates := make([]int64, len(flows))
	errs := make([]error, len(flows))
	var wg sync.WaitGroup
	for i, f := range flows {
		wg.Go(func() { rates[i], errs[i] = f.run(tb.Context(), "-t", strconv.Itoa(seconds), "-O", "1") })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return rates
}

// Of a full frame, as HTB counts it, iperf3 counts its own payload only.
const (
	frame   = 1514
	payload = 1448
)

// run returns the rate of whole frames. It retries while the server has not started yet or is busy
// with the previous flow.
func (f Flow) run(ctx context.Context, args ...string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	command := append([]string{
		"ip", "netns", "exec", f.Namespace, "iperf3", "-J", "-c", f.Server,
		"-p", strconv.Itoa(f.Port), "-P", strconv.Itoa(f.Connections),
	}, args...)
	if f.Download {
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

// measured reads iperf3's report, which contains its errors.
func measured(ctx context.Context, command []string) (int64, error) {
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
	return int64(report.End.Received.Bits * frame / payload / 1000), nil
}
