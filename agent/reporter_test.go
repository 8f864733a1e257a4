package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/network/portlist"
	"github.com/berthcloud/berth/osloconfig"
)

// A service notes when which heartbeats came; err refuses them.
type service struct {
	begin  time.Time
	beats  []portlist.Heartbeat
	at     []time.Duration
	err    error
	answer portlist.Answer
}

func (s *service) Ports(context.Context, string, string, string, time.Duration) (portlist.List, error) {
	panic("a Reporter requests no ports")
}

func (s *service) Wire(context.Context, string, map[string]bool) error {
	panic("a Reporter wires no ports")
}

func (s *service) Beat(_ context.Context, h portlist.Heartbeat) (portlist.Answer, error) {
	s.beats, s.at = append(s.beats, h), append(s.at, time.Since(s.begin))
	return s.answer, s.err
}

// file writes the settings of an agent and returns what reads them.
func file(t *testing.T, text string) (path string, read func() (*settings.Settings, error)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "agent.ini")
	write(t, path, text)
	return path, func() (*settings.Settings, error) {
		s, _, err := settings.Load(settings.OVS, osloconfig.Sources{Files: []string{path}},
			settings.Names{Host: "h", Canonical: "h"})
		return s, err
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const ini = `[ovs]
bridge_mappings = physnet0:br-physnet0
resource_provider_bandwidths = br-physnet0:1000:1000
[agent]
report_interval = 30
[berth]
watch_interval = 5
`

// newReporter returns a reporter of the file, and its log.
func newReporter(
	t *testing.T, path string, read func() (*settings.Settings, error), services ...agent.Service,
) (*agent.Reporter, *bytes.Buffer) {
	t.Helper()
	set, err := read()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	again := func() (*settings.Settings, []agent.Service, error) {
		s, err := read()
		return s, services, err
	}
	return &agent.Reporter{
		Services: services, Settings: set, Read: again, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Fingerprint: func() settings.Fingerprint {
			return settings.FingerprintOf(osloconfig.Sources{Files: []string{path}})
		},
	}, &log
}

// run runs a reporter for a while.
func run(r *agent.Reporter, d time.Duration, reload <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	r.Run(ctx, reload)
}

func TestReportsAtIntervals(t *testing.T) {
	path, read := file(t, ini)
	synctest.Test(t, func(t *testing.T) {
		s := &service{begin: time.Now()}
		r, _ := newReporter(t, path, read, s)
		run(r, 61*time.Second, nil)
		if len(s.beats) != 3 || s.at[1] != 30*time.Second || s.at[2] != time.Minute {
			t.Fatalf("heartbeats came at %v, want at 0s, 30s and 1m", s.at)
		}
		if !s.beats[0].Start || s.beats[1].Start {
			t.Error("want the start flag in the first heartbeat only")
		}
		if h := s.beats[0]; h.Type != "Open vSwitch agent" || h.Host != "h" ||
			!bytes.Contains(h.Configurations, []byte("br-physnet0")) {
			t.Errorf("the heartbeat is %+v", h)
		}
	})
}

// What is not answered is tried again, later each time, with the start flag.
func TestReportsUntilAnswered(t *testing.T) {
	path, read := file(t, ini)
	synctest.Test(t, func(t *testing.T) {
		s := &service{begin: time.Now(), err: errors.New("away")}
		r, _ := newReporter(t, path, read, s)
		run(r, 10*time.Minute, nil)
		if n := len(s.beats); n < 20 || n > 60 {
			t.Errorf("%d attempts in ten minutes, want one in 15 to 30 s", n)
		}
		for i, h := range s.beats {
			if !h.Start {
				t.Fatalf("attempt %d has no start flag", i)
			}
		}
	})
}

func TestNextServiceIsTried(t *testing.T) {
	path, read := file(t, ini)
	synctest.Test(t, func(t *testing.T) {
		first, second := &service{begin: time.Now(), err: errors.New("away")}, &service{begin: time.Now()}
		r, _ := newReporter(t, path, read, first, second)
		run(r, 91*time.Second, nil)
		if len(first.beats) != 1 || len(second.beats) != 4 {
			t.Errorf("%d and %d heartbeats, want 1 and then 4 for the service that answers", len(first.beats), len(second.beats))
		}
	})
}

func TestChangedFilesAreReported(t *testing.T) {
	path, read := file(t, ini)
	for _, c := range []struct {
		name, text string
		starts     int
		logged     string
	}{
		{"a bandwidth", strings.Replace(ini, "1000:1000", "2000:2000", 1), 2, "setting changed"},
		{"one of the log", "[DEFAULT]\ndebug = true\n" + ini, 2, "take effect at the next start"},
		{"a comment", "# nothing\n" + ini, 1, ""},
		{"nonsense", strings.Replace(ini, "1000:1000", "a:b", 1), 1, "the old ones stay in effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, path, ini)
			synctest.Test(t, func(t *testing.T) {
				s := &service{begin: time.Now()}
				r, log := newReporter(t, path, read, s)
				time.AfterFunc(7*time.Second, func() { write(t, path, c.text) })
				run(r, 29*time.Second, nil)
				starts := 0
				for _, h := range s.beats {
					if h.Start {
						starts++
					}
				}
				if starts != c.starts {
					t.Errorf("%d heartbeats with the start flag, want %d; they came at %v", starts, c.starts, s.at)
				}
				if n := strings.Count(log.String(), c.logged); c.logged != "" && n != 1 {
					t.Errorf("%q is in the log %d times, want once:\n%s", c.logged, n, log)
				}
			})
		})
	}
}

