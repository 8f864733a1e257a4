package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/logging"
)

// startServing begins to serve with the settings of an empty file, on addresses of its own for the
// API and for operators.
func startServing(t *testing.T) *Server {
	t.Helper()
	cfg := config.DefaultService()
	cfg.Berth.Listen, cfg.Berth.MetricsListen = "127.0.0.1:0", "127.0.0.1:0"
	log, _, err := logging.Open(logging.Options{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(cfg, log, Dependencies{}, serviceOptions{
		status: func() string { return "" }, probe: func(context.Context) error { return nil },
	})
	if err := s.openListeners(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &s
}

// While the database is opened, both listeners answer.
func TestListenersAnswerWhileStarting(t *testing.T) {
	s := startServing(t)
	defer s.stop()
	api := "http://" + s.apiListeners.addresses()
	ops := "http://" + s.opsListeners.addresses()
	s.progress("reading: 40000 providers")
	res, body := get(t, api+"/resource_providers")
	if res.StatusCode != 503 || res.Header.Get("Retry-After") != "1" ||
		!strings.Contains(body, "starting: reading: 40000 providers") ||
		!strings.HasPrefix(body, `{"errors": [{"status": 503, "title": "Service Unavailable"`) {
		t.Errorf("the API answers %d %v %s", res.StatusCode, res.Header, body)
	}
	if res, body := get(t, ops+"/readyz"); res.StatusCode != 503 || body != "starting: reading: 40000 providers\n" {
		t.Errorf("/readyz answers %d %q", res.StatusCode, body)
	}
	if res, _ := get(t, ops+"/healthz"); res.StatusCode != 200 {
		t.Errorf("/healthz answers %d", res.StatusCode)
	}
	if _, body := get(t, ops+"/metrics"); !strings.Contains(body, "berth_http_connections") {
		t.Errorf("/metrics answers %s", body)
	}
	isReady := s.onceStarted(func() (bool, string) { return true, "there" })
	s.answer(http.NotFoundHandler(), httpserver.NewOps(httpserver.OpsConfig{Ready: isReady}))
	if res, body := get(t, ops+"/readyz"); res.StatusCode != 200 || body != "there\n" {
		t.Errorf("afterwards /readyz answers %d %q", res.StatusCode, body)
	}
	if res, _ := get(t, api+"/resource_providers"); res.StatusCode != 404 {
		t.Errorf("afterwards the API answers %d", res.StatusCode)
	}
}

// testTime is the time-out for operations that should take no time: under load they take many
// seconds.
const testTime = 5 * time.Minute

// get sends one request on a new connection, and returns the answer with its body read.
func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: testTime}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// Operators can observe the end of the service: their listener remains until the last request is
// answered.
func TestReadyzWhileStopping(t *testing.T) {
	s := startServing(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-leave })
	isReady := s.onceStarted(func() (bool, string) { return true, "" })
	s.answer(slow, httpserver.NewOps(httpserver.OpsConfig{Ready: isReady}))
	answered := make(chan int)
	go func() {
		res, _ := get(t, "http://"+s.apiListeners.addresses()+"/")
		answered <- res.StatusCode
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	cancel()
	for begin := time.Now(); ; {
		res, body := get(t, "http://"+s.opsListeners.addresses()+"/readyz")
		if res.StatusCode == 503 && body == "stopping\n" {
			break
		}
		if time.Since(begin) > testTime {
			t.Fatalf("/readyz answers %d %q while the service stops", res.StatusCode, body)
		}
	}
	close(leave)
	if code := <-answered; code != 200 {
		t.Errorf("the request under way is answered with %d", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNeedRestart(t *testing.T) {
	prev, cur := config.DefaultPlacement(), config.DefaultPlacement()
	if names := needRestart(prev, cur); len(names) > 0 {
		t.Errorf("equal settings need a restart for %v", names)
	}
	cur.Database.Connection = "mysql://u:s3cret@db/p"
	cur.Berth.Listen = "127.0.0.1:1"
	cur.Berth.MaxRequests, cur.Default.Debug, cur.Policy.File = 5, true, "other.yaml"
	got := fmt.Sprint(needRestart(prev, cur))
	if got != "[[placement_database] connection [berth] listen]" {
		t.Errorf("needRestart = %s", got)
	}
}

// Every setting in the reload steps exists.
func TestReloadedSettingsExist(t *testing.T) {
	known := map[string]bool{}
	for _, s := range append(config.DefaultPlacement().Settings(), config.DefaultNetwork().Settings()...) {
		known[s.Name.String()] = true
	}
	for _, step := range reloadSteps() {
		for _, name := range step.settings {
			if !known[name] {
				t.Errorf("%s: there is no %s", step.part, name)
			}
		}
	}
}

func TestServersReportTheFirstFailure(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var s listenerGroup
	s.start(ln, http.NotFoundHandler(), httpserver.ServeOptions{})
	ln.Close()
	select {
	case <-s.failed():
	case <-time.After(testTime):
		t.Fatal("the failure is not reported")
	}
	if err := s.stop(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("stop = %v", err)
	}
}

// The advice names the directory that the service manager gives the service for its logs.
func TestLogDirectoryOfTheServiceManager(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"LOGS_DIRECTORY": "/var/log/berth:/x"}[name] }
	if got := logFileAdvice(getenv); !strings.Contains(got, "name a file in /var/log/berth, which") {
		t.Errorf("the advice is %q", got)
	}
}
