package cloudapi_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/placement/service"
)

// A followed is a placement service with hosts of nine providers each, and a follower of it. As in
// the original service, the deletion of allocations raises no generation.
type followed struct {
	t        *testing.T
	url      string
	client   *cloudapi.Client
	follower *cloudapi.Follower
	instead  atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

func follow(t *testing.T, hosts int) *followed {
	f := &followed{t: t}
	api := placementapitest.New(t, service.DefaultSettings())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if instead := f.instead.Load(); instead == nil || !(*instead)(w, r) {
			api.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	f.url = s.URL
	if err := clouds.Bandwidth(hosts, 1).Post(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.client, err = cloudapi.Connect(t.Context(), cloudapi.Options{Environ: alone(s.URL), Wait: atOnce}); err != nil {
		t.Fatal(err)
	}
	f.follower = f.client.Follower(cloud.PlacementPart)
	return f
}

// read reads, compares the records with those of a reader that begins, and returns the number of
// requests.
func (f *followed) read() int64 {
	f.t.Helper()
	before := f.client.Requests()
	got, failed := f.follower.Read(f.t.Context(), nil)
	n := f.client.Requests() - before
	if len(failed) > 0 {
		f.t.Fatal(failed)
	}
	want, err := readAlone(f.t, f.url, everything)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(want.Placement, got.Placement); diff != "" {
		f.t.Fatalf("the follower's records (-new +followed):\n%s", diff)
	}
	return n
}

// send sends a request that must succeed.
func (f *followed) send(method, path, body string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Auth-Token": {"admin"}, "OpenStack-API-Version": {"placement 1.39"},
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode > 299 {
		f.t.Fatalf("%s %s: %s %s", method, path, res.Status, text)
	}
}

// claim has a consumer allocate processors of providers, with those that it had before released.
func (f *followed) claim(consumer int, project, generation string, providers ...string) {
	f.t.Helper()
	var allocations []string
	for _, p := range providers {
		allocations = append(allocations, fmt.Sprintf(`%q: {"resources": {"VCPU": 1}}`, p))
	}
	f.send("PUT", "/allocations/"+consumerUUID(consumer), fmt.Sprintf(
		`{"allocations": {%s}, "project_id": %q, "user_id": "u", "consumer_type": "INSTANCE", "consumer_generation": %s}`,
		strings.Join(allocations, ","), project, generation))
}

func consumerUUID(n int) string { return fmt.Sprintf("c0000000-0000-4000-8000-%012d", n) }

// When 1 % of the providers have changed, a reading takes less than 2 % of the requests of the
// first.
func TestFollowTakesFewRequests(t *testing.T) {
	f := follow(t, 100)
	first := f.read()
	var roots []string
	got, _ := f.follower.Read(t.Context(), nil)
	for _, p := range got.Placement.Providers {
		if p.Parent == "" {
			roots = append(roots, p.UUID)
		}
	}
	if n := f.read(); n > 6 {
		t.Errorf("%d requests when nothing has changed", n)
	}
	changed := len(got.Placement.Providers) / 100
	for i, root := range roots[:changed] {
		f.claim(i, "p1", "null", root)
	}
	if n := f.read(); n*50 > first {
		t.Errorf("%d requests when %d of %d providers have changed, %d at first", n, changed, len(got.Placement.Providers),
			first)
	}
}

// Whatever happens to consumers and providers, the records are those of a reader that begins.
func TestFollowSeesEverything(t *testing.T) {
	f := follow(t, 3)
	f.read()
	got, _ := f.follower.Read(t.Context(), nil)
	var roots []string
	for _, p := range got.Placement.Providers {
		if p.Parent == "" {
			roots = append(roots, p.UUID)
		}
	}
	f.claim(1, "p1", "null", roots[0])
	f.claim(2, "p1", "null", roots[0])
	f.claim(3, "p2", "null", roots[1])
	f.read()
	for name, change := range map[string]func(){
		"a deleted consumer":        func() { f.send("DELETE", "/allocations/"+consumerUUID(1), "") },
		"a new one":                 func() { f.claim(4, "p2", "null", roots[2]) },
		"a consumer that moved":     func() { f.claim(3, "p2", "1", roots[0]) },
		"a provider more":           func() { f.send("POST", "/resource_providers", `{"name": "another"}`) },
		"a consumer in two":         func() { f.claim(2, "p1", "1", roots[0], roots[1]) },
		"a consumer of no provider": func() {},
	} {
		change()
		f.read()
		if n := f.read(); n > 6 {
			t.Errorf("%s: %d requests when nothing has changed since", name, n)
		}
	}
}

// After a failure the next reading does not begin again, and misses nothing that changed meanwhile.
func TestFollowAfterFailures(t *testing.T) {
	f := follow(t, 20)
	first := f.read()
	got, _ := f.follower.Read(t.Context(), nil)
	roots := []string{}
	for _, p := range got.Placement.Providers {
		if p.Parent == "" {
			roots = append(roots, p.UUID)
		}
	}
	for i, path := range []string{"/inventories", "/allocations/", "/usages", "/resource_providers"} {
		for k := range 3 {
			f.claim(10*i+k, "p1", "null", roots[i], roots[i+3])
		}
		var n atomic.Int64
		fail := func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, path) && n.Add(1) > 1 || path == "/resource_providers" && r.URL.Path == path ||
				path == "/usages" && r.URL.Path == path {
				http.Error(w, `{"errors": [{"detail": "It is broken."}]}`, http.StatusInternalServerError)
				return true
			}
			return false
		}
		f.instead.Store(&fail)
		records, failed := f.follower.Read(t.Context(), nil)
		if err := failed[cloud.PlacementPart]; err == nil || records.Placement != nil ||
			!strings.Contains(err.Error(), "It is broken") {
			t.Errorf("%s: %v", path, err)
		}
		f.instead.Store(nil)
		f.send("DELETE", "/allocations/"+consumerUUID(10*i), "")
		if n := f.read(); n*4 > first {
			t.Errorf("%s: %d requests after a failure, %d at first", path, n, first)
		}
	}
}

// A service that does not show the usage of projects is read whole each tenth time.
func TestFollowWithoutUsages(t *testing.T) {
	f := follow(t, 2)
	refuse := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/usages" {
			http.Error(w, `{"errors": [{"detail": "Policy does not allow it."}]}`, http.StatusForbidden)
		}
		return r.URL.Path == "/usages"
	}
	f.instead.Store(&refuse)
	first := f.read()
	whole := 0
	for range 21 {
		if n := f.read(); n >= first-1 {
			whole++
		}
	}
	if whole != 2 {
		t.Errorf("of 21 readings %d were whole", whole)
	}
}

