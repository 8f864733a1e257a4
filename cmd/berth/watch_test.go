package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement/service"
)

// A watched is a placement service, and berth watch of it.
type watched struct {
	t     *testing.T
	lines *bufio.Scanner
	errs  *lockedBuffer
	stop  context.CancelFunc
	code  chan int
}

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// watch starts berth watch of the service at a URL, or of what the arguments name when it is empty.
func watch(t *testing.T, url string, args ...string) *watched {
	t.Helper()
	variables := map[string]string{}
	if url != "" {
		variables = map[string]string{"OS_AUTH_TYPE": "admin_token", "OS_ENDPOINT": url, "OS_TOKEN": "admin"}
	}
	return watchIn(t, variables, args...)
}

// watchIn starts berth watch with variables.
func watchIn(t *testing.T, variables map[string]string, args ...string) *watched {
	t.Helper()
	w := &watched{t: t, errs: new(lockedBuffer), code: make(chan int, 1)}
	r, out := io.Pipe()
	w.lines = bufio.NewScanner(r)
	env := cli.Env{Stdout: out, Stderr: w.errs, Environ: environOf(variables)}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() {
		w.code <- run(ctx, append([]string{"watch"}, args...), env)
		out.Close()
	}()
	return w
}

// next returns the next line without its time.
func (w *watched) next() string {
	w.t.Helper()
	if !w.lines.Scan() {
		w.t.Fatalf("berth watch ended with %d: %s", <-w.code, w.errs)
	}
	_, text, _ := strings.Cut(w.lines.Text(), " ")
	return text
}

// end interrupts it and wants it to end well.
func (w *watched) end() {
	w.t.Helper()
	w.stop()
	for w.lines.Scan() {
	}
	if code := <-w.code; code != cli.ExitOK {
		w.t.Errorf("berth watch exits with %d after an interrupt: %s", code, w.errs)
	}
}

