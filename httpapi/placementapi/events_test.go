package placementapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// A received is an event as a client gets it.
type received struct {
	name, id, data string
}

// A streamClient reads a stream of events. It is the ResponseWriter as well.
type streamClient struct {
	header  http.Header
	status  int
	body    net.Conn
	into    net.Conn
	end     context.CancelFunc
	ended   chan struct{}
	lines   *bufio.Scanner
	lastID  string
	comment string
}

func (c *streamClient) Header() http.Header { return c.header }

func (c *streamClient) WriteHeader(status int) { c.status = status }

func (c *streamClient) Write(p []byte) (int, error) { return c.into.Write(p) }

func (c *streamClient) Flush() {}

func (c *streamClient) SetWriteDeadline(t time.Time) error { return c.into.SetWriteDeadline(t) }

// watching opens a stream.
func watching(t *testing.T, api http.Handler, target, last string, header ...string) *streamClient {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequest(http.MethodGet, target, nil).WithContext(ctx)
	r.Header.Set("X-Auth-Token", "admin")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	c := &streamClient{header: http.Header{}, end: cancel, ended: make(chan struct{})}
	c.body, c.into = net.Pipe()
	c.lines = bufio.NewScanner(c.body)
	go func() {
		defer close(c.ended)
		defer c.into.Close()
		api.ServeHTTP(c, r)
	}()
	t.Cleanup(c.close)
	return c
}

// close ends the stream as a client does that goes away.
func (c *streamClient) close() {
	c.end()
	c.body.Close()
	<-c.ended
}

// next returns the next event, false at the end of the stream. One without a name is a heartbeat.
func (c *streamClient) next() (e received, ok bool) {
	for c.lines.Scan() {
		key, value, _ := strings.Cut(c.lines.Text(), ": ")
		if key == "" && value != "" {
			c.comment = value
			c.lines.Scan() // the empty line behind it
			continue
		}
		switch key {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.id != "" {
				c.lastID = e.id
			}
			if e.id != "" {
				return e, true
			}
		}
	}
	return e, false
}

// all returns the events up to the one whose data has a part.
func (c *streamClient) upTo(t *testing.T, part string) (all []received) {
	t.Helper()
	for {
		e, ok := c.next()
		if !ok {
			t.Fatalf("the stream ended after %d events without %s", len(all), part)
		}
		if e.name != "" {
			all = append(all, e)
		}
		if strings.Contains(e.data, part) {
			return all
		}
	}
}

// causeOfTests is the request's id.
func causeOfTests(ctx context.Context) placement.Cause {
	return placement.Cause{RequestID: "req-1", Operation: httpapi.Operation(ctx)}
}

// splitRequest splits "METHOD path body".
func splitRequest(text string) (method, path, body string) {
	method, rest, _ := strings.Cut(text, " ")
	path, body, _ = strings.Cut(rest, " ")
	return method, path, body
}

// newRequest returns a request of an administrator.
func newRequest(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.38")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// send sends requests that must succeed.
func send(t *testing.T, api http.Handler, requests ...string) {
	t.Helper()
	for _, text := range requests {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, newRequest(splitRequest(text)))
		if w.Code >= 300 {
			t.Fatalf("%s: %d %s", text, w.Code, w.Body)
		}
	}
}

const (
	cn1 = "6f1b1a5e-0000-4000-8000-000000000001"
	cn2 = "6f1b1a5e-0000-4000-8000-000000000002"
	vm1 = "6f1b1a5e-0000-4000-8000-0000000000a1"
	vm2 = "6f1b1a5e-0000-4000-8000-0000000000a2"
)

// changes are requests of each kind, in an order in which they succeed.
func changes() []string {
	inventories := func(uuid string) string {
		return `PUT /resource_providers/` + uuid +
			`/inventories {"resource_provider_generation":0,"inventories":{"VCPU":{"total":8},"DISK_GB":{"total":90}}}`
	}
	claim := func(vm, cn string, n int) string {
		return fmt.Sprintf(
			`PUT /allocations/%s `+
				`{"allocations":{"%s":{"resources":{"VCPU":%d,"DISK_GB":1}}},"project_id":"p","user_id":"u",`+
				`"consumer_generation":null,"consumer_type":"INSTANCE"}`,
			vm, cn, n)
	}
	return []string{
		`POST /resource_providers {"name":"cn1","uuid":"` + cn1 + `"}`,
		`POST /resource_providers {"name":"cn2","uuid":"` + cn2 + `"}`,
		inventories(cn1), inventories(cn2), claim(vm1, cn1, 2), claim(vm2, cn2, 3),
		`PUT /resource_providers/` + cn1 + `/traits {"resource_provider_generation":2,"traits":["HW_CPU_X86_VMX"]}`,
		`DELETE /allocations/` + vm1,
		`PUT /resource_providers/` + cn2 + `/aggregates {"resource_provider_generation":2,"aggregates":["` + vm1 + `"]}`,
	}
}