// A service that fails is named, and the others are read all the same.
func TestFollowSaysWhatFails(t *testing.T) {
	denied := healthy()
	denied["/v2.1/os-services"] = ""
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(stack(t, denied), nil)})
	if err != nil {
		t.Fatal(err)
	}
	follower := client.Follower(cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart)
	read := map[string]bool{}
	follower.Progress = func(subject string, done, total int) { read[subject] = read[subject] || done == total }
	got, failed := follower.Read(t.Context(), nil)
	if want := map[string]bool{
		"providers": true, "consumers": true, "lists of the compute service": false, "lists of the network service": true,
	}; !maps.Equal(read, want) {
		t.Errorf("the progress is %v", read)
	}
	if parts := slices.Collect(maps.Keys(failed)); len(parts) != 1 ||
		!strings.Contains(fmt.Sprint(failed[cloud.ComputePart]), "403 Forbidden") {
		t.Errorf("what fails is %v", failed)
	}
	if got.Placement == nil || got.Network == nil || got.Compute != nil {
		t.Errorf("there is %v", got.Has())
	}
}

// Of the servers those are read again that have changed, with an overlap, and all each 30th time.
// Whatever happens to servers, the records are those of a reader that begins.
func TestFollowReadsChangedServers(t *testing.T) {
	type row struct {
		status, host string
		updated      time.Time
	}
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	rows := map[string]row{}
	for i := range 5 {
		rows[fmt.Sprint("vm", i)] = row{"ACTIVE", "cn1", start.Add(time.Duration(i) * time.Second)}
	}
	fails, sent, whole := false, 0, 0
	list := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v2.1/servers/detail" || r.Header.Get("OpenStack-API-Version") != "compute 2.96" {
			return false
		}
		since, err := time.Parse(time.RFC3339, r.URL.Query().Get("changes-since"))
		if err != nil {
			whole++
		}
		var servers []string
		for _, uuid := range slices.Sorted(maps.Keys(rows)) {
			s := rows[uuid]
			if err != nil && s.status == "DELETED" || s.updated.Before(since) {
				continue
			}
			servers = append(servers, fmt.Sprintf(`{"id": %q, "name": "n", "status": %q, "OS-EXT-SRV-ATTR:host": %q, `+
				`"created": "2026-01-02T03:04:05Z", "updated": %q, "image": "", "flavor": {"vcpus": 1}}`,
				uuid, s.status, s.host, s.updated.Format(time.RFC3339)))
		}
		if sent = len(servers); fails {
			http.Error(w, "{}", http.StatusInternalServerError)
			return true
		}
		fmt.Fprintf(w, `{"servers": [%s]}`, strings.Join(servers, ","))
		return true
	}
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{
		Environ: variables(stackWith(t, healthy(), list), nil), Wait: atOnce,
	})
	if err != nil {
		t.Fatal(err)
	}
	follower := client.Follower(cloud.ComputePart)
	read := func() (servers int) {
		t.Helper()
		got, failed := follower.Read(t.Context(), nil)
		if len(failed) > 0 {
			t.Fatal(failed)
		}
		servers = sent
		want, err := client.Read(t.Context(), cloud.Parts{Need: cloud.ComputePart}, nil)
		if err != nil {
			t.Fatal(err)
		}
		byUUID := func(a, b cloud.Server) int { return strings.Compare(a.UUID, b.UUID) }
		if diff := cmp.Diff(slices.SortedFunc(slices.Values(want.Compute.Servers), byUUID),
			slices.SortedFunc(slices.Values(got.Compute.Servers), byUUID)); diff != "" {
			t.Fatalf("the follower's servers (-new +followed):\n%s", diff)
		}
		if diff := cmp.Diff(want.Unread, got.Unread); diff != "" { // of flavors without extra specs
			t.Fatalf("what is unread (-new +followed):\n%s", diff)
		}
		return servers
	}
	read()
	rows["vm9"] = row{"BUILD", "", start.Add(time.Hour)}
	read()
	changes := []func(at time.Time){
		func(at time.Time) { rows["vm1"] = row{"ACTIVE", "cn2", at} },
		func(at time.Time) { rows["vm2"] = row{"DELETED", "", at} },
		func(at time.Time) { rows["vm3"] = row{"SOFT_DELETED", "cn1", at} },
		func(at time.Time) { rows["vm9"] = row{"ERROR", "", at}; rows["vm8"] = row{"ACTIVE", "cn1", at} },
		func(at time.Time) { rows["vm8"] = row{"SHUTOFF", "cn1", at.Add(-30 * time.Second)} }, // which became visible late
		func(time.Time) {},
	}
	for i, change := range changes {
		change(start.Add(time.Duration(i+2) * time.Hour))
		if n := read(); n > 3 { // with what changed shortly before
			t.Errorf("change %d: %d servers are read", i, n)
		}
	}
	fails = true
	if _, failed := follower.Read(t.Context(), nil); failed[cloud.ComputePart] == nil {
		t.Error("a failure is not said")
	}
	fails = false
	rows["vm0"] = row{"PAUSED", "cn1", start.Add(24 * time.Hour)}
	read()
	whole = 0
	for range 60 {
		if _, failed := follower.Read(t.Context(), nil); len(failed) > 0 {
			t.Fatal(failed)
		}
	}
	if whole != 2 {
		t.Errorf("of 60 readings %d were whole", whole)
	}
}

