package fuzzing

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seed = flag.Uint64("fuzzing.seed", 20261123,
		"repeat what a run with this seed sent, as far as the answers are the same")
	requests = flag.Int("fuzzing.requests", 4000, "how many requests are sent")
	clients  = flag.Int("fuzzing.clients", 2, "how many clients send them; with one the same seed is the same requests")
	only     = flag.String("fuzzing.only", "", "only routes that this regular expression matches, as in \"network POST\"")
)

// The bounds of the one process that serves all five APIs, when it is idle again.
const (
	mostMemory     = 2 << 30 // resident, at any time
	mostHeap       = 512 << 20
	mostGoroutines = 1000
)

// TestRoutes compares the table with the routes of the program.
func TestRoutes(t *testing.T) {
	table, err := readTable(apiText)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, r := range table {
		want[r.String()] = true
	}
	c := start(t)
	served := regexp.MustCompile(`(?m)^berth_http_request_seconds_count\{method="([A-Z]+)",route="([^"]+)",` +
		`service="([^"]+)"\}`)
	for api := range apis {
		_, text := c.get("/" + api + "/metrics")
		found := served.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s says of no route that it has it", api)
		}
		for _, m := range found {
			name := m[3] + " " + m[1] + " " + m[2]
			if !want[name] {
				t.Errorf("%s is served, and not in testdata/api.txt", name)
			}
			delete(want, name)
		}
	}
	for name := range want {
		t.Errorf("%s is in testdata/api.txt, and not served", name)
	}
}

// TestFuzz sends random requests, of which none may make a service fail.
func TestFuzz(t *testing.T) {
	table, err := readTable(apiText)
	if err != nil {
		t.Fatal(err)
	}
	expression, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	table = slices.DeleteFunc(table, func(r *route) bool { return !expression.MatchString(r.String()) })
	if len(table) == 0 {
		t.Fatal("no route is left")
	}
	f := &fuzzer{t: t, cloud: start(t), table: table, pool: newPool(), seen: map[*route]map[int]int{}, moves: newTally()}
	for _, rt := range table {
		if small := rt.api == "identity" || rt.api == "image"; rt.method == "POST" && len(rt.bodies) > 0 &&
			!strings.Contains(rt.path, "{") && (!small || rt.path == "/v3/auth/tokens") {
			f.makers = append(f.makers, rt)
		}
	}
	f.survey()
	f.left.Store(int64(*requests))
	t.Logf("%d requests by %d clients, -fuzzing.seed=%d", *requests, *clients, *seed)
	begin := time.Now()
	var all sync.WaitGroup
	for n := range *clients {
		all.Go(func() { f.client(n) })
	}
	all.Wait()
	t.Logf("%d requests in %v; the slowest took %v:\n%.500s\nby service and status:%s\nvalid moves:%s", f.sent.Load(),
		time.Since(begin).Round(time.Millisecond), f.slowest.took, f.slowest.request, f.summary(), f.moves)
	if f.sent.Load() >= 10_000 && *only == "" {
		f.coverage()
	}
	f.aftermath()
}

// A fuzzer is one run. Its methods may be called from many goroutines.
type fuzzer struct {
	t      *testing.T
	cloud  *cloud
	table  []*route
	makers []*route // those of the table that create something
	pool   *pool
	moves  *tally
	left   atomic.Int64
	sent   atomic.Int64

	mu       sync.Mutex // guards the rest
	seen     map[*route]map[int]int
	failures int
	slowest  struct {
		took    time.Duration
		request string
	}
}

// mostFailures is the number of failures that ends a run.
const mostFailures = 20

// survey records the initial objects.
func (f *fuzzer) survey() {
	l := newLine()
	defer l.close()
	for _, rt := range f.table {
		if rt.method != "GET" || strings.Contains(rt.path, "{") || rt.path == "/v2.0" {
			continue
		}
		host := f.cloud.address(rt.api)
		header := []string{"Host: " + host, "X-Auth-Token: " + f.cloud.accounts[0].token()}
		a, err := l.send(&request{route: rt, host: host, method: "GET", target: rt.path, header: header, how: silent})
		var said any
		if err == nil && a.status == 200 && json.Unmarshal(a.body, &said) == nil {
			f.pool.learn(said, "")
		}
	}
}

