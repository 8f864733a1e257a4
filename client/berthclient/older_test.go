package berthclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/client/berthclient"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A lines collects log lines.
type lines struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// A servedList is the list of a host's servers, for which polls wait.
type servedList struct {
	mu      sync.Mutex // guards what follows
	list    hostlist.List
	changed chan struct{}
}

func (s *servedList) set(l hostlist.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = l
	close(s.changed)
	s.changed = make(chan struct{})
}

// answer answers a poll as soon as the list has another revision than the one that the poll names.
func (s *servedList) answer(w http.ResponseWriter, r *http.Request) {
	for {
		s.mu.Lock()
		l, changed := s.list, s.changed
		s.mu.Unlock()
		if r.URL.Query().Get("revision") != l.Revision {
			_ = json.NewEncoder(w).Encode(l)
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// TestOlderServiceRefusesReports: a service that does not know a member of a report refuses it. The
// error says which member, and what to do; a host that starts keeps its servers and repeats the
// report until the service is upgraded, and one whose service is replaced by an older one goes on
// to do what its list says.
func TestOlderServiceRefusesReports(t *testing.T) {
	_, handler := computing(t, nil)
	p := clienttest.NewProxy(t, handler)
	var older atomic.Bool
	older.Store(true)
	served := &servedList{list: hostlist.List{Revision: "r0", Servers: []hostlist.Server{}}, changed: make(chan struct{})}
	p.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			served.answer(w, r)
			return true
		}
		if older.Load() && r.URL.Path == "/berth/v1/heartbeats" { // what agents of a later release write
			body, _ := io.ReadAll(r.Body)
			body = bytes.Replace(body, []byte(`{"host":{`), []byte(`{"host":{"of_a_later_release":true,`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		return false
	})
	var log lines
	var fake driver.Fake
	const vm = "33333333-0000-4000-8000-000000000001"
	clienttest.Must(t, "Build", fake.Build(t.Context(), hostlist.Server{ID: vm}))
	h := berthclient.NewHost(clienttest.Options(t, p.URL), berthclient.HostReporter{
		Name: "cn1", Report: func() (compute.Report, error) {
			return compute.Report{
				Host: "cn1", Version: 64, Node: compute.NodeRow{
					ID: nodeID, Name: "cn1", Type: "fake", Version: 1, CPU: []byte(`{"model": "` + strings.Repeat("x", 2000) + `"}`),
				},
			}, nil
		},
	})
	defer h.Close()
	agent := host.Host{
		Service: h, Driver: &fake, Log: slog.New(slog.NewTextHandler(&log, nil)), ReportInterval: 10 * time.Millisecond,
		Concurrency: 1,
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	var running sync.WaitGroup
	running.Go(func() { agent.Run(ctx) })
	defer running.Wait()
	defer stop()
	await := func(what string, reached func() bool) {
		t.Helper()
		for !reached() {
			if ctx.Err() != nil {
				t.Fatalf("%s: takes too long; the log is\n%s", what, &log)
			}
			runtime.Gosched()
		}
	}
	refusals := func() int { return strings.Count(log.String(), "upgrade all its instances") }
	exists := func() bool {
		all, err := fake.Servers(t.Context())
		clienttest.Must(t, "Servers", err)
		return len(all) == 1
	}

	await("two reports to an older service", func() bool { return refusals() >= 2 })
	if text := log.String(); !strings.Contains(text, "('of_a_later_release' was unexpected)") {
		t.Errorf("the log does not name what is not known:\n%s", text)
	}
	if !exists() {
		t.Error("the host destroyed its server")
	}
	if _, err := h.Preview(ctx); err == nil || !strings.Contains(err.Error(), "upgrade all its instances") {
		t.Errorf("Preview = %v", err)
	}
	older.Store(false)
	p.Requests()
	await("the service is upgraded", func() bool {
		return clienttest.Count(p.Requests(), "GET /berth/v1/hosts/cn1/servers") > 0
	})

	older.Store(true)
	before := refusals()
	await("a report after the service was replaced by an older one", func() bool { return refusals() > before })
	served.set(hostlist.List{Revision: "r1", Servers: []hostlist.Server{{ID: vm, Deleted: true}}})
	await("a command of an older service", func() bool { return !exists() })
}
