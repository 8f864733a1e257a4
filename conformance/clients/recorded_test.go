package clients

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/sweep"
)

// A row is one kind of request that a client of the recorded cloud sent.
type row struct {
	client   string
	method   string
	shape    string // path and query keys
	version  string // empty for a request without a version
	statuses []int
}

// TestRecordedRequests sends requests recorded from OpenStack's services, each in situations that
// lead to each of the recorded statuses; to upstream's service every night.
func TestRecordedRequests(t *testing.T) {
	rows := readRows(t)
	rest.Each(t, func(t *testing.T, url string) {
		if strings.HasSuffix(t.Name(), "/Upstream") {
			sweep.Nightly(t)
		}
		c := rest.New(url, rest.Newest)
		defer c.Close()
		n := 0
		for _, r := range rows {
			for _, want := range r.statuses {
				n++
				replay(t, newPlace(t, c, r, n), want)
			}
		}
	})
}

func readRows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("testdata/recorded.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), " | ")
		method, shape, ok := strings.Cut(f[1], " ")
		if len(f) != 4 || !ok {
			t.Fatalf("testdata/recorded.txt: %q is not a row", line)
		}
		rows = append(rows, row{f[0], method, shape, strings.TrimPrefix(f[2], "-"), numbers(t, f[3])})
	}
	return rows
}

func numbers(t *testing.T, list string) []int {
	t.Helper()
	var ns []int
	for s := range strings.SplitSeq(list, ", ") {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	return ns
}

// replay sends the row's request and compares the status.
func replay(t *testing.T, p *place, want int) {
	t.Helper()
	key := p.row.method + " " + p.path
	if p.row.method == http.MethodGet {
		p.prepareRead(want)
	} else if prepare, ok := situations[key+" "+strconv.Itoa(want)]; ok {
		prepare(p)
	} else {
		t.Errorf("no situation for %s -> %d", key, want)
		return
	}
	path := p.target()
	got, err := p.c.At(p.row.version).Do(p.row.method, path, p.body)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != want {
		t.Errorf("%s: %s %s at %q = %d, want %d\n%s", p.row.client, p.row.method, path, p.row.version, got.Status, want,
			got.Body)
	}
}

// A place is a separate host for one request: with an interface below it, an aggregate, a trait and
// a class.
type place struct {
	t   *testing.T
	c   *rest.Client // at the newest microversion
	row row
	n   int

	path, keys                         string // of the row's shape
	host, nic, consumer, aggr, missing string
	trait, class                       string

	uuid, name, resource string // values of the placeholders of the path
	body                 any
}

func newPlace(t *testing.T, c *rest.Client, r row, n int) *place {
	t.Helper()
	p := &place{
		t: t, c: c, row: r, n: n,
		host: rest.UUID("f0", n), nic: rest.UUID("f1", n), consumer: rest.UUID("fc", n),
		aggr: rest.UUID("fa", n), missing: rest.UUID("dead", n),
		trait: "CUSTOM_T" + strconv.Itoa(n), class: "CUSTOM_C" + strconv.Itoa(n),
		resource: "VCPU",
	}
	p.path, p.keys, _ = strings.Cut(r.shape, "?")
	c.Must(t, 201, "PUT", "/traits/"+p.trait, nil)
	c.Must(t, 201, "PUT", "/resource_classes/"+p.class, nil)
	c.AddProvider(t, p.host, "", rest.Resources{"VCPU": 8, "MEMORY_MB": 1024, "DISK_GB": 100})
	c.AddProvider(t, p.nic, p.host, rest.Resources{"NET_BW_EGR_KILOBIT_PER_SEC": 1000})
	c.Must(t, 200, "PUT", "/resource_providers/"+p.nic+"/traits", p.traits(1))
	p.uuid, p.name = p.host, p.trait
	if strings.HasPrefix(p.path, "/allocations") {
		p.uuid = p.consumer
	}
	if strings.HasPrefix(p.path, "/resource_classes") {
		p.name = p.class
	}
	return p
}

func (p *place) traits(generation int) rest.Object {
	return rest.Object{"resource_provider_generation": generation, "traits": []string{p.trait}}
}

// claim allocates some of the host to the place's consumer.
func (p *place) claim() {
	p.t.Helper()
	p.c.Must(p.t, 204, "PUT", "/allocations/"+p.consumer, rest.Claim(nil, p.some(1)))
}

func (p *place) some(cpus int) map[string]rest.Resources {
	return map[string]rest.Resources{
		p.host: {"VCPU": cpus, "MEMORY_MB": 64},
		p.nic:  {"NET_BW_EGR_KILOBIT_PER_SEC": 100},
	}
}

// prepareRead prepares an existing object, or a missing one.
func (p *place) prepareRead(want int) {
	p.t.Helper()
	switch {
	case want == 404 && strings.HasSuffix(p.path, "/{class}"):
		p.resource = "PCI_DEVICE"
	case want == 404:
		p.uuid, p.name = p.missing, "CUSTOM_NOT_THERE"
	default:
		p.claim()
	}
}

// since reports whether the request's microversion is 1.minor or newer.
func (p *place) since(n int) bool { return p.row.version != "" && minor(p.t, p.row.version) >= n }

// allocations returns a body for the row's microversion.
func (p *place) allocations(generation any, cpus int) rest.Object {
	if p.since(38) {
		return rest.Claim(generation, p.some(cpus))
	}
	return rest.Allocations(generation, p.some(cpus))
}

// target returns the path with its placeholders and keys filled in.
func (p *place) target() string {
	path := strings.NewReplacer("{uuid}", p.uuid, "{class}", p.resource, "{name}", p.name).Replace(p.path)
	if p.keys == "" {
		return path
	}
	var query []string
	for key := range strings.SplitSeq(p.keys, "&") {
		base, group, isGroup := strings.Cut(key, "{group}")
		if isGroup {
			key = base + p.suffix() + group
		}
		query = append(query, key+"="+p.value(key))
	}
	return path + "?" + strings.Join(query, "&")
}

// suffix names a group as Neutron's ports do.
func (p *place) suffix() string { return "_" + p.nic }

func (p *place) value(key string) string {
	groups := strings.Contains(key, "_"+p.nic)
	switch {
	case groups && strings.HasPrefix(key, "resources"):
		return "NET_BW_EGR_KILOBIT_PER_SEC:100"
	case groups && strings.HasPrefix(key, "required"), key == "required" && strings.Contains(p.keys, "{group}"):
		return p.trait
	case strings.HasPrefix(key, "in_tree"):
		return p.host
	}
	i := slices.IndexFunc(queryValues, func(v [2]string) bool { return strings.HasPrefix(key, v[0]) })
	if i < 0 {
		p.t.Errorf("no value for the query key %q", key)
		return ""
	}
	return strings.NewReplacer("HOST", p.host, "AGGR", p.aggr, "SUFFIX", p.suffix()).Replace(queryValues[i][1])
}

// queryValues is a plausible value for each key; the first matching prefix counts.
var queryValues = [][2]string{
	{"resources", "VCPU:1,MEMORY_MB:64"},
	{"required", "HW_CPU_X86_AVX"},
	{"root_required", "!COMPUTE_STATUS_DISABLED"},
	{"limit", "1000"},
	{"group_policy", "none"},
	{"member_of", "in:AGGR"},
	{"same_subtree", "SUFFIX"},
	{"name", "in:HW_CPU_X86_AVX"},
	{"uuid", "HOST"},
	{"project_id", "project"},
	{"user_id", "user"},
}