// client sends requests until there were enough.
func (f *fuzzer) client(n int) {
	m := &maker{Rand: rand.New(rand.NewPCG(*seed, uint64(n))), pool: f.pool, users: f.cloud.accounts, keys: f.cloud.keys}
	l := newLine()
	defer l.close()
	for f.left.Add(-1) >= 0 && f.cloud.process.Alive() {
		var q *request
		if m.chance(5) {
			q = m.move(f.table, f.cloud)
		}
		if q == nil {
			q = m.request(f.choose(m), f.cloud)
		}
		a, err := l.send(q)
		f.sent.Add(1)
		f.look(m, q, a, err)
	}
}

// choose chooses a route. For kinds with many objects, it removes more often than it creates, so
// that lists do not grow throughout the run.
func (f *fuzzer) choose(m *maker) *route {
	rt := f.table[m.IntN(len(f.table))]
	if (rt.api == "identity" || rt.api == "image") && m.chance(2) { // they have few functions
		rt = f.table[m.IntN(len(f.table))]
	}
	if len(f.makers) > 0 && m.chance(3) { // otherwise there would be few objects for requests
		rt = f.makers[m.IntN(len(f.makers))]
	}
	if rt.method == "DELETE" && !m.chance(3) {
		rt = f.table[m.IntN(len(f.table))]
	}
	if rt.method != "POST" || f.pool.count(kindOf(rt.path)) < 100 || m.chance(10) {
		return rt
	}
	for _, other := range f.table {
		if other.api == rt.api && other.method == "DELETE" && strings.HasPrefix(other.path, rt.path+"/{") &&
			strings.Count(other.path, "/") == strings.Count(rt.path, "/")+1 {
			return other
		}
	}
	return rt
}

// kindOf is the kind of a list's items.
func kindOf(path string) string {
	last := path[strings.LastIndex(path, "/")+1:]
	if kind, cur := kindsOf[last]; cur {
		return kind
	}
	return last
}

// look judges the result of a request, and records its objects.
func (f *fuzzer) look(m *maker, q *request, a *answer, err error) {
	if err != nil {
		if !q.crude || timedOut(err) {
			f.fail(q, "there is no answer: "+err.Error())
		}
		return
	}
	if why := judge(q, a); why != "" {
		f.fail(q, fmt.Sprintf("%s: %d %v\n%.3000s", why, a.status, a.header, a.body))
	}
	f.note(q, a)
	if q.move != "" {
		f.moves.add(q.move, a)
	}
	if a.status == 401 && m.chance(10) { // tokens are revoked, too
		f.cloud.login(m.account())
	}
	for i, n := range q.named {
		last := i == len(q.named)-1
		if a.status == 404 && m.chance(2) || last && q.method == "DELETE" && a.status == 204 {
			f.pool.forget(n.kind, n.id)
		}
	}
	if a.status >= 300 || len(a.body) > 4<<20 {
		return
	}
	var said any
	if json.Unmarshal(a.body, &said) == nil {
		f.pool.learn(said, m.provider)
	}
	if token := a.header.Get("X-Subject-Token"); token != "" && q.subject == "" {
		f.pool.mu.Lock()
		f.pool.add("tokens", token)
		f.pool.mu.Unlock()
	}
}

func (f *fuzzer) note(q *request, a *answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.took > f.slowest.took {
		f.slowest.took, f.slowest.request = a.took, fmt.Sprintf("%d %s %s %s", a.status, q.method, q.target, q.body)
	}
	if f.seen[q.route] == nil {
		f.seen[q.route] = map[int]int{}
	}
	if q.method == q.route.method {
		f.seen[q.route][a.status]++
	}
}

