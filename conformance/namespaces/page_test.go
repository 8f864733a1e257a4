package namespaces

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/conformance/server"
	"github.com/berthcloud/berth/internal/traffictest"
)

// received is iperf3's received rate of one connection, in Mbit/s.
var received = regexp.MustCompile(`(?m)^\[ +\d+\] .* ([0-9.]+) Mbits/sec +receiver$`)

// The commands that "berth up --driver netns" prints can be pasted into a shell unchanged, and show
// that a server with a guarantee gets it beside another one, and much less without it.
func TestPageIsTyped(t *testing.T) {
	traffictest.Need(t, "tc", "iperf3")
	for try := 1; ; try++ {
		with, without := typePage(t)
		t.Logf("try %d: with the guarantee %.0f Mbit/s, without %.0f", try, with, without)
		if with >= promised/1000*0.9 && without < with*2/3 {
			return
		}
		if try == tries {
			t.Fatalf("with the guarantee %.0f Mbit/s arrive, without %.0f", with, without)
		}
	}
}

// typePage starts a cloud, has a shell run all that it prints to be typed, and returns what iperf3 measured.
func typePage(t *testing.T) (with, without float64) {
	t.Helper()
	p := server.StartPage(t, commandTime, append(server.UpArgs("127.0.0.1:0", t.TempDir()), "--driver", "netns")...)
	defer func() {
		if err := p.End(syscall.SIGINT, commandTime); err != nil {
			t.Error(err)
		}
	}()
	var typed strings.Builder
	for p.Lines.Scan() && !strings.Contains(p.Lines.Text(), "deletes them") {
		if line, ok := strings.CutPrefix(p.Lines.Text(), "  "); ok && !strings.Contains(line, "listen") { // not the table of services
			typed.WriteString(line + "\n")
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*commandTime)
	defer stop()
	shell := exec.CommandContext(ctx, "/bin/bash", "-c", typed.String())
	shell.Dir = t.TempDir()
	out, err := shell.CombinedOutput()
	rates := received.FindAllStringSubmatch(string(out), -1)
	if err != nil || len(rates) != 2 {
		t.Fatalf("typing\n%s\nends with %v and %d measurements:\n%s\n%s", typed.String(), err, len(rates), out, p.Log.Tail())
	}
	with, err = strconv.ParseFloat(rates[0][1], 64)
	if err != nil {
		t.Fatal(err)
	}
	if without, err = strconv.ParseFloat(rates[1][1], 64); err != nil {
		t.Fatal(err)
	}
	return with, without
}