// waitFor waits until standard error has a text.
func (w *watched) waitFor(text string) {
	w.t.Helper()
	for !strings.Contains(w.errs.String(), text) {
		select {
		case code := <-w.code:
			w.t.Fatalf("berth watch ended with %d: %s", code, w.errs)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// send sends a request that must succeed.
func send(t *testing.T, url, method, path, body string) {
	t.Helper()
	r, err := http.NewRequest(method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.38")
	r.Header.Set("Content-Type", "application/json")
	// A connection of its own, since those that are kept are cut.
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
}

const (
	watchedHost   = "6f1b1a5e-0000-4000-8000-000000000001"
	watchedOther  = "6f1b1a5e-0000-4000-8000-000000000002"
	watchedServer = "6f1b1a5e-0000-4000-8000-0000000000a1"
)

// change does one thing of each kind.
func change(t *testing.T, url string) {
	t.Helper()
	send(t, url, "PUT", "/resource_providers/"+watchedHost+"/inventories",
		`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}`)
	send(t, url, "PUT", "/resource_providers/"+watchedHost+"/traits",
		`{"resource_provider_generation": 1, "traits": ["HW_CPU_X86_VMX"]}`)
	send(t, url, "PUT", "/allocations/"+watchedServer, `{"allocations": {"`+watchedHost+`": {"resources": {"VCPU": 2}}},
		"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`)
}

// berth watch prints what the stream of Berth's service has, as it comes, and goes on behind an id.
func TestWatch(t *testing.T) {
	server := httptest.NewServer(placementapitest.New(t, service.DefaultSettings()))
	t.Cleanup(server.Close) // when the context of the test has ended, and with it berth watch
	send(t, server.URL, "POST", "/resource_providers", `{"name": "cn1", "uuid": "`+watchedHost+`"}`)
	send(t, server.URL, "POST", "/resource_providers", `{"name": "cn2", "uuid": "`+watchedOther+`"}`)
	w := watch(t, server.URL)
	w.waitFor("watching the placement service at " + server.URL)
	change(t, server.URL)
	want := []string{
		"added   inventory VCPU on cn1: total 8",
		"added   trait HW_CPU_X86_VMX on cn1",
		"added   allocation VCPU of " + watchedServer + " on cn1: 2",
	}
	for _, line := range want {
		if got := w.next(); got != line {
			t.Errorf("a line is %q, want %q", got, line)
		}
	}
	// The connection breaks: nothing is lost, nothing comes twice.
	server.CloseClientConnections()
	send(t, server.URL, "DELETE", "/allocations/"+watchedServer, "")
	if got := w.next(); got != "removed allocation VCPU of "+watchedServer+" on cn1: 2" {
		t.Errorf("after the connection broke a line is %q", got)
	}
	w.end()
	if says := w.errs.String(); strings.Contains(says, "lost") {
		t.Errorf("standard error: %s", says)
	}

	w = watch(t, server.URL, "--since", "1h", "--class", "VCPU", "--tree", "cn1", "-f", "json")
	var got []map[string]any
	for range 3 {
		if !w.lines.Scan() {
			t.Fatalf("berth watch ended: %s", w.errs)
		}
		var e map[string]any
		if err := json.Unmarshal(w.lines.Bytes(), &e); err != nil || e["id"] == "" || e["time"] == "" {
			t.Fatalf("a line is %s: %v", w.lines.Text(), err)
		}
		delete(e, "id")
		delete(e, "time")
		got = append(got, e)
	}
	w.end()
	one := func(change, what string, more ...string) map[string]any {
		e := map[string]any{
			"change": change, "what": what, "provider": "cn1", "provider_uuid": watchedHost, "root_provider_uuid": watchedHost,
			"subject": "VCPU",
		}
		for i := 0; i < len(more); i += 2 {
			e[more[i]] = more[i+1]
		}
		return e
	}
	if diff := gocmp.Diff([]map[string]any{
		one("added", "inventory", "after", "total 8"),
		one("added", "allocation", "after", "2", "consumer_uuid", watchedServer),
		one("removed", "allocation", "before", "2", "consumer_uuid", watchedServer),
	}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, tc := range []struct{ args, says string }{
		{"--tree cn9", `There is no provider with the name or UUID "cn9"`},
		{"--since 1.!", "is not the id of an event, nor a duration such as 10m, nor a time"},
	} {
		w := watch(t, server.URL, strings.Fields(tc.args)...)
		if code := <-w.code; code != cli.ExitFailure || !strings.Contains(w.errs.String(), tc.says) {
			t.Errorf("watch %s exits with %d: %s", tc.args, code, w.errs)
		}
	}
}

// An interrupt before there is an answer ends it as one later does. A class that does not exist is
// awaited, and that is said.
func TestWatchBeforeThereIsSomething(t *testing.T) {
	requested := make(chan struct{}, 1)
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requested <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(hanging.Close)
	for _, variables := range []map[string]string{
		{
			"OS_AUTH_URL": hanging.URL, "OS_USERNAME": "u", "OS_PASSWORD": "p", "OS_PROJECT_NAME": "p",
			"OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_ID": "default",
		},
		{"OS_AUTH_TYPE": "admin_token", "OS_ENDPOINT": hanging.URL, "OS_TOKEN": "admin"},
	} {
		w := watchIn(t, variables)
		<-requested
		w.end()
		if says := w.errs.String(); says != "" {
			t.Errorf("standard error: %s", says)
		}
	}
	server := httptest.NewServer(placementapitest.New(t, service.DefaultSettings()))
	t.Cleanup(server.Close)
	w := watch(t, server.URL, "--class", "CUSTOM_GPU")
	w.waitFor("note: there is no resource class CUSTOM_GPU now\nwatching ")
	send(t, server.URL, "PUT", "/resource_classes/CUSTOM_GPU", "")
	if line := w.next(); line != "added   resource_class CUSTOM_GPU" {
		t.Errorf("a line is %q", line)
	}
	w.end()
}

// Where there is no stream, berth watch reads again and again, and says so.
func TestWatchByPolling(t *testing.T) {
	api := placementapitest.New(t, service.DefaultSettings())
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/berth/") {
			http.NotFound(rw, r)
			return
		}
		api.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	send(t, server.URL, "POST", "/resource_providers", `{"name": "cn1", "uuid": "`+watchedHost+`"}`)
	send(t, server.URL, "POST", "/resource_providers", `{"name": "cn2", "uuid": "`+watchedOther+`"}`)
	everything := watch(t, server.URL, "--interval", "1s", "--since", "1h")
	tree := watch(t, server.URL, "--interval", "1s", "--tree", "cn2")
	everything.waitFor("watching the placement service at " + server.URL + "\n")
	tree.waitFor("watching the placement service at " + server.URL + "\n")
	if !strings.Contains(everything.errs.String(), "it is read each 1s; who changed something is not known") ||
		!strings.Contains(everything.errs.String(), "--since has no effect") {
		t.Errorf("standard error: %s", everything.errs)
	}
	change(t, server.URL)
	send(t, server.URL, "PUT", "/resource_providers/"+watchedOther, `{"name": "cn3"}`)
	got := map[string]bool{}
	for range 4 {
		got[everything.next()] = true
	}
	want := map[string]bool{
		"added   inventory VCPU on cn1: total 8": true, "added   trait HW_CPU_X86_VMX on cn1": true,
		"added   allocation VCPU of " + watchedServer + " on cn1: 2": true, "changed name on cn3: cn2 -> cn3": true,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// A release raises no generation, and is seen.
	send(t, server.URL, "DELETE", "/allocations/"+watchedServer, "")
	if line := everything.next(); line != "removed allocation VCPU of "+watchedServer+" on cn1: 2" {
		t.Errorf("a line is %q", line)
	}
	everything.end()
	if line := tree.next(); line != "changed name on cn3: cn2 -> cn3" {
		t.Errorf("a line is %q", line)
	}
	tree.end()
}

// A database is read again and again while a service changes it. A server that does not answer for
// a while does not end the watch.
func TestWatchADatabase(t *testing.T) {
	onDatabases(t, func(t *testing.T, newURL func(*testing.T) string) {
		url := newURL(t)
		r := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0", "--config", settings(t, databaseOf(url)))
		service := r.url
		send(t, service, "POST", "/resource_providers", `{"name": "cn1", "uuid": "`+watchedHost+`"}`)
		send(t, service, "POST", "/resource_providers", `{"name": "cn2", "uuid": "`+watchedOther+`"}`)

		var proxy *dbtest.Proxy
		read := url // by berth watch
		if server := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(url); server != "" {
			proxy = dbtest.NewProxy(t, server)
			read = strings.Replace(url, server, proxy.Address(), 1)
		}
		everything := watch(t, "", "--config", settings(t, databaseOf(read)), "--interval", "1s")
		tree := watch(t, "", "--connection", read, "--interval", "1s", "--tree", "cn2", "-f", "json")
		everything.waitFor("watching the database ")
		tree.waitFor("watching the database ")
		if says := everything.errs.String(); !strings.Contains(says,
			"note: a database has no stream of events: it is read each 1s; who changed something is not known\n") {
			t.Errorf("standard error: %s", says)
		}
		change(t, service)
		send(t, service, "PUT", "/resource_providers/"+watchedOther, `{"name": "cn3"}`)
		got := map[string]bool{}
		for range 4 {
			got[everything.next()] = true
		}
		if diff := gocmp.Diff(map[string]bool{
			"added   inventory VCPU on cn1: total 8": true, "added   trait HW_CPU_X86_VMX on cn1": true,
			"added   allocation VCPU of " + watchedServer + " on cn1: 2": true, "changed name on cn3: cn2 -> cn3": true,
		}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if !tree.lines.Scan() || !strings.Contains(tree.lines.Text(), `"change":"changed","what":"name"`) {
			t.Errorf("of the tree there is %s: %s", tree.lines.Text(), tree.errs)
		}
		tree.end()
		if proxy != nil {
			proxy.Cut()
			everything.waitFor("; trying again in 2s")
			send(t, service, "DELETE", "/allocations/"+watchedServer, "")
			proxy.Heal()
			everything.waitFor("note: the records can be read again")
		} else {
			send(t, service, "DELETE", "/allocations/"+watchedServer, "")
		}
		if line := everything.next(); line != "removed allocation VCPU of "+watchedServer+" on cn1: 2" {
			t.Errorf("a line is %q", line)
		}
		everything.end()

		nowhere := watch(t, "", "--connection", read, "--tree", "cn9")
		if code := <-nowhere.code; code != cli.ExitFailure ||
			!strings.Contains(nowhere.errs.String(), `no provider has the name or UUID "cn9"`) {
			t.Errorf("watching a tree that does not exist exits with %d: %s", code, nowhere.errs)
		}
		if proxy == nil {
			r.stop()
			return
		}
		// A server that is silent does not hold up an interrupt.
		proxy.HalfOpen()
		silent := watch(t, "", "--connection", read)
		silent.waitFor("it is read each 5s")
		begun := time.Now()
		silent.end()
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("the watch ended %s after the interrupt", took)
		}
		r.stop()
	})
}

// An event of a boot names the boot's request, as the server's list of events does, or the request
// that caused it elsewhere.
func TestWatchNamesTheRequestOfABoot(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer u.stop()
	w := watchIn(t,
		map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml"), "OS_CLOUD": "berth-admin"}, "-f",
		"json", "--class", "VCPU")
	w.waitFor("watching ")
	const elsewhere = "req-0a1b2c3d-0000-4000-8000-00000000000a"
	for _, tc := range []struct{ sent, want string }{{"", ""}, {elsewhere, elsewhere}, {"req-of-mine", ""}} {
		res, text := call(t, &http.Transport{}, "POST", u.compute+"/servers",
			`{"server": {"name": "vm", "flavorRef": "c1", "imageRef": "`+upImage+`", "networks": "none"}}`,
			"X-Auth-Token: "+u.token, "OpenStack-API-Version: compute 2.72", "X-OpenStack-Request-ID: "+tc.sent)
		if res.StatusCode != http.StatusAccepted {
			t.Fatalf("the boot = %d %s", res.StatusCode, text)
		}
		var shown struct{ Server struct{ ID string } }
		decodeFrom(t, text, &shown)
		u.built(shown.Server.ID)
		var actions struct {
			Actions []struct {
				Request string `json:"request_id"`
			} `json:"instanceActions"`
		}
		u.request(http.MethodGet, u.compute+"/servers/"+shown.Server.ID+"/os-instance-actions", nil, &actions)
		if len(actions.Actions) != 1 || actions.Actions[0].Request != res.Header.Get("X-OpenStack-Request-ID") {
			t.Errorf("the server's actions are %+v, and the boot was %s", actions, res.Header.Get("X-OpenStack-Request-ID"))
		}
		want := cmp.Or(tc.want, actions.Actions[0].Request)
		if !w.lines.Scan() {
			t.Fatalf("berth watch ended: %s", w.errs)
		}
		var e struct {
			Change   string
			Consumer string `json:"consumer_uuid"`
			Global   string `json:"global_request_id"`
		}
		decodeFrom(t, w.lines.Text(), &e)
		if e.Change != "added" || e.Consumer != shown.Server.ID || e.Global != want {
			t.Errorf("sent %q: the event is %s, want the request %s", tc.sent, w.lines.Text(), want)
		}
	}
	w.end()
}
