package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/tracking"
	placementservice "github.com/berthcloud/berth/placement/service"
)

// Whatever happens on the way to placement, at every request of a sync, or at some and
// all that follow until the next heartbeat: an agent that is said to be synced is, and one that is
// not becomes it with the heartbeats that follow. A sample has every second request.
func TestSyncsSurviveTheWire(t *testing.T) {
	for fault := range wireFaults {
		if racetest.Few() && fault != "CutAfterwards" && fault != "Conflict" {
			continue
		}
		for _, on := range onceAndOn(fault) {
			t.Run(fmt.Sprintf("%s/%v", fault, on), func(t *testing.T) {
				t.Parallel()
				d := newDrill(t, placementapitest.New(t, placementservice.DefaultSettings()), fault)
				first, step := sweep.Every(t, 4)
				if on {
					step = 4
				}
				for at, met := 1+first, true; met && !t.Failed(); at += step {
					met = d.meets(wireFaults[fault], at, on)
				}
			})
		}
	}
}

// A drill is a service that brings agents into a placement over a wire.
type drill struct {
	*testing.T
	*service.Service
	places  *httptest.Server // without a wire
	wire    *wire
	tracker *tracking.Tracker
	ended   chan struct{} // a sync
	now     time.Time
}

func newDrill(t *testing.T, places http.Handler, fault string) *drill {
	t.Helper()
	d := &drill{T: t, places: httptest.NewServer(places), ended: make(chan struct{}), now: time.Now()}
	t.Cleanup(d.places.Close)
	d.Service = service.New(newStore(t), network.DefaultSettings(), service.Peers{Log: logtest.Logger()})
	d.SetClock(func() time.Time { return d.now })
	v, request := newWire(t, places, patience(fault))
	d.wire = v
	d.tracker = tracking.New(tracking.Options{
		Placement: request, Shared: d.Shared,
		Done: func(ctx context.Context, agent network.ID, r network.SyncResult) {
			if err := d.RecordSync(ctx, agent, r); err != nil {
				t.Errorf("Synced = %v", err)
			}
			d.ended <- struct{}{}
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		d.tracker.Run(ctx)
		close(stopped)
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	return d
}

// beat reports an agent, and syncs it to placement when that is due.
func (d *drill) beat(host, configurations string) (synced bool) {
	d.Helper()
	d.now = d.now.Add(10 * time.Minute)
	a, sync, err := d.Beat(context.Background(), agents.Heartbeat{
		Type: "Open vSwitch agent", Binary: "b", Host: host, Configurations: []byte(configurations),
	})
	if err != nil {
		d.Fatal(err)
	}
	if sync {
		state, err := d.State(a.AgentRow)
		if err != nil {
			d.Fatal(err)
		}
		d.tracker.Report(tracking.Report{Agent: a.ID, State: state, Hypervisors: a.Hypervisors})
		<-d.ended
	}
	return sync
}

// meets moves an agent from one hypervisor to another, while something breaks at a
// request of a number, and reports whether there was such a request.
func (d *drill) meets(fault wireFault, at int, on bool) bool {
	d.Helper()
	host := fmt.Sprintf("%s-%d", strings.NewReplacer("/", "-").Replace(d.Name()), at)
	after := "after request " + fmt.Sprint(at)
	d.makeRoot(host + "-old")
	d.makeRoot(host)
	d.beat(host, devices(host+"-old", "br-a"))
	want := d.tree(host, devices(host, "br-a", "br-b"))
	d.wire.breaks(fault, at, on)
	d.beat(host, devices(host, "br-a", "br-b"))
	met := d.wire.heals()
	if a := d.record(host); a.Synced == network.SyncDone && !slices.Equal(want,
		d.below(host)) || a.Synced != network.SyncDone && a.SyncError == "" {
		d.Errorf("%s: the record says %v, %q; placement has\n%s", after, a.Synced, a.SyncError,
			strings.Join(d.below(host), "\n"))
	}
	beats := 0
	for d.beat(host, devices(host, "br-a", "br-b")) && beats < 5 {
		beats++
	}
	d.wire.arrive()
	for root, want := range map[string][]string{host: want, host + "-old": {host + "-old "}} {
		if diff := cmp.Diff(want, d.below(root)); diff != "" {
			d.Errorf("%s and %d heartbeats: below %s (-want +got):\n%s", after, beats, root, diff)
		}
	}
	if a := d.record(host); a.Synced != network.SyncDone || a.SyncError != "" || !slices.Equal(a.Hypervisors,
		[]string{host}) || a.Kept != nil {
		d.Errorf("%s and %d heartbeats: the record is %+v", after, beats, a.AgentRow)
	}
	d.wire.breaks(nil, 0, false)
	if sync := d.beat(host, devices(host, "br-a", "br-b")); sync || d.wire.number != 0 {
		d.Errorf("%s: the next heartbeat makes %d requests", after, d.wire.number)
	}
	return met
}

// devices is what an agent with bridges on a hypervisor reports.
func devices(hypervisor string, bridges ...string) string {
	mappings, rates, hypervisors := map[string]string{}, map[string]any{}, map[string]string{}
	for i, name := range bridges {
		mappings[fmt.Sprint("physnet", i)], hypervisors[name] = name, hypervisor
		rates[name] = map[string]int{"egress": 1000, "ingress": 2000}
	}
	text, _ := json.Marshal(map[string]any{
		"bridge_mappings": mappings, "resource_provider_bandwidths": rates, "resource_provider_hypervisors": hypervisors,
	})
	return string(text)
}

// record is the agent of a host.
func (d *drill) record(host string) agents.Agent {
	d.Helper()
	all, err := d.Agents(context.Background(), network.Where(network.ByHost, host))
	if err != nil || len(all) != 1 {
		d.Fatalf("Agents = %v, %v", all, err)
	}
	return all[0]
}

// tree is what should be below a hypervisor once an agent's devices are there, a line
// for each provider.
func (d *drill) tree(host, configurations string) []string {
	d.Helper()
	state, err := d.State(network.AgentRow{
		Type: "Open vSwitch agent", Host: host,
		Configurations: []byte(configurations),
	})
	if err != nil {
		d.Fatal(err)
	}
	lines := []string{host + " "}
	names := map[string]string{}
	for _, p := range state.Providers {
		names[p.UUID.String()] = p.Name
		parent := host
		if p.Device != "" {
			parent = names[p.Parent.String()]
		}
		line := p.Name + " " + parent
		for _, trait := range p.Traits {
			line += " +" + trait
		}
		for _, class := range slices.Sorted(maps.Keys(p.Inventories)) {
			line += fmt.Sprintf(" %s=%d", class, p.Inventories[class].Total)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// makeRoot makes the provider of a host, as compute does.
func (d *drill) makeRoot(name string) {
	d.Helper()
	d.request(http.MethodPost, "/resource_providers", `{"name": "`+name+`"}`, nil)
}

// below is what there is in the tree of a host.
func (d *drill) below(host string) []string {
	d.Helper()
	type provider struct {
		UUID, Name string
		Parent     *string `json:"parent_provider_uuid"`
		Root       string  `json:"root_provider_uuid"`
	}
	var found struct {
		Providers []provider `json:"resource_providers"`
	}
	d.request(http.MethodGet, "/resource_providers?name="+url.QueryEscape(host), "", &found)
	if len(found.Providers) != 1 {
		d.Fatalf("%d providers are named %s", len(found.Providers), host)
	}
	d.request(http.MethodGet, "/resource_providers?in_tree="+found.Providers[0].UUID, "", &found)
	names := map[string]string{}
	for _, p := range found.Providers {
		names[p.UUID] = p.Name
	}
	var lines []string
	for _, p := range found.Providers {
		line := p.Name + " "
		if p.Parent != nil {
			line += names[*p.Parent]
		}
		var has struct {
			Traits      []string
			Inventories map[string]struct{ Total int64 }
		}
		d.request(http.MethodGet, "/resource_providers/"+p.UUID+"/traits", "", &has)
		d.request(http.MethodGet, "/resource_providers/"+p.UUID+"/inventories", "", &has)
		slices.Sort(has.Traits)
		for _, trait := range has.Traits {
			line += " +" + trait
		}
		for _, class := range slices.Sorted(maps.Keys(has.Inventories)) {
			line += fmt.Sprintf(" %s=%d", class, has.Inventories[class].Total)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// request queries placement directly, past the wire.
func (d *drill) request(method, path, body string, into any) {
	d.Helper()
	r, err := http.NewRequest(method, d.places.URL+path, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", client.NoAuth)
	r.Header.Set("OpenStack-API-Version", "placement 1.37")
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		d.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		d.Fatalf("%s %s = %d %s, %v", method, path, res.StatusCode, text, err)
	}
	if into != nil && json.Unmarshal(text, into) != nil {
		d.Fatalf("%s %s = %s", method, path, text)
	}
}