// fail reports an error, and how to reproduce it.
func (f *fuzzer) fail(q *request, why string) {
	f.t.Errorf("%v: %s\n%s", q.route, why, q.repeat())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failures++; f.failures == mostFailures {
		f.t.Error("there are more than enough failures; the run ends")
		f.left.Store(0)
	}
}

// summary counts the answers by service and status.
func (f *fuzzer) summary() string {
	counts := map[string]map[int]int{}
	for rt, by := range f.seen {
		if counts[rt.api] == nil {
			counts[rt.api] = map[int]int{}
		}
		for status, n := range by {
			counts[rt.api][status] += n
		}
	}
	var lines []string
	for api, by := range counts {
		var parts []string
		for status, n := range by {
			parts = append(parts, fmt.Sprintf("%d:%d", status, n))
		}
		slices.Sort(parts)
		lines = append(lines, fmt.Sprintf("\n  %-10s %s", api, strings.Join(parts, " ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// never are routes that refuse everything.
var never = regexp.MustCompile(`^(placement GET /berth/v1/own/explain$|image (POST|PUT|PATCH|DELETE) |identity ` +
	`(POST|PUT|PATCH|DELETE) /v3/[a-z]+(/\{id\})?$|image GET /v2/images/\{id\}/(file|members)|` +
	`network (PUT|DELETE) /v2\.0/[a-z/-]+$|network POST ` +
	`/v2\.0/(.*/tags|agents|availability_zones|extensions|network-ip-availabilities|qos/rule-types)$|` +
	`network DELETE /v2\.0/(extensions/|ports/\{port_id\}/bindings$|qos/policies/\{policy_id\}/[a-z_]+$)|network PUT ` +
	`/v2\.0/(ports/\{port_id\}/bindings$|network-ip-|security-group-rules/|qos/policies/\{policy_id\}/[a-z_]+$)|` +
	`compute GET /v2\.1/os-hypervisors/\{id\}/uptime)`)

// coverage requires a long run to have reached nearly all routes: some need a state that random
// requests seldom create.
func (f *fuzzer) coverage() {
	const long, share = 200_000, 50
	missed := 0
	for _, rt := range f.table {
		n := 0
		for status, times := range f.seen[rt] {
			if status < 400 {
				n += times
			}
		}
		if n == 0 && !never.MatchString(rt.String()) {
			missed++
			f.t.Logf("%v was never answered with a success: %v", rt, f.seen[rt])
		}
	}
	for _, a := range moves {
		if f.moves.succeeded(a.name) == 0 && !slices.Contains(unlikely, a.name) {
			f.t.Errorf("%s was never answered with a success: %v; the last refusal is %s", a.name, f.moves.all[a.name],
				f.moves.refused[a.name])
		}
	}
	if f.sent.Load() >= long && missed > len(f.table)/share {
		f.t.Errorf("%d of %d routes were never answered with a success", missed, len(f.table))
	}
}

// aftermath requires the services to be as ready as before.
func (f *fuzzer) aftermath() {
	c := f.cloud
	if !c.process.Alive() {
		return // reported by the end of the cloud
	}
	for api := range apis {
		if status, text := c.get("/" + api + "/readyz"); status != 200 {
			f.t.Errorf("%s is not ready: %d %s", api, status, text)
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.Pid()))
	if err != nil {
		f.t.Fatal(err)
	}
	var kib int
	if m := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(status); m != nil {
		fmt.Sscan(string(m[1]), &kib)
	}
	heap, goroutines := c.metric("placement", "go_memstats_heap_alloc_bytes"), c.metric("placement", "go_goroutines")
	f.t.Logf("resident at most %d MiB, heap %.0f MiB, %.0f goroutines", kib>>10, heap/(1<<20), goroutines)
	if kib == 0 || kib > mostMemory>>10 || heap > mostHeap || goroutines > mostGoroutines {
		f.t.Errorf("that is more than %d MiB, %d MiB, %d", mostMemory>>20, mostHeap>>20, mostGoroutines)
	}
}