// TestEvents looks at what a stream has of each request, and at the filters.
func TestEvents(t *testing.T) { synctest.Test(t, testEvents) }

func testEvents(t *testing.T) {
	set := service.DefaultSettings()
	set.Cause = causeOfTests
	api := placementapitest.New(t, set)
	everything := watching(t, api, "/berth/v1/events", "")
	everything.lines.Scan() // it has begun
	send(t, api, changes()...)
	brief := func(e received) string {
		var v map[string]any
		if err := json.Unmarshal([]byte(e.data), &v); err != nil || e.id == "" || e.name != "change" {
			t.Errorf("event %+v: %v", e, err)
		}
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(v["time"])); err != nil || time.Since(at).Abs() > time.Hour {
			t.Errorf("time of %s: %v", e.data, err)
		}
		if v["request_id"] != "req-1" {
			t.Errorf("%s does not name its request", e.data)
		}
		delete(v, "time")
		delete(v, "request_id")
		var words []string
		for _, key := range []string{
			"change", "what", "provider", "consumer_uuid", "subject", "before", "after", "operation",
		} {
			if v[key] != nil {
				words = append(words, key+"="+fmt.Sprint(v[key]))
			}
			delete(v, key)
		}
		delete(v, "provider_uuid")
		delete(v, "root_provider_uuid")
		if len(v) > 0 {
			t.Errorf("more keys: %v", v)
		}
		return strings.Join(words, " ")
	}
	var got []string
	all := everything.upTo(t, `"what":"aggregate"`)
	for _, e := range all {
		got = append(got, brief(e))
	}
	const put = " operation=PUT /resource_providers/{uuid}/inventories"
	claimed := func(word, cn, vm, class, key, n, op string) string {
		return "change=" + word + " what=allocation provider=" + cn + " consumer_uuid=" + vm + " subject=" + class + " " +
			key + "=" + n + " operation=" + op + " /allocations/{consumer_uuid}"
	}
	want := []string{
		"change=added what=provider provider=cn1 after=cn1 operation=POST /resource_providers",
		"change=added what=provider provider=cn2 after=cn2 operation=POST /resource_providers",
		"change=added what=inventory provider=cn1 subject=VCPU after=total 8" + put,
		"change=added what=inventory provider=cn1 subject=DISK_GB after=total 90" + put,
		"change=added what=inventory provider=cn2 subject=VCPU after=total 8" + put,
		"change=added what=inventory provider=cn2 subject=DISK_GB after=total 90" + put,
		claimed("added", "cn1", vm1, "VCPU", "after", "2", "PUT"),
		claimed("added", "cn1", vm1, "DISK_GB", "after", "1", "PUT"),
		claimed("added", "cn2", vm2, "VCPU", "after", "3", "PUT"),
		claimed("added", "cn2", vm2, "DISK_GB", "after", "1", "PUT"),
		"change=added what=trait provider=cn1 subject=HW_CPU_X86_VMX after=HW_CPU_X86_VMX operation=PUT " +
			"/resource_providers/{uuid}/traits",
		claimed("removed", "cn1", vm1, "VCPU", "before", "2", "DELETE"),
		claimed("removed", "cn1", vm1, "DISK_GB", "before", "1", "DELETE"),
		"change=added what=aggregate provider=cn2 subject=" + vm1 + " after=" + vm1 +
			" operation=PUT /resource_providers/{uuid}/aggregates",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if h := everything.header; h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("header %v", h)
	}
	// Each id goes on behind its event, those in the middle of a transaction too.
	for i, e := range all[:len(all)-1] {
		rest := watching(t, api, "/berth/v1/events", e.id)
		if diff := cmp.Diff(all[i+1:], rest.upTo(t, `"what":"aggregate"`), cmp.AllowUnexported(received{})); diff != "" {
			t.Errorf("after event %d (-want +got)\n%s", i, diff)
		}
		rest.close()
	}
	for query, n := range map[string]int{
		"tree=cn1": 8, "tree=" + cn2: 6, "consumer=" + vm1: 4, "class=VCPU": 5, "tree=cn1&class=DISK_GB": 3,
		"consumer=" + vm2 + "&tree=cn1": 0,
	} {
		some := watching(t, api, "/berth/v1/events?since=1h&"+query, "")
		seen := 0
		for e, ok := some.next(); ok && (e.name != "" || seen < n); e, ok = some.next() {
			if e.name == "change" { // a reset comes first: the log has no hour
				seen++
			}
		}
		if seen != n {
			t.Errorf("%s has %d events, want %d", query, seen, n)
		}
		some.close()
	}
}

