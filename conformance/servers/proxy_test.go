package servers

import (
	"bytes"
	"context"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/servertest"
)

// Ways are the proxies between the compute service and its peer services, whose requests are
// counted together. They can be set to halt at one of them, before the peer service gets it or when
// its answer has arrived, so that a test can kill the sender; or to fail from there on.
type ways struct {
	mu      sync.Mutex // guards what follows
	number  int        // of requests since the last setting
	at      int        // the request; 0 for none
	after   bool
	halt    *halt
	trouble *trouble // nil: halt
	met     bool     // the request has arrived

	landing sync.WaitGroup // requests whose sender has given up and which are yet to arrive
}

// A halt is that of one request.
type halt struct {
	to   string        // the peer service, "" for any
	came chan string   // gets the sender when the request has arrived
	goOn chan bool     // ends the halt; false: the request gets no answer
	off  chan struct{} // closed: there is no halt any more
}

// A trouble is how a way fails.
type trouble struct {
	to   string // the peer service
	kind string // of troubles
}

// The kinds of troubles. A late peer service executes the request, and its answer arrives after the
// client's time-out. A request that lands does so after it: the peer service gets it when the
// client has given up; those that follow are in no trouble. A slow peer service takes its time for
// each request.
const (
	unavailable = "Unavailable"
	refused     = "Refused"
	late        = "Late"
	lands       = "Lands"
	slow        = "Slow"
)

// pace is how long a slow peer service takes.
const pace = 50 * time.Millisecond

// A way leads from a service to one peer service.
type way struct {
	*ways
	from  string
	to    string
	proxy http.Handler

	mu     sync.Mutex // guards what follows
	addr   string
	server *http.Server // nil while connections are refused
}

// way creates a way of a service to a peer service that lasts as long as the test.
func (all *ways) way(t testing.TB, from, to, at string) *way {
	t.Helper()
	w := &way{ways: all, from: from, to: to, proxy: proxy(t, at)}
	l := servertest.Listen(t)
	w.addr = l.Addr().String()
	w.open(l)
	t.Cleanup(w.shut)
	return w
}

// proxy passes requests on to an address.
func proxy(t testing.TB, to string) *httputil.ReverseProxy {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := httputil.NewSingleHostReverseProxy(u)
	p.ErrorLog = log.New(io.Discard, "", 0) // services are killed all the time
	return p
}

func (w *way) url() string { return "http://" + w.addr }

func (w *way) open(l net.Listener) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server = &http.Server{Handler: http.HandlerFunc(w.pass)}
	go func(s *http.Server) { _ = s.Serve(l) }(w.server)
}

// shut refuses connections, and closes existing ones.
func (w *way) shut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server != nil {
		_ = w.server.Close()
		w.server = nil
	}
}

// reopen accepts connections again.
func (w *way) reopen(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	open := w.server != nil
	w.mu.Unlock()
	if open {
		return
	}
	l, err := net.Listen("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	w.open(l)
}

// pass forwards the request to the peer service, unless there is a halt or trouble.
func (w *way) pass(rw http.ResponseWriter, r *http.Request) {
	here, after, trouble, halt := w.count(w.to)
	switch {
	case here && trouble == unavailable:
		http.Error(rw, "the service is away", http.StatusServiceUnavailable)
		return
	case here && trouble == refused:
		w.shut()
		panic(http.ErrAbortHandler)
	case here && trouble == lands:
		defer w.landing.Done()
		text, err := io.ReadAll(r.Body)
		<-r.Context().Done()
		if err == nil {
			r = r.WithContext(context.WithoutCancel(r.Context()))
			r.Body = io.NopCloser(bytes.NewReader(text))
			w.proxy.ServeHTTP(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	case here && trouble == slow:
		select {
		case <-time.After(pace):
		case <-r.Context().Done():
		}
	case here && trouble == "" && !after:
		halt.wait(w.from)
	}
	answer := httptest.NewRecorder()
	w.proxy.ServeHTTP(answer, r)
	switch {
	case here && trouble == late:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case here && after:
		halt.wait(w.from)
	}
	maps.Copy(rw.Header(), answer.Header())
	rw.WriteHeader(answer.Code)
	_, _ = io.Copy(rw, answer.Body) // the client may have disconnected
}

// wait waits for the test's action, such as killing the request's sender.
func (h *halt) wait(from string) {
	select {
	case h.came <- from:
	case <-h.off:
		return
	}
	if goOn := <-h.goOn; !goOn {
		panic(http.ErrAbortHandler)
	}
}

// count counts a request to a peer service. Here reports whether there is a halt or trouble at it.
func (all *ways) count(to string) (here, after bool, kind string, h *halt) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if t := all.trouble; t != nil {
		if t.to != to {
			return false, false, "", nil
		}
		all.number++
		here = all.at > 0 && (all.number == all.at || all.number > all.at && t.kind != lands)
		all.met = all.met || here
		if here && t.kind == lands {
			all.landing.Add(1)
		}
		return here, false, t.kind, nil
	}
	if all.halt != nil && all.halt.to != "" && all.halt.to != to {
		return false, false, "", nil
	}
	all.number++
	return all.number == all.at, all.after, "", all.halt
}

// haltAt makes a way halt at a request to a peer service, "" for any, counted from here, at the
// next one with that number only.
func (all *ways) haltAt(to string, number int, after bool) *halt {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.halt = &halt{to, make(chan string), make(chan bool), make(chan struct{})}
	all.number, all.at, all.after, all.trouble = 0, number, after, nil
	return all.halt
}

// haltNever cancels a halt.
func (all *ways) haltNever() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.at = 0
	close(all.halt.off)
}

// failFrom sets the request, counted from here, from which the way to a peer service is in trouble.
func (all *ways) failFrom(number int, t trouble) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.number, all.at, all.trouble, all.met = 0, number, &t, false
}

// heal ends troubles, and reports whether there were some.
func (all *ways) heal() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.at, all.trouble = 0, nil
	return all.met
}