// Requests are counted, and no more of them are sent in a second than the options allow.
func TestRate(t *testing.T) {
	url := placementWith(t, func(http.ResponseWriter, *http.Request) bool { return false })
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: alone(url), Rate: 500})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := client.Read(t.Context(), everything, nil); err != nil {
		t.Fatal(err)
	}
	n := client.Requests()
	if least := time.Duration(n-1) * 2 * time.Millisecond; n < 10 || time.Since(start) < least {
		t.Errorf("%d requests took %v, want %v or more", n, time.Since(start), least)
	}
	measured := client.Measured()
	if len(measured) != 1 || measured[0].Service != "placement" || int64(measured[0].Statuses[200]) != n ||
		measured[0].Within[len(cloudapi.Bounds)-1] != n {
		t.Errorf("of %d requests %+v is measured", n, measured)
	}
}

// All flavors are listed, with their extra specs.
func TestFlavors(t *testing.T) {
	answers := healthy()
	answers["/v2.1/flavors/detail?is_public=None&limit=1000"] = `{"flavors": [{"id": "1", "name": "m1", "vcpus": 1, "ram": 512, "disk": 1, "OS-FLV-EXT-DATA:ephemeral": 2, "swap": "", "extra_specs": {"a": "b"}}],
		"flavors_links": [{"rel": "next", "href": "http://elsewhere"}]}`
	answers["/v2.1/flavors/detail?is_public=None&limit=1000&marker=1"] = `{"flavors": [{"id": "2", "name": "m2", ` +
		`"vcpus": 2, "ram": 1024, "disk": 2, "swap": 64, "extra_specs": {}}]}`
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(stack(t, answers), nil)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Flavors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []cloud.Flavor{
		{Name: "m1", VCPUs: 1, RAM: 512, Disk: 1, Ephemeral: 2, Specs: map[string]string{"a": "b"}},
		{Name: "m2", VCPUs: 2, RAM: 1024, Disk: 2, Swap: 64, Specs: map[string]string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flavors (-want +got):\n%s", diff)
	}
}