// watched returns the API of a service on a store, with what changes its streams.
func watched(t *testing.T, store placement.Store, streams placementapi.StreamSettings) http.Handler {
	t.Helper()
	s, err := service.New(context.Background(), store, service.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.New(policy.Options{
		Defaults: placementapi.PolicyDefaults(), EnforceScope: true, EnforceNewDefaults: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	api := &placementapi.API{Placement: s, Policy: rules, Now: time.Now, Streams: streams}
	return httpapi.New(httpapi.Config{
		Service: "placement", History: microversion.Placement, Routes: api.Routes(), CodeSince: 23,
		UndefinedCode: placement.CodeUndefined,
		Authenticate: func(r *http.Request) (identity.Caller, error) {
			c, err := httpapi.NoAuth(r)
			if text := r.Header.Get("Expires-In"); err == nil && text != "" {
				remaining, _ := time.ParseDuration(text)
				c.Expires = time.Now().Add(remaining)
			}
			return c, err
		},
	})
}

// inMemory opens a store in memory.
func inMemory(t *testing.T) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// refused returns the status and the body of a stream that is refused.
func refused(api http.Handler, target string, header ...string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header.Set("X-Auth-Token", "admin")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestEventsThatAreRefused(t *testing.T) {
	api := watched(t, inMemory(t), placementapi.StreamSettings{})
	for _, c := range []struct {
		query, last, token string
		status             int
		text               string
	}{
		{"", "", "user", 403, "berth:placement:events"},
		{"?color=red", "", "user", 403, "berth:placement:events"}, // the policy comes first
		{"?color=red", "", "admin", 400, `no parameter`},
		{"?tree=cn1&tree=cn2", "", "admin", 400, "wants one value"},
		{"?tree=", "", "admin", 400, "wants one value"},
		{"?since=yesterday%21", "", "admin", 400, "not the id of an event"},
		{"?since=2026-99-01T00:00:00Z", "", "admin", 400, "nor a time"},
		{"?since=-1h", "", "admin", 400, "not the id of an event"},
		{"", "10m", "admin", 400, "not the id of an event"},
		{"", "1.1!x", "admin", 400, "not the id of an event"},
		{"?tree=cn9", "", "admin", 404, `no provider with the name or UUID`},
	} {
		status, body := refused(api, "/berth/v1/events"+c.query, "X-Auth-Token", c.token, "Last-Event-ID", c.last)
		if status != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s %s of %s: %d %s", c.query, c.last, c.token, status, body)
		}
	}
}

// TestEventStreamsEnd looks at why streams end, and that their places are given back.
func TestEventStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open int
		var why []string
		api := watched(t, inMemory(t), placementapi.StreamSettings{Max: 3, PerProject: 2, Changed: func(n int, ended string) {
			if open = n; ended != "" {
				why = append(why, ended)
			}
		}})
		begin := time.Now()
		end := func(c *streamClient) (beats int) {
			for _, ok := c.next(); ok; _, ok = c.next() {
				beats++
			}
			<-c.ended
			return beats
		}
		// The token's end, and that of all streams.
		beats := end(watching(t, api, "/berth/v1/events", "", "Expires-In", "100s"))
		if time.Since(begin) != 100*time.Second || beats < 6 {
			t.Errorf("a stream ended after %s and %d heartbeats, want 100 s", time.Since(begin), beats)
		}
		begin = time.Now()
		if end(watching(t, api, "/berth/v1/events", "", "Expires-In", "12h")); time.Since(begin) != 15*time.Minute {
			t.Errorf("a stream ended after %s, want 15 min", time.Since(begin))
		}
		// Bounds of a project, and of the instance.
		streams := []*streamClient{watching(t, api, "/berth/v1/events", ""), watching(t, api, "/berth/v1/events", "")}
		for _, c := range streams {
			c.lines.Scan()
		}
		if status, body := refused(api, "/berth/v1/events"); status != 429 || !strings.Contains(body, "for this project") {
			t.Errorf("a third stream of a project: %d %s", status, body)
		}
		other := watching(t, api, "/berth/v1/events", "", "X-Auth-Token", "admin:other")
		other.lines.Scan()
		if status, body := refused(api, "/berth/v1/events", "X-Auth-Token", "admin:third"); status != 503 ||
			!strings.Contains(body, "Too many") {
			t.Errorf("a fourth stream: %d %s", status, body)
		}
		// A client that does not read, though there is something.
		stuck := other
		begin = time.Now()
		send(t, api, changes()...)
		<-stuck.ended
		synctest.Wait() // for the other two, which do not read either
		if took := time.Since(begin); took > 12*time.Second {
			t.Errorf("a client that does not read was cut off after %s", took)
		}
		streams[0].close()
		streams[1].close()
		if open != 0 {
			t.Errorf("%d streams are open", open)
		}
		if diff := cmp.Diff([]string{"token", "time", "slow", "slow", "slow"}, why); diff != "" {
			t.Errorf("reasons (-want +got)\n%s", diff)
		}
		last := watching(t, api, "/berth/v1/events", "")
		last.lines.Scan()
		last.close()
		if why[len(why)-1] != "client" {
			t.Errorf("the client's end is counted as %s", why[len(why)-1])
		}
	})
}

