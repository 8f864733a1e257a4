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

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// Warnings and errors of the services are printed on the terminal, and nothing else from their
// logs.
func TestUpShowsWarnings(t *testing.T) {
	dir := t.TempDir()
	u := launch(t, nil, nil, upQuietArgs(dir)...)
	u.url, u.token = u.served("listen"), upToken(t, dir)
	u.logged(`(deletes them)`)
	u.get("/resource_providers")
	ini := filepath.Join(dir, upHostName+".ini")
	settings, err := os.ReadFile(ini)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, ini, strings.ReplaceAll(string(settings), ":10000000", ":many"))
	if line := u.logged(`^(.+)\n`); !strings.Contains(line, " WARNING ") && !strings.Contains(line, " ERROR ") {
		t.Errorf("after a request and a file that cannot be understood, the terminal shows %q", line)
	}
	u.signal(os.Interrupt)
	if err := u.cmd.Wait(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, upLogName))
	contains(t, upLogName, string(text), []string{"path=/resource_providers", "many", "stopped"})
	if info, errStat := os.Stat(filepath.Join(dir, upLogName)); errors.Join(err, errStat) != nil ||
		info.Mode().Perm()&0o007 != 0 {
		t.Errorf("the log, %v, %v: others may read it", info, errors.Join(err, errStat))
	}
}

// The services are ready as soon as their agents are, with hosts that have no devices too, and the
// guide's agent has the guide's id.
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
	store, err := rowtable.OpenNetwork(t.Context(), sqlstore.Options{Path: filepath.Join(dir, "network.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.View(t.Context(), func(r network.Reader) error {
		a, err := network.One[network.AgentRow](r, network.Where(network.ByID, network.ID(upAgentName)))
		if err == nil && (a.Host != upHostName || a.Type != "Open vSwitch agent") {
			t.Errorf("the agent %s is the %s of %s", upAgentName, a.Type, a.Host)
		}
		return err
	})
	if err != nil {
		t.Error(err)
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
	owner := "address already in use by process " + strconv.Itoa(os.Getpid()) + " (" + strings.TrimSpace(string(comm)) +
		")"
	for service, flag := range map[string]string{
		"placement": "listen", "network": "network-listen", "compute": "compute-listen",
		"identity": "identity-listen", "image": "image-listen", "metrics": "metrics-listen",
	} {
		t.Run(service, func(t *testing.T) {
			commandLine{
				append(upQuietArgs(t.TempDir()), "--"+flag, ln.Addr().String()), cli.ExitListen, nil,
				[]string{"the " + service + " service", "--" + flag + " ", "listening on " + ln.Addr().String(), owner},
			}.try(t)
		})
	}
	t.Run("Serve", func(t *testing.T) {
		commandLine{
			[]string{"placement", "serve", "--listen", ln.Addr().String()}, cli.ExitListen, nil, []string{owner},
		}.try(t)
	})
}
