package service_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// A wire is what lies between a network service and its placement, and what may go
// wrong there.
type wire struct {
	placement http.Handler

	mu     sync.Mutex // guards what follows
	number int        // of requests so far
	fault  wireFault  // nil for none
	at     int        // the request that meets the fault
	on     bool       // and all after it
	met    bool       // one did
	late   []func()   // requests that are on their way still
}

// A wireFault is what comes of a request. Serve has placement answer it.
type wireFault func(v *wire, w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter))

func (v *wire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what was cut off is empty
	serve := func(w http.ResponseWriter) {
		again := r.Clone(context.Background())
		again.Body = io.NopCloser(bytes.NewReader(body))
		v.placement.ServeHTTP(w, again)
	}
	v.mu.Lock()
	v.number++
	fault := v.fault
	if v.number < v.at || v.number > v.at && !v.on {
		fault = nil
	}
	v.met = v.met || fault != nil
	v.mu.Unlock()
	if fault == nil {
		serve(w)
		return
	}
	fault(v, w, r, serve)
}

// breaks has the request of a number, counted from here, meet a fault, and all after it
// when on.
func (v *wire) breaks(fault wireFault, number int, on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fault, v.at, v.on, v.number, v.met = fault, number, on, 0, false
}

// heals ends all faults, and reports whether a request met one.
func (v *wire) heals() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fault = nil
	return v.met
}

// arrive has placement answer a request that is still on its way, without a receiver.
func (v *wire) arrive() {
	v.mu.Lock()
	late := v.late
	v.late = nil
	v.mu.Unlock()
	for _, serve := range late {
		serve()
	}
}

// answered is a fault: an answer in placement's place.
func answered(status int, body string) wireFault {
	return func(_ *wire, w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// afterwards is a fault that follows what placement did.
func afterwards(fault wireFault) wireFault {
	return func(v *wire, w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter)) {
		serve(httptest.NewRecorder())
		fault(v, w, r, serve)
	}
}

func cutOff(*wire, http.ResponseWriter, *http.Request, func(http.ResponseWriter)) {
	panic(http.ErrAbortHandler)
}

// patience is how long the service waits for an answer that does not come.
func patience(fault string) time.Duration {
	switch fault {
	case "Slow", "SlowAfterwards", "Late":
		return 30 * time.Millisecond
	}
	return 10 * time.Second
}

func slow(_ *wire, _ http.ResponseWriter, r *http.Request, _ func(http.ResponseWriter)) {
	<-r.Context().Done()
}

// late arrives at placement when its sender does not wait for the answer any more.
func late(v *wire, _ http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter)) {
	v.mu.Lock()
	v.late = append(v.late, func() { serve(httptest.NewRecorder()) })
	v.mu.Unlock()
	<-r.Context().Done()
}

const refusalText = `{"errors": [{"status": 409, "title": "Conflict", "code": "placement.`

// wireFaults are what may come of a request.
var wireFaults = map[string]wireFault{
	"Cut":            cutOff,
	"CutAfterwards":  afterwards(cutOff),
	"Slow":           slow,
	"SlowAfterwards": afterwards(slow),
	"Late":           late,
	"Concurrent":     answered(409, refusalText+`concurrent_update", "detail": "again"}]}`),
	"Conflict":       answered(409, refusalText+`undefined_code", "detail": "no"}]}`),
	"Broken":         answered(500, "{}"),
	"GatewayTimeout": afterwards(answered(504, "<html>504</html>")),
	"Stranger":       answered(200, "<html>login</html>"),
	"NotHere":        answered(404, "<html>404</html>"),
}

// onceAndOn says whether a fault is tried once, and from one request on: of those that
// are alike then one is.
func onceAndOn(fault string) []bool {
	switch fault {
	case "Cut", "Late", "SlowAfterwards", "Concurrent", "Broken":
		return []bool{false, true}
	}
	return []bool{false}
}

// newWire puts a wire before a placement, and returns a client of it that waits so
// long for an answer.
func newWire(t *testing.T, places http.Handler, timeout time.Duration) (*wire, providertreetest.Placement) {
	t.Helper()
	v := &wire{placement: places}
	return v, clientOf(t, v, timeout)
}

// clientOf returns a client of a placement that waits so long for an answer.
func clientOf(t *testing.T, places http.Handler, timeout time.Duration) providertreetest.Placement {
	t.Helper()
	server := httptest.NewServer(places)
	access, err := client.Fixed(server.URL, client.NoAuth)
	if err != nil {
		t.Fatal(err)
	}
	p := placementclient.New(client.Options{Access: access, Timeout: timeout})
	t.Cleanup(func() {
		p.Close()
		server.Close()
	})
	return p
}
