package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/config"
)

// TestPlacementCheck follows a check while placement is unavailable, too old, and upgraded.
func TestPlacementCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var mu sync.Mutex        // for the check's goroutine and this one
		newest, requests := 0, 0 // 0: it does not answer
		pause := placementCheckEvery / 2
		c := placementCheck{
			minor: 36, purpose: "its hosts", extra: 39, without: "a thing",
			log: slog.New(slog.NewTextHandler(&log, nil)),
			supports: func(ctx context.Context, minor int) error {
				mu.Lock()
				requests++
				answered := newest
				mu.Unlock()
				return supportedBy(answered)(ctx, minor)
			},
		}
		tooOld := func(minor int) string {
			return fmt.Sprintf("placement has the versions 1.0 to 1.%d of its API, and 1.36 is needed for its hosts", minor)
		}
		ready := c.ready(func() (bool, string) { return true, "ok" })
		ctx, end := context.WithCancel(t.Context())
		defer end()
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.run(ctx)
		}()
		for _, step := range []struct {
			newest   int
			ready    bool
			detail   string
			log      string // what is logged, and nothing else of a level of WARN and above
			requests int
		}{
			{0, true, "ok", "", 1},
			{29, false, tooOld(29), "level=ERROR", 1},
			{29, false, tooOld(29), "", 1},
			{35, false, tooOld(35), "level=ERROR", 1},
			{0, false, tooOld(35), "", 1},
			{36, true, "ok", "level=WARN", 2},
			{29, true, "ok", "", 0}, // it is not looked at any more
		} {
			mu.Lock()
			newest = step.newest
			mu.Unlock()
			time.Sleep(pause) // of the bubble's clock
			pause = placementCheckEvery
			synctest.Wait()
			if ok, detail := ready(); ok != step.ready || detail != step.detail {
				t.Errorf("with 1.%d it is ready: %v %q, want %v %q", step.newest, ok, detail, step.ready, step.detail)
			}
			text := log.String()
			loud := strings.Contains(text, "level=ERROR") || strings.Contains(text, "level=WARN")
			if loud != (step.log != "") || !strings.Contains(text, step.log) {
				t.Errorf("with 1.%d the log has %q, want %q", step.newest, text, step.log)
			}
			if requests != step.requests {
				t.Errorf("with 1.%d it has sent %d requests, want %d", step.newest, requests, step.requests)
			}
			mu.Lock()
			log.Reset()
			requests = 0
			mu.Unlock()
		}
		<-done
	})
}

// supportedBy returns the answer of a placement whose newest version is 1.newest, 0 for one that
// does not answer.
func supportedBy(newest int) func(context.Context, int) error {
	return func(ctx context.Context, minor int) error {
		s := httptest.NewRecorder()
		if newest == 0 {
			s.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(s, versionsDocument, newest)
		access, err := client.Fixed("http://placement", client.NoAuth)
		if err != nil {
			return err
		}
		p := placementclient.New(client.Options{Access: access, HTTP: &http.Client{Transport: answering{s}}})
		return p.Supports(ctx, minor)
	}
}

const versionsDocument = `{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.%d"}]}`

// answering has one answer for each request.
type answering struct{ recorder *httptest.ResponseRecorder }

func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a.recorder.Result(), nil }

// TestServicesWithAnOldPlacement starts the services next to a placement that is too old: they
// start, are not ready, say why, and are ready when placement was upgraded.
func TestServicesWithAnOldPlacement(t *testing.T) {
	for name, tc := range map[string]struct {
		physicals   bool
		old, enough int32
		needed      string
		start       func(t *testing.T, placement string, physicals bool, log io.Writer) (*Server, *placementCheck)
	}{
		"Network":          {false, 28, 29, "1.29 is needed for the providers and guarantees of ports", startNetworkNextTo},
		"PhysicalNetworks": {true, 38, 39, "1.39 is needed for [berth] any_physical_network", startNetworkNextTo},
		"Compute":          {false, 35, 36, "1.36 is needed for the hosts of new servers and of moves", startComputeNextTo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var newest atomic.Int32
			newest.Store(tc.old)
			placement := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				fmt.Fprintf(w, versionsDocument, newest.Load())
			}))
			t.Cleanup(placement.Close)
			var log lockedBuffer
			s, check := tc.start(t, placement.URL, tc.physicals, &log)
			detail := awaitReadyz(t, s, http.StatusServiceUnavailable)
			want := fmt.Sprintf("placement has the versions 1.0 to 1.%d of its API, and %s\n", tc.old, tc.needed)
			if detail != want {
				t.Errorf("/readyz answers %q, want %q", detail, want)
			}
			if text := log.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, tc.needed) {
				t.Errorf("the log has %s", text)
			}
			newest.Store(tc.enough)
			if !check.examine(t.Context()) {
				t.Error("the upgrade is not seen")
			}
			if detail := awaitReadyz(t, s, http.StatusOK); detail != "ok\n" {
				t.Errorf("after the upgrade /readyz answers %q", detail)
			}
		})
	}
}

// awaitReadyz requests /readyz until it has a status, and returns its text.
func awaitReadyz(t *testing.T, s *Server, status int) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		w := httptest.NewRecorder()
		s.Operators().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code == status {
			return w.Body.String()
		}
		if time.Now().After(end) {
			t.Fatalf("/readyz answers %d %s", w.Code, w.Body)
		}
		time.Sleep(20 * time.Millisecond) // real time: the check has its own clock
	}
}

// A lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var quietProcess = Process{Getenv: func(string) string { return "" }, Stderr: io.Discard}

func startNetworkNextTo(t *testing.T, placement string, physicals bool, log io.Writer) (*Server, *placementCheck) {
	t.Helper()
	cfg := config.DefaultNetwork()
	cfg.Berth.Listen, cfg.Database.Connection, cfg.Promises.Alternatives = "127.0.0.1:0", "sqlite://", physicals
	cfg.Neutron.AuthStrategy = config.StrategyNoAuth
	cfg.Placement.AuthType, cfg.Placement.EndpointOverride = config.AuthNone, placement
	logger := slog.New(slog.NewTextHandler(log, nil))
	s, err := StartNetwork(t.Context(), quietProcess, cfg, logger, Dependencies{SingleProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &s.Server, &s.check
}

func startComputeNextTo(t *testing.T, placement string, _ bool, log io.Writer) (*Server, *placementCheck) {
	t.Helper()
	cfg := config.DefaultCompute()
	cfg.Berth.Listen, cfg.Database.Connection = "127.0.0.1:0", "sqlite://"
	cfg.Nova.AuthStrategy = config.StrategyNoAuth2
	cfg.Glance.EndpointOverride = placement
	cfg.Placement.AuthType, cfg.Placement.EndpointOverride = config.AuthNone, placement
	logger := slog.New(slog.NewTextHandler(log, nil))
	s, err := StartCompute(t.Context(), quietProcess, cfg, logger, Dependencies{SingleProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &s.Server, &s.check
}
