package ports

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/berthcloud/berth/internal/servertest"
)

// A way is a proxy between the network service and placement. It can be set to halt at one request,
// before placement gets it or when its answer has arrived, so that a test can kill the sender. That
// request is never answered.
type way struct {
	url   string
	halts chan struct{} // gets a value when the request has arrived
	goOn  chan struct{} // ends the halt

	mu     sync.Mutex // guards what follows
	number int        // of requests since the halt was set
	at     int        // the request; 0 for none
	after  bool
}

// newWay creates a way to a placement that lasts as long as the test.
func newWay(t testing.TB, placement string) *way {
	t.Helper()
	to, err := url.Parse(placement)
	if err != nil {
		t.Fatal(err)
	}
	w := &way{halts: make(chan struct{}), goOn: make(chan struct{})}
	proxy := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.pass(proxy, rw, r)
	}))
	s.Listener.Close()
	s.Listener = servertest.Listen(t)
	s.Start()
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

// pass has placement answer, unless this is where the way halts.
func (w *way) pass(proxy http.Handler, rw http.ResponseWriter, r *http.Request) {
	here, after := w.count()
	if here && !after {
		w.halt()
	}
	answer := httptest.NewRecorder()
	proxy.ServeHTTP(answer, r)
	if here {
		w.halt()
	}
	maps.Copy(rw.Header(), answer.Header())
	rw.WriteHeader(answer.Code)
	_, _ = io.Copy(rw, answer.Body) // the client may have disconnected
}

// halt waits for the end of the request's sender, which thus gets no answer.
func (w *way) halt() {
	w.halts <- struct{}{}
	<-w.goOn
	panic(http.ErrAbortHandler)
}

func (w *way) count() (here, after bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	return w.number == w.at, w.after
}

// haltAt sets the request, counted from here, at which the way halts, 0 for none.
func (w *way) haltAt(number int, after bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number, w.at, w.after = 0, number, after
}
