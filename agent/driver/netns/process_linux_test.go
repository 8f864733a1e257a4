package netns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/process"
)

// kills is how often TestKilled kills a driver.
const kills = 20

// TestKilled kills a driver that makes and destroys servers, at any moment. The next one
// knows each server as it is, or as half made, and removes all of it. It is run by itself a
// second time, as the one that is killed.
func TestKilled(t *testing.T) {
	if text := os.Getenv("BERTH_TEST_KILLED"); text != "" {
		work(t, text)
		return
	}
	m := newMachine(t)
	m.addDevice("ens5v1", "0a:00:00:00:00:07")
	self, err := os.Executable()
	m.must(err)
	config, err := json.Marshal(m.config)
	m.must(err)
	counts := map[string]int{}
	for range kills {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "BERTH_TEST_KILLED="+string(config))
		p, err := process.Start(cmd)
		m.must(err)
		moment := time.NewTimer(20*time.Millisecond + rand.N(300*time.Millisecond))
		select {
		case <-moment.C:
		case <-p.Ended():
			t.Fatalf("the driver ended by itself: %v", cmd.ProcessState)
		}
		p.Kill()
		m.restart()
		all, err := m.driver.Servers(t.Context())
		m.must(err)
		for _, s := range all {
			counts[m.inspect(s)]++
			m.must(m.driver.Destroy(t.Context(), s.ID))
			m.wantState(s.ID, nil)
		}
		m.wantTaps("")
		m.hostHas("ens5v1", "0a:00:00:00:00:07")
		if t.Failed() {
			return
		}
	}
	t.Logf("of %d kills: %v", kills, counts)
}

// inspect holds a server that was made to the end to what is said of it.
func (m *machine) inspect(s driver.State) string {
	m.t.Helper()
	if !s.Built {
		return "half made"
	}
	inside := m.inside(s.ID)
	if n := strings.Count(inside, "eth"); n < len(s.Ports) ||
		strings.Count(inside, " veth ")+strings.Count(inside, " macvlan ") != len(s.Ports) {
		m.t.Errorf("a server is said to be %+v, and has\n%s", s, inside)
	}
	return fmt.Sprintf("with %d ports", len(s.Ports))
}

// work does all that a driver can do, again and again.
func work(t *testing.T, text string) {
	var config netns.Config
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	d, err := netns.New(config)
	if err != nil {
		t.Fatal(err)
	}
	s := (&machine{}).server(port(2), direct(1), shared(3))
	other := s
	other.Ports = []hostlist.Port{shared(3), port(2), port(5)}
	ctx := context.Background()
	for n := 0; ; n++ {
		for _, err := range []error{
			d.Build(ctx, s), d.Plug(ctx, s.ID, port(4)), d.Unplug(ctx, s.ID, direct(1).ID), d.Unplug(ctx, s.ID, port(2).ID),
			d.Stop(ctx, s.ID), d.Plug(ctx, s.ID, direct(1)), d.Start(ctx, s.ID, fmt.Sprint(n)), d.Build(ctx, other),
			d.Destroy(ctx, s.ID),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestHostOfTheProcess uses the namespace that the driver's process is in. It is run by itself
// a second time, in that of a machine.
func TestHostOfTheProcess(t *testing.T) {
	if text := os.Getenv("BERTH_TEST_HOST"); text != "" {
		passBy(t, text)
		return
	}
	m := newMachine(t)
	self, err := os.Executable()
	m.must(err)
	own := m.config
	own.Namespace = ""
	config, err := json.Marshal(own)
	m.must(err)
	before := m.names()
	cmd := exec.CommandContext(t.Context(), "nsenter", "--net=/run/netns/"+m.host, self,
		"-test.run=^TestHostOfTheProcess$")
	cmd.Env = append(os.Environ(), "BERTH_TEST_HOST="+string(config))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m.wantTaps("tap00000001-90 br0")
	s := m.server(port(1))
	m.wantState(s.ID, built(s.ID, "", port(1)))
	m.must(m.driver.Destroy(t.Context(), s.ID))
	if diff := cmp.Diff(before, m.names()); diff != "" {
		t.Errorf("the host afterwards (-before +after):\n%s", diff)
	}
}

// passBy makes a server, and a lab that it removes.
func passBy(t *testing.T, text string) {
	var config netns.Config
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	d, err := netns.New(config)
	if err != nil {
		t.Fatal(err)
	}
	lab := &netns.Lab{
		Hosts: []string{""},
		Wires: []netns.Wire{{NIC: "ens5", Bridge: "br-ens5", Outside: config.Prefix + "outside", Rate: wireRate}},
	}
	s := (&machine{}).server(port(1))
	for _, err := range []error{
		lab.Make(t.Context()), lab.Make(t.Context()), d.Build(t.Context(), s), d.Build(t.Context(), s),
		lab.Remove(t.Context()), lab.Remove(t.Context()),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}
