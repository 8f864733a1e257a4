package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore"
)

// Warnings and errors of the services are printed on the terminal, and nothing else from their
// logs.
func TestUpShowsWarnings(t *testing.T) {
	dir := t.TempDir()
	u := launch(t, nil, nil, upQuietArgs(dir)...)
	u.url, u.token = u.served("listen"), upToken(t, dir)
	u.logged(`(deletes them)`)
	u.get("/resource_providers")
	rewrite(t, filepath.Join(dir, guideHost+".ini"), strings.ReplaceAll(guideAgents, ":10000000", ":many"))
	if line := u.logged(`^(.+)\n`); !strings.Contains(line, " WARNING ") && !strings.Contains(line, " ERROR ") {
		t.Errorf("after a request and a file that cannot be understood, the terminal shows %q", line)
	}
	u.signal(os.Interrupt)
	if err := u.cmd.Wait(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, upLogFile))
	contains(t, upLogFile, string(text), []string{"path=/resource_providers", "many", "stopped"})
	if info, errStat := os.Stat(filepath.Join(dir, upLogFile)); errors.Join(err, errStat) != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("the log, %v, %v: others may read it", info, errors.Join(err, errStat))
	}
}

// The services are ready as soon as their agents are, with hosts that have no devices too, and the guide's
// agent has the guide's id.
func TestUpIsReadyAtOnce(t *testing.T) {
	dir := t.TempDir()
	u := launch(t, nil, nil, append(upQuietArgs(dir), "--hosts", "3")...)
	if line := u.logged(`^(.+)\n`); line != "Berth is up:" {
		t.Errorf("it begins with %q", line)
	}
	u.logged(`(deletes them)`)
	u.signal(os.Interrupt)
	if err := u.cmd.Wait(); err != nil {
		t.Error(err)
	}
	store, err := sqlstore.OpenNetwork(t.Context(), sqlstore.Options{Path: filepath.Join(dir, "network.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.View(t.Context(), func(r network.Reader) error {
		a, err := network.One[network.AgentRow](r, network.Where(network.ByID, guideAgent))
		if err == nil && (a.Host != guideHost || a.Type != "Open vSwitch agent") {
			t.Errorf("the agent %s is the %s of %s", guideAgent, a.Type, a.Host)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A log file does not grow for ever.
func TestUpLogBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, upLogFile)
	for size, want := range map[int64]bool{maxUpLog: false, maxUpLog + 1: true} {
		rewrite(t, path, "")
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		output, err := new(upOptions).openLog(daemon.Process{}, dir)
		if err := errors.Join(err, output.Close()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || (info.Size() == 0) != want {
			t.Errorf("of a log of %d bytes %d stay, %v", size, info.Size(), err)
		}
	}
}

// The error of a port in use names its process, and the flag that changes it.
func TestUpPortInUse(t *testing.T) {
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	owner := "address already in use by process " + strconv.Itoa(os.Getpid()) + " (" + strings.TrimSpace(string(comm)) + ")"
	for service, flag := range map[string]string{
		"placement": "listen", "network": "network-listen", "compute": "compute-listen",
		"identity": "identity-listen", "image": "image-listen", "metrics": "metrics-listen",
	} {
		t.Run(service, func(t *testing.T) {
			commandLine{
				append(upQuietArgs(t.TempDir()), "--"+flag, ln.Addr().String()), exitListen, nil,
				[]string{"the " + service + " service", "--" + flag + " ", "listening on " + ln.Addr().String(), owner},
			}.try(t)
		})
	}
	t.Run("Serve", func(t *testing.T) {
		commandLine{[]string{"placement", "serve", "--listen", ln.Addr().String()}, exitListen, nil, []string{owner}}.try(t)
	})
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"/a/b-c.yaml": "/a/b-c.yaml", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''", "/$HOME": "'/$HOME'", "~": "'~'"} {
		if got := shellWord(text); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", text, got, want)
		}
	}
}