// TestEventsStopWithTheServer stops a server that has a stream under way.
func TestEventsStopWithTheServer(t *testing.T) {
	api := watched(t, inMemory(t), placementapi.StreamSettings{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	// A stream is longer than the server's time-outs.
	opts := httpserver.ServeOptions{ReadTimeout: 50 * time.Millisecond, WriteTimeout: 50 * time.Millisecond}
	go func() {
		served <- httpserver.Serve(ctx, ln, httpserver.NewFront(api, httpserver.FrontSettings{CompressMinSize: 1}, nil), opts)
	}()
	r, _ := http.NewRequest(http.MethodGet, "http://"+ln.Addr().String()+"/berth/v1/events", nil)
	r.Header.Set("X-Auth-Token", "admin")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Uncompressed {
		t.Fatalf("answer %d, compressed %v", resp.StatusCode, resp.Uncompressed)
	}
	c := &streamClient{lines: bufio.NewScanner(resp.Body)}
	c.lines.Scan()
	// A request that begins after the stream, and does not end, is cut off at the time-out: the stream
	// is older than that.
	late, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, err := io.WriteString(late, "POST /resource_providers HTTP/1.1\r\nHost: late\r\nX-Auth-Token: "+
		"admin\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(late); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	send(t, api, changes()[0])
	c.upTo(t, `"cn1"`)
	begin := time.Now()
	stop()
	for _, ok := c.next(); ok; _, ok = c.next() {
	}
	if c.comment != "the service stops" {
		t.Errorf("the last words are %q", c.comment)
	}
	if err := <-served; err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("Serve = %v after %s", err, time.Since(begin))
	}
}

// TestEventsSayWhatIsLost goes on behind an id that the log does not have any more.
func TestEventsSayWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := inMemory(t)
		api := watched(t, store, placementapi.StreamSettings{})
		first := watching(t, api, "/berth/v1/events", "")
		first.lines.Scan()
		send(t, api, changes()...)
		e, _ := first.next()
		first.close()
		for n := range 5000 {
			err := store.Update(context.Background(), time.Now(), func(w placement.Writer) error {
				event := placement.Event{What: placement.EventTrait, Subject: "T", After: fmt.Sprint(n)}
				w.Changed(placement.Changes{Requests: []placement.RequestEvents{{Events: []placement.Event{event}}}})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		again := watching(t, api, "/berth/v1/events", e.id)
		all := again.upTo(t, `"4999"`)
		if len(all) != 4097 || all[0].name != "reset" || all[0].data != `{"reason":"lost"}` ||
			!strings.Contains(all[1].data, `"after":"904"`) {
			t.Errorf("%d events: %+v, %+v, …", len(all), all[0], all[1])
		}
		// Another process, of which nothing is known yet, does not have the position.
		fresh := watched(t, inMemory(t), placementapi.StreamSettings{})
		elsewhere := watching(t, fresh, "/berth/v1/events", e.id)
		if got, _ := elsewhere.next(); got.name != "reset" {
			t.Errorf("behind an id of another process there is %+v", got)
		}
		elsewhere.close()
		// A slow reader is behind what the feed keeps, and misses nothing.
		again.close()
		slow := watching(t, api, "/berth/v1/events", all[2000].id)
		if rest := slow.upTo(t, `"4999"`); len(rest) != 4097-2001 || rest[0].name != "change" {
			t.Errorf("%d events, the first is %+v", len(rest), rest[0])
		}
	})
}

// TestEventsAreCompleteAcrossInstances has concurrent writers at all instances, and clients whose
// connections break at random and go on at another instance. What each has got is the difference of
// the states.
func TestEventsAreCompleteAcrossInstances(t *testing.T) {
	t.Run("File", func(t *testing.T) {
		store := inMemory(t)
		api := watched(t, store, placementapi.StreamSettings{})
		testComplete(t, []placement.Store{store}, []http.Handler{api})
	})
	sqltest.OnServers(t, func(t *testing.T, url string) {
		var stores []placement.Store
		var apis []http.Handler
		for range 2 {
			store := sqltest.Open(t, sqlstore.Options{Server: sqltest.Server(t, url)})
			stores, apis = append(stores, store), append(apis, watched(t, store, placementapi.StreamSettings{}))
		}
		testComplete(t, stores, apis)
	})
}

func testComplete(t *testing.T, stores []placement.Store, apis []http.Handler) {
	state := func() (s placementtest.State) {
		t.Helper()
		err := stores[0].View(context.Background(), func(r placement.Reader) (err error) {
			s, err = placementtest.StateOf(r)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// The clients begin where the first stream does.
	first := watching(t, apis[0], "/berth/v1/events", "")
	first.lines.Scan()
	send(t, apis[0], changes()...)
	e, _ := first.next()
	first.close()
	begin := make(placementtest.State)
	for key, value := range state() {
		// But for the first event, which they have not.
		if key.What == placement.EventTrait && key.Provider == "" || key.What == placement.EventClass {
			begin[key] = value
		}
	}
	begin[placementtest.Subject{What: placement.EventProvider, Provider: cn1}] = "cn1"

	var writers sync.WaitGroup
	for n := range 4 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
			for range 60 {
				vm, cn := []string{vm1, vm2}[rng.IntN(2)], []string{cn1, cn2}[rng.IntN(2)]
				text := []string{
					"DELETE /allocations/" + vm,
					fmt.Sprintf(`PUT /allocations/%s {"allocations":{"%s":{"resources":{"VCPU":%d}}},"project_id":"p","user_id":"u"}`,
						vm, cn, 1+rng.IntN(3)),
					fmt.Sprintf(`PUT /resource_providers/%s/aggregates ["%s"]`, cn, vm),
				}[rng.IntN(3)]
				r := newRequest(splitRequest(text))
				r.Header.Set("OpenStack-API-Version", "placement 1.12")
				w := httptest.NewRecorder()
				apis[n%len(apis)].ServeHTTP(w, r)
				if w.Code != 204 && w.Code != 200 && w.Code != 404 && w.Code != 409 {
					t.Errorf("%s: %d %s", text, w.Code, w.Body)
				}
			}
		})
	}
	results := make([][]received, 3)
	var clients sync.WaitGroup
	over := make(chan struct{})
	for n := range results {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 4))
			last := e.id
			for {
				c := watching(t, apis[rng.IntN(len(apis))], "/berth/v1/events", last)
				for range 1 + rng.IntN(20) {
					e, ok := c.next()
					if !ok {
						break
					}
					if last = e.id; e.name != "" {
						results[n] = append(results[n], e)
					}
					if strings.Contains(e.data, "CUSTOM_END") {
						c.close()
						return
					}
				}
				c.close()
				select {
				case <-over:
					t.Error("a client has not seen the end")
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	send(t, apis[len(apis)-1], "PUT /traits/CUSTOM_END")
	late := time.AfterFunc(time.Minute, func() { close(over) })
	clients.Wait()
	late.Stop()
	end := state()
	for n, events := range results {
		got := make(placementtest.State)
		for key, value := range begin {
			got[key] = value
		}
		delete(got, placementtest.Subject{What: placement.EventTrait, Subject: "CUSTOM_END"})
		for i, e := range events {
			var v struct {
				What                             placement.EventKind
				Provider, Subject, Before, After string
				UUID                             placement.UUID `json:"provider_uuid"`
				Consumer                         placement.UUID `json:"consumer_uuid"`
			}
			err := json.Unmarshal([]byte(e.data), &v)
			if err == nil && e.name == "change" {
				err = got.Apply(placement.Event{
					What: v.What, Provider: v.UUID, Consumer: v.Consumer, Subject: v.Subject, Before: v.Before, After: v.After,
				})
			} else {
				err = fmt.Errorf("%s: %v", e.name, err)
			}
			if err != nil {
				t.Errorf("client %d, event %d of %d: %v", n, i, len(events), err)
				break
			}
		}
		if diff := cmp.Diff(end, got); diff != "" {
			t.Errorf("client %d after %d events (-state +events)\n%s", n, len(events), diff)
		}
		if len(events) < 50 {
			t.Errorf("client %d has %d events: the test says little", n, len(events))
		}
	}
}
