package namespaces

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/traffictest"
)

// received is iperf3's received rate of one connection, in Mbit/s.
var received = regexp.MustCompile(`(?m)^\[ +\d+\] .* ([0-9.]+) Mbits/sec +receiver$`)

// The commands that "berth up --driver netns" prints can be pasted into a shell unchanged, and show
// that a server with a guarantee gets it next to another one, and much less without it.
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

// typePage starts a cloud, has a shell run all that it prints to be typed, and returns what iperf3
// measured.
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
		// Lines of the table of services are no commands.
		if line, ok := strings.CutPrefix(p.Lines.Text(), "  "); ok && !strings.Contains(line, "listen") {
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

const manual = "../../docs/operations/namespaces.md"

// The commands of the page for operators print what it says, and iperf3 the guarantee before and
// after the move.
func TestManualIsTyped(t *testing.T) {
	traffictest.Need(t, "tc", "iperf3")
	openstack.Need(t)
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	lines, wants := prompts(string(text))
	if len(lines) < 20 {
		t.Fatalf("%s has %d commands: this test looks for the wrong thing", manual, len(lines))
	}
	for try := 1; ; try++ {
		rates := typeManual(t, lines, wants)
		t.Logf("try %d: Mbit/s before and after the move %.0f", try, rates)
		if t.Failed() || len(rates) == 2 && min(rates[0], rates[1]) >= promised/1000*0.9 {
			return
		}
		if len(rates) != 2 || try == tries {
			t.Fatalf("%.0f Mbit/s arrive before and after the move, promised are %d", rates, promised/1000)
		}
	}
}

// prompts returns the commands on a page, and what each prints.
func prompts(text string) (lines, wants []string) {
	more, its := false, false // the last command goes on; the block has it
	for line := range strings.Lines(text) {
		code, block := strings.CutPrefix(line, "    ")
		command, prompt := strings.CutPrefix(code, "$ ")
		last := len(lines) - 1
		switch {
		case !block:
			its = false
		case prompt:
			its = true
			lines, wants = append(lines, command), append(wants, "")
		case more:
			lines[last] += code
		case its:
			wants[last] += code
		}
		more = block && strings.HasSuffix(line, "\\\n") && (prompt || more)
	}
	return lines, wants
}

// typeManual starts a cloud with two hosts, types commands in one shell, compares what they print,
// and returns the rates among it in the place of which the page has those of another run.
func typeManual(t *testing.T, lines, wants []string) (rates []float64) {
	t.Helper()
	up, dir := server.StartBerthUp(t, "--driver", "netns", "--hosts", "2")
	defer up.Stop()
	const between = "=== the next command ==="
	var typed strings.Builder
	for _, line := range lines {
		typed.WriteString(strings.ReplaceAll(line, "/root/.local/share/berth/up", dir) + "echo '" + between + "'\n")
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*commandTime)
	defer stop()
	shell := exec.CommandContext(ctx, "/bin/bash", "-c", typed.String())
	shell.Dir = t.TempDir()
	out, err := shell.CombinedOutput()
	printed := strings.Split(string(out), between+"\n")
	if err != nil || len(printed) != len(lines)+1 {
		t.Fatalf("typing\n%s\nends with %v:\n%s", typed.String(), err, out)
	}
	for i, got := range printed[:len(lines)] {
		if rate := received.FindStringSubmatch(got); rate != nil && received.MatchString(wants[i]) {
			n, err := strconv.ParseFloat(rate[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			rates = append(rates, n)
		} else if strings.TrimSpace(got) != strings.TrimSpace(wants[i]) {
			t.Errorf("%sprints\n%snot\n%s", lines[i], got, wants[i])
		}
	}
	return rates
}
