package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/console"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// records are those of a cloud with three hosts and a pool, on which servers run; one of them has a
// guaranteed port, one is moved.
func records() *cloudtest.Builder {
	b := cloudtest.New()
	b.Placement.Traits = []string{"COMPUTE_STATUS_DISABLED"}
	b.Sharing("pool")
	b.Host("a", "pool")
	b.Agent("a", guarantee.OpenVSwitch, 0, "net0")
	b.Host("b", "pool")
	b.Agent("b", guarantee.OpenVSwitch, 0, "net0")
	b.Host("c", "")
	b.Aggregate("rack1", "a", "b")
	b.Server("web", "a")
	b.Port("fast", "web", "net0", guarantee.OpenVSwitch, 1000, 0, true)
	b.Server("db", "b")
	b.Resized("db", "c")
	return finish(b)
}

func finish(b *cloudtest.Builder) *cloudtest.Builder {
	cloudtest.Count(&b.Cloud)
	b.Placement.Sort()
	return b
}

// A page is what a browser has of a console.
type page struct {
	t      *testing.T
	url    string
	client *http.Client
}

// open serves a console of a source, and returns a page whose session has begun.
func open(t *testing.T, source console.Source) *page {
	t.Helper()
	key := console.NewKey("127.0.0.1:1")
	c := console.New(console.Options{Source: source, Access: key})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	server := httptest.NewServer(c)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		<-done
		server.Close()
	})
	p := &page{t: t, url: server.URL + console.Path + "/", client: &http.Client{Jar: jar}}
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := p.client.Get(p.url + key.Query())
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if at := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || at != console.Path+"/" {
		t.Fatalf("the URL with the key is answered with %s and the location %q", res.Status, at)
	}
	return p
}