func TestReloadReadsAtOnce(t *testing.T) {
	path, read := file(t, strings.Replace(ini, "watch_interval = 5", "watch_interval = 0", 1))
	synctest.Test(t, func(t *testing.T) {
		s, reload := &service{begin: time.Now()}, make(chan struct{})
		r, _ := newReporter(t, path, read, s)
		time.AfterFunc(7*time.Second, func() {
			write(t, path, strings.Replace(ini, "1000:1000", "2000:2000", 1))
			reload <- struct{}{}
		})
		run(r, 8*time.Second, reload)
		if len(s.beats) != 2 || s.at[1] != 7*time.Second || !bytes.Contains(s.beats[1].Configurations, []byte("2000")) {
			t.Errorf("heartbeats came at %v, want a second one with the new bandwidth at 7s", s.at)
		}
	})
}

// Who moves to another network service is followed there.
func TestChangedAddressIsTaken(t *testing.T) {
	path, read := file(t, ini)
	synctest.Test(t, func(t *testing.T) {
		old, other := &service{begin: time.Now()}, &service{begin: time.Now()}
		r, _ := newReporter(t, path, read, old)
		r.Read = func() (*settings.Settings, []agent.Service, error) {
			s, err := read()
			return s, []agent.Service{other}, err
		}
		time.AfterFunc(7*time.Second, func() { write(t, path, ini+"network_urls = http://192.0.2.7:9696\n") })
		run(r, 41*time.Second, nil)
		if len(old.beats) != 1 || len(other.beats) != 2 || !other.beats[0].Start {
			t.Errorf("%d heartbeats for the old address and %d for the new one, want 1 and 2, the first with the start flag",
				len(old.beats), len(other.beats))
		}
	})
}

// What placement refuses is logged for the operator of the host, once.
func TestFailedSyncsAreLoggedOnce(t *testing.T) {
	path, read := file(t, ini)
	synctest.Test(t, func(t *testing.T) {
		no := false
		s := &service{begin: time.Now(), answer: portlist.Answer{Synced: &no, SyncError: "no root provider"}}
		r, log := newReporter(t, path, read, s)
		run(r, 5*time.Minute, nil)
		if n := strings.Count(log.String(), "no root provider"); n != 1 {
			t.Errorf("the failure is in the log %d times, want once:\n%s", n, log)
		}
	})
}