// file returns the source of records that do not change.
func file(t *testing.T, b *cloudtest.Builder) console.Source {
	t.Helper()
	s, err := console.File(&b.Cloud)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// get decodes the answer to a request for data, whose status must be 200.
func (p *page) get(path string, into any) {
	p.t.Helper()
	status, body := p.read(path)
	if status != http.StatusOK {
		p.t.Fatalf("GET %s: %d %s", path, status, body)
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		p.t.Fatalf("GET %s: %v in %s", path, err, body)
	}
	if strings.Contains(body, ":null") || strings.Contains(body, "[null") {
		p.t.Errorf("GET %s is answered with a null, which the types of the pages do not have: %s", path, body)
	}
}

func (p *page) read(path string) (status int, body string) {
	p.t.Helper()
	res, err := p.client.Get(p.url + "api/" + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestNobodyLooksWithoutTheKey(t *testing.T) {
	p := open(t, file(t, records()))
	known := p.client
	for _, strangers := range []struct {
		name   string
		cookie *http.Cookie
	}{
		{"no cookie", nil},
		{"another key", &http.Cookie{Name: "berth-console-1", Value: "AAAA"}},
		{"an empty key", &http.Cookie{Name: "berth-console-1", Value: ""}},
	} {
		jar, _ := cookiejar.New(nil)
		if u, _ := url.Parse(p.url); strangers.cookie != nil {
			jar.SetCookies(u, []*http.Cookie{strangers.cookie})
		}
		p.client = &http.Client{Jar: jar}
		for _, path := range []string{
			"hosts", "hosts/a", "consumers/x", "search?q=aa", "explain?query=resources=VCPU:1",
			"headroom?query=resources=VCPU:1", "drain/a", "findings", "slots", "choices", "servers", "traffic", "events?after=0",
		} {
			status, body := p.read(path)
			if status != http.StatusUnauthorized || strings.Contains(body, cloudtest.UUID("host a")) {
				t.Errorf("%s: GET %s is answered with %d %s", strangers.name, path, status, body)
			}
		}
		var s console.Session
		p.get("session", &s)
		if s != (console.Session{Login: "key"}) {
			t.Errorf("%s: the session is %+v", strangers.name, s)
		}
	}
	p.client = known
	var s console.Session
	p.get("session", &s)
	if s != (console.Session{Login: "key", Begun: true, Source: "a test"}) {
		t.Errorf("the session is %+v", s)
	}
}

func TestNothingIsWritten(t *testing.T) {
	p := open(t, file(t, records()))
	for _, test := range []struct {
		method, path, site string
		want               int
	}{
		{"POST", "hosts", "same-origin", 404},
		{"PUT", "hosts/a", "same-origin", 404},
		{"DELETE", "consumers/x", "same-origin", 404},
		{"POST", "session", "cross-site", 403},
		{"POST", "session", "", 403},
		{"POST", "session", "same-origin", 400},
		{"DELETE", "session", "cross-site", 403},
		{"DELETE", "session", "same-origin", 204},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, p.url+"api/"+test.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Sec-Fetch-Site", test.site)
		res, err := p.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != test.want {
			t.Errorf("%s %s from %q is answered with %s", test.method, test.path, test.site, res.Status)
		}
	}
	if status, _ := p.read("hosts"); status != http.StatusUnauthorized {
		t.Errorf("after the logout the table of hosts is answered with %d", status)
	}
}

func TestHosts(t *testing.T) {
	p := open(t, file(t, records()))
	var h console.Hosts
	p.get("hosts", &h)
	if d := cmp.Diff([]string{"a", "b", "c", "pool"}, h.Name); d != "" {
		t.Error(d)
	}
	vcpu := slices.Index(h.Classes, "VCPU")
	if d := cmp.Diff([]int64{2, 2, 2, 0}, h.Used[vcpu]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{cloudtest.UUID("aggregate rack1"): "rack1"}, h.AggregateNames); d != "" {
		t.Error(d)
	}
}

func TestHost(t *testing.T) {
	p := open(t, file(t, records()))
	device := guarantee.Name{Driver: guarantee.OpenVSwitch, Hypervisor: "a", Device: "br-net0"}
	for _, name := range []string{"a", cloudtest.UUID("host a"), device.String()} {
		var h console.Host
		p.get("hosts/"+url.PathEscape(name), &h)
		if len(h.Providers) != 3 || h.Providers[0].Name != "a" || h.Row.Name != "a" {
			t.Fatalf("%s: the host is %+v", name, h)
		}
		web := h.Consumers[cloudtest.UUID("server web")]
		if len(h.Consumers) != 1 || web.Kind != "server" || web.Name != "web" || web.Flavor != "small" ||
			len(web.Ports) != 1 {
			t.Fatalf("%s: its consumers are %+v", name, h.Consumers)
		}
		port := web.Ports[0]
		if port.Name != "fast" || len(port.Groups) != 1 || port.Groups[0].Provider != device.UUID().String() {
			t.Errorf("%s: the port is %+v", name, port)
		}
		if a := h.Providers[2].Allocations; len(a) != 1 || a[0].Resources[guarantee.EgressBandwidth] != 1000 {
			t.Errorf("%s: what is allocated of the bridge is %+v", name, a)
		}
	}
	if status, _ := p.read("hosts/nowhere"); status != http.StatusNotFound {
		t.Errorf("a host that is not there is answered with %d", status)
	}
}

func TestConsumer(t *testing.T) {
	b := records()
	b.Placement.Consumers = append(b.Placement.Consumers, cloud.Consumer{
		UUID: cloudtest.UUID("stranger"), Project: "p", User: "u",
		Allocations: map[string]map[string]int64{
			cloudtest.UUID("host c"): {"VCPU": 1}, cloudtest.UUID("nowhere"): {"VCPU": 1},
		},
	})
	b.Placement.Sort()
	p := open(t, file(t, b))
	for _, test := range []struct {
		id, kind, name string
		trees          []string
	}{
		{"server web", "server", "web", []string{"a", "pool"}},
		{"server db", "server", "db", []string{"b", "pool"}},
		{"migration of db", "migration", "db", []string{"c"}},
		{"stranger", "consumer", "", []string{"c"}},
	} {
		var h console.Holding
		p.get("consumers/"+cloudtest.UUID(test.id), &h)
		var trees []string
		for _, tree := range h.Trees {
			trees = append(trees, tree[0].Name)
			for _, provider := range tree {
				for _, a := range provider.Allocations {
					if a.Consumer != cloudtest.UUID(test.id) {
						t.Errorf("%s: the tree of %s has allocations of others", test.id, tree[0].Name)
					}
				}
			}
		}
		if h.Consumer.Kind != test.kind || h.Consumer.Name != test.name || !slices.Equal(trees, test.trees) {
			t.Errorf("%s: %+v in %v", test.id, h.Consumer, trees)
		}
		if absent := len(h.Absent); absent != map[string]int{"stranger": 1}[test.id] {
			t.Errorf("%s: it has something of %d providers that are not there", test.id, absent)
		}
	}
	if status, _ := p.read("consumers/" + cloudtest.UUID("host a")); status != http.StatusNotFound {
		t.Errorf("a consumer that is not there is answered with %d", status)
	}
}

func TestSearch(t *testing.T) {
	bridge := guarantee.Name{Driver: guarantee.OpenVSwitch, Hypervisor: "a", Device: "br-net0"}
	p := open(t, file(t, records()))
	for _, test := range []struct {
		text  string
		kind  string
		id    string
		hosts int
	}{
		{"br-net0", "provider", bridge.UUID().String(), 0},
		{cloudtest.UUID("host b"), "host", cloudtest.UUID("host b"), 0},
		{"POOL", "host", cloudtest.UUID("provider pool"), 0},
		{"web", "server", cloudtest.UUID("server web"), 0},
		{cloudtest.UUID("migration of db")[:13], "migration", cloudtest.UUID("migration of db"), 0},
		{"fast", "port", cloudtest.UUID("port fast"), 0},
		{cloudtest.Project[:8], "project", cloudtest.Project, 4},
		{"rack", "aggregate", cloudtest.UUID("aggregate rack1"), 2},
		{"hw_cpu_x86_avx", "trait", "HW_CPU_X86_AVX", 3},
		{"disk", "class", "DISK_GB", 2},
	} {
		var f console.Found
		p.get("search?q="+url.QueryEscape(test.text), &f)
		i := slices.IndexFunc(f.Hits, func(h console.Hit) bool { return h.Kind == test.kind && h.ID == test.id })
		if i < 0 || len(f.Hits[i].Hosts) != test.hosts {
			t.Errorf("%q has the hits %+v", test.text, f.Hits)
		}
	}
	var f console.Found
	if p.get("search?q=nothing+has+this", &f); len(f.Hits) > 0 {
		t.Errorf("a text that nothing has is found in %+v", f.Hits)
	}
	for _, text := range []string{"", "a", strings.Repeat("a", 300)} {
		if status, _ := p.read("search?q=" + text); status != http.StatusBadRequest {
			t.Errorf("a text of %d bytes is answered with %d", len(text), status)
		}
	}
}

func TestExplain(t *testing.T) {
	p := open(t, file(t, records()))
	var e console.Explained
	p.get("explain?query="+url.QueryEscape("GET /placement/allocation_candidates?resources=VCPU:300 HTTP/1.1"), &e)
	if e.Fitting != 0 || len(e.Changes) == 0 || len(e.ChangeTexts) != len(e.Changes) || len(e.MissTexts) != len(e.Near) ||
		e.Summary == "" {
		t.Errorf("the explanation is %+v", e)
	}
	p.get("explain?server=web", &e)
	if e.Fitting != 2 || len(e.Owners) != 1 {
		t.Errorf("of the server the explanation is %+v %+v", e.Explanation, e.Subject)
	}
	for path, want := range map[string]int{
		"explain":                        http.StatusBadRequest,
		"explain?query=resources=VCPU":   http.StatusBadRequest,
		"explain?query=a&server=web":     http.StatusBadRequest,
		"explain?server=nobody":          http.StatusNotFound,
		"explain?flavor=small":           http.StatusNotImplemented,
		"headroom?query=required=CUSTOM": http.StatusBadRequest,
	} {
		if status, body := p.read(path); status != want {
			t.Errorf("GET %s is answered with %d %s", path, status, body)
		}
	}
}

func TestHeadroom(t *testing.T) {
	b := records()
	b.Disable("c")
	p := open(t, file(t, finish(b)))
	var h console.Headroom
	p.get("headroom?query=resources=VCPU:1", &h)
	if want := int64(3*256 - 6); h.Least != want || !h.Exact {
		t.Errorf("%d more of the query fit, want %d", h.Least, want)
	}
	p.get("headroom?server=db", &h) // 2 VCPU, and 1 GiB of 128
	if len(h.Refused) != 1 || h.Refused[0].Name != "c" || h.Least != 2*127 {
		t.Errorf("%d more of the server fit; not taken are %v", h.Least, h.Refused)
	}
}

func TestDrain(t *testing.T) {
	p := open(t, file(t, records()))
	var plan struct {
		Host  string
		Moves []struct{ Name, To string }
		Stuck []any
	}
	status, body := p.read("drain/a")
	if err := json.Unmarshal([]byte(body), &plan); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if plan.Host != "a" || len(plan.Moves) != 1 || plan.Moves[0].Name != "web" || plan.Moves[0].To != "b" {
		t.Errorf("the plan is %+v", plan)
	}
}

func TestServers(t *testing.T) {
	b := records()
	b.Network.Policies = []cloud.QoSPolicy{{
		UUID: cloudtest.UUID("gold"), Name: "gold", Rules: []cloud.QoSRule{{Type: "minimum_bandwidth", MinKbps: 1000}},
	}}
	b.Network.Networks = []cloud.NetworkOf{{
		UUID: cloudtest.UUID("network net0"), Name: "net0", Policy: cloudtest.UUID("gold"),
	}}
	p := open(t, file(t, b))
	for _, test := range []struct {
		text, want string
	}{{"", "db web"}, {"WEB", "web"}, {cloudtest.UUID("server db"), "db"}, {"nothing", ""}} {
		var s console.Servers
		p.get("servers?q="+test.text, &s)
		var names []string
		for _, server := range s.Servers {
			names = append(names, server.Name)
			if ports := len(server.Ports); ports != map[string]int{"web": 1}[server.Name] || !server.Allocated {
				t.Errorf("the server is %+v", server)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != test.want || s.Total != len(names) {
			t.Errorf("%q has the servers %q of %d", test.text, got, s.Total)
		}
		if len(s.Networks) != 1 || s.Networks[0].Policy != "gold" || len(s.Policies) != 1 || len(s.Policies[0].Rules) != 1 {
			t.Errorf("the networks are %+v, and the policies %+v", s.Networks, s.Policies)
		}
	}
}

func TestSlots(t *testing.T) {
	b := records()
	source := file(t, b)
	source.Images = func(context.Context) ([]string, error) {
		return []string{"debian", "alpine"}, errors.New("the last page is away")
	}
	source.Flavors = func(context.Context) ([]cloud.Flavor, error) {
		return []cloud.Flavor{
			{Name: "small", VCPUs: 2, RAM: 1024, Disk: 10}, {Name: "huge", VCPUs: 2, RAM: 1 << 20, Disk: 10}, {Name: "nothing"},
		}, nil
	}
	var s console.FlavorSlots
	page := open(t, source)
	page.get("slots", &s)
	if len(s.Flavors) != 2 || s.Flavors[0].Name != "huge" || s.Flavors[0].Most != 0 || len(s.Flavors[0].Exhausted) == 0 ||
		s.Flavors[1].Least != 3*127 { // each has 128 GiB, and one server
		t.Errorf("the slots are %+v", s)
	}
	var c console.Choices
	page.get("choices", &c)
	want := console.Choices{
		Flavors: []string{"huge", "nothing", "small"}, Images: []string{"alpine", "debian"}, Networks: []string{},
		Ports: []string{"fast"}, Zones: []string{"nova"},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	page = open(t, file(t, b))
	if page.get("slots", &s); len(s.Flavors) > 0 {
		t.Errorf("without flavors the slots are %+v", s)
	}
	if page.get("choices", &c); len(c.Flavors) > 0 || len(c.Zones) != 1 {
		t.Errorf("without flavors the choices are %+v", c)
	}
}

func TestFindings(t *testing.T) {
	b := records()
	b.Placement.Consumers = append(b.Placement.Consumers, cloud.Consumer{
		UUID: cloudtest.UUID("stranger"), Project: "p", User: "u", Type: "INSTANCE",
		Allocations: map[string]map[string]int64{cloudtest.UUID("host c"): {"VCPU": 1}},
	})
	p := open(t, file(t, finish(b)))
	var f console.Findings
	p.get("findings", &f)
	if len(f.Findings) == 0 || f.Findings[0].Command == "" {
		t.Errorf("the findings are %+v", f)
	}
}

// A changing cloud is read by a function that the test replaces.
type changing struct {
	read  atomic.Pointer[func() (*cloud.Cloud, error)]
	count atomic.Int64
}

func (c *changing) set(read func() (*cloud.Cloud, error)) { c.read.Store(&read) }

func (c *changing) source() console.Source {
	return console.Records("a test", 20*time.Millisecond, func(context.Context) (*cloud.Cloud, error) {
		c.count.Add(1)
		return (*c.read.Load())()
	})
}

// An events is the stream of events of a page.
type events struct {
	t     *testing.T
	lines *bufio.Scanner
	end   func()
}

func (p *page) events(after string) *events {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"api/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", after)
	res, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" {
		p.t.Fatalf("the stream is answered with %s and the type %q", res.Status, kind)
	}
	p.t.Cleanup(cancel)
	return &events{t: p.t, lines: bufio.NewScanner(res.Body), end: cancel}
}

// next returns the next event; without one the stream has ended.
func (e *events) next() (name, id, data string) {
	for {
		if !e.lines.Scan() {
			return "", "", ""
		}
		line := e.lines.Text()
		switch key, value, _ := strings.Cut(line, ": "); {
		case line == "" && name != "":
			return name, id, data
		case key == "event":
			name = value
		case key == "id":
			id = value
		case key == "data":
			data = value
		}
	}
}

func TestStream(t *testing.T) {
	var c changing
	b := records()
	c.set(func() (*cloud.Cloud, error) { return &b.Cloud, nil })
	p := open(t, c.source())
	var h console.Hosts
	p.get("hosts", &h)
	after := func(n int64) string { return strconv.FormatInt(h.Number+n, 10) }
	stream := p.events(after(0))
	changed := records()
	changed.Server("more", "c")
	finish(changed)
	c.set(func() (*cloud.Cloud, error) { return &changed.Cloud, nil })

	name, id, data := stream.next()
	var change console.HostsChange
	if err := json.Unmarshal([]byte(data), &change); err != nil || name != "hosts" || id != after(1) {
		t.Fatalf("the event is %s %s %s", name, id, data)
	}
	if len(change.Changed) != 1 || change.Changed[0].Name != "c" || change.Changed[0].Used["VCPU"] != 4 {
		t.Errorf("the change is %+v", change)
	}
	var log []string
	for _, l := range change.Log {
		log = append(log,
			strings.Join([]string{l.Change.Change, l.What, l.Subject, l.Before, l.After, l.Name, l.Provider}, " "))
	}
	slices.Sort(log)
	if want := []string{
		"added allocation DISK_GB  10 more c", "added allocation MEMORY_MB  1024 more c", "added allocation VCPU  2 more c",
	}; !slices.Equal(log, want) {
		t.Errorf("the log is %q", log)
	}
	c.set(func() (*cloud.Cloud, error) { return nil, errors.New("a secret is away") })
	if name, _, data = stream.next(); name != "outage" || !strings.Contains(data, "A secret is away") {
		t.Errorf("the event is %s %s", name, data)
	}
	var meanwhile console.Hosts
	if p.get("hosts", &meanwhile); meanwhile.Number != h.Number+1 {
		t.Errorf("meanwhile the table has the number %d after %d", meanwhile.Number, h.Number)
	}
	c.set(func() (*cloud.Cloud, error) { return &b.Cloud, nil })
	var names []string
	for range 2 { // in either order
		name, _, _ = stream.next()
		names = append(names, name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"hosts", "outage"}) {
		t.Errorf("after the outage the events are %v", names)
	}
	stream.end()

	stream = p.events(after(0)) // the page has missed two tables, and the last is as its own
	if name, id, data = stream.next(); name != "hosts" || id != after(2) {
		t.Errorf("a page that comes back gets %s %s %s", name, id, data)
	}
	if err := json.Unmarshal([]byte(data), &change); err != nil || !change.Empty() {
		t.Errorf("a page that comes back gets %+v", change)
	}
	stream = p.events("77") // of a console that has ended
	if name, _, _ = stream.next(); name != "reset" {
		t.Errorf("a page with an unknown table gets %s", name)
	}
	if name, _, _ = stream.next(); name != "" {
		t.Errorf("after a reset the stream goes on with %s", name)
	}
}

// A source whose cloud does not change returns the same reading again. What pages have of it is not
// written any more: the race detector sees it.
func TestTheSameReadingAgain(t *testing.T) {
	var readings [2]*console.Reading
	for n := range readings {
		b := records()
		if n == 1 {
			b.Server("more", "c")
		}
		s, err := finish(b).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		readings[n] = &console.Reading{Snapshot: s, Cloud: &b.Cloud}
	}
	var current atomic.Int64
	p := open(t, console.Source{Interval: 20 * time.Microsecond, Read: func(context.Context) (*console.Reading, error) {
		return readings[current.Load()%2], nil
	}})
	var h console.Hosts
	p.get("hosts", &h)
	stream := p.events(strconv.FormatInt(h.Number, 10))
	p.events(strconv.FormatInt(h.Number, 10)) // readings go on while the first page has no request
	for n := range int64(300) {
		current.Store(n + 1)
		if name, id, _ := stream.next(); name != "hosts" || id != strconv.FormatInt(h.Number+n+1, 10) {
			t.Fatalf("the event is %s %s", name, id)
		}
	}
}

// A cloud that does not answer delays no page: it gets what was there before, and the stream says
// since when that is old.
func TestAReadingThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := records()
		reading := make(chan error)
		source := console.Records("a test", time.Second, func(ctx context.Context) (*cloud.Cloud, error) {
			select {
			case err := <-reading:
				return &b.Cloud, err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		c := console.New(console.Options{Source: source, Access: console.Open{}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		defer running.Wait()
		defer cancel()
		get := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, console.Path+"/api/hosts", nil))
			return w
		}
		go func() { reading <- nil }()
		var h console.Hosts
		if err := json.Unmarshal(get().Body.Bytes(), &h); err != nil || len(h.Name) != 4 {
			t.Fatalf("the table is %+v, %v", h, err)
		}
		time.Sleep(time.Hour) // of the test's clock; no page is open
		begin := time.Now()
		if w := get(); w.Code != http.StatusOK || time.Since(begin) != 3*time.Second {
			t.Errorf("the first request is answered after %s with %d", time.Since(begin), w.Code)
		}
		begin = time.Now()
		if w := get(); w.Code != http.StatusOK || time.Since(begin) != 0 {
			t.Errorf("the second request is answered after %s with %d", time.Since(begin), w.Code)
		}
		pages, closed := context.WithTimeout(t.Context(), 5*time.Second)
		defer closed()
		events := func(end func()) string {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(pages, http.MethodGet,
				console.Path+"/api/events?after="+strconv.FormatInt(h.Number, 10), nil)
			running.Go(end)
			c.ServeHTTP(w, r)
			return w.Body.String()
		}
		text := events(func() {
			time.Sleep(time.Second)
			reading <- nil
			<-pages.Done()
		})
		if !strings.Contains(text, `{"detail":"There is no answer to the requests since `) ||
			!strings.Contains(text, `{"detail":""}`) {
			t.Errorf("the stream is %s", text)
		}
	})
}

// A first reading that takes long is answered with its progress, and it is not made twice.
func TestTheFirstReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := records()
		count := 0
		source := console.Records("a test", time.Minute, func(context.Context) (*cloud.Cloud, error) {
			count++
			time.Sleep(11 * time.Second) // of the test's clock
			return &b.Cloud, nil
		})
		source.Progress = func() (string, int, int) { return "providers", 3000, 1234567 }
		c := console.New(console.Options{Source: source, Access: console.Open{}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		defer running.Wait()
		defer cancel()
		begin, early := time.Now(), 0
		for {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, console.Path+"/api/hosts", nil))
			if w.Code == http.StatusOK {
				break
			}
			early++
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || !strings.Contains(
				w.Body.String(), `"The cloud is being read for the first time: providers, 3,000 of 1,234,567."`) {
				t.Fatalf("the answer is %d %s", w.Code, w.Body)
			}
		}
		if took := time.Since(begin); early != 5 || took != 11*time.Second || count != 1 {
			t.Errorf("after %s and %d answers about the progress there are %d readings", took, early, count)
		}
	})
}

// Without pages nothing is read, and with an open one after each interval.
func TestReadsWhilePagesAreOpen(t *testing.T) {
	var c changing
	b := records()
	c.set(func() (*cloud.Cloud, error) { return &b.Cloud, nil })
	p := open(t, c.source())
	if n := c.count.Load(); n != 0 {
		t.Errorf("before the first page there are %d readings", n)
	}
	var h console.Hosts
	p.get("hosts", &h)
	if n := c.count.Load(); n != 1 {
		t.Errorf("for the first page there are %d readings", n)
	}
	stream := p.events(strconv.FormatInt(h.Number, 10))
	for c.count.Load() < 4 {
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("an open page has no readings")
		}
	}
	stream.end()
}
