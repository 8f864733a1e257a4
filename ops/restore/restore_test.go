package restore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/records"
	"github.com/berthcloud/berth/ops/restore"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/service"
)

// A target is a placement service that gets records.
type target struct {
	client *cloudapi.Client
	// left is how many requests that change something it still carries out. Then the connections
	// end, before a request is carried out or, when late, after.
	left atomic.Int64
	late atomic.Bool
}

func newTarget(t *testing.T) *target {
	t.Helper()
	env := &target{}
	env.left.Store(1 << 40)
	api := placementapitest.New(t, service.DefaultSettings())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && env.left.Add(-1) < 0 {
			if env.late.Load() {
				api.ServeHTTP(httptest.NewRecorder(), r)
			}
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	var err error
	env.client, err = cloudapi.Connect(t.Context(), cloudapi.Options{
		Environ: []string{"OS_AUTH_TYPE=admin_token", "OS_ENDPOINT=" + s.URL, "OS_TOKEN=admin"},
		Wait:    func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// A test is a *testing.T or a *rapid.T.
type test interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func (env *target) read(t test) *cloud.Placement {
	t.Helper()
	c, err := env.client.Read(context.Background(), cloud.Parts{Need: cloud.PlacementPart | cloud.ConsumersPart}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Placement
}

// write carries out the plan that writes the records of a file, until a request fails.
func (env *target) write(t test, file *cloud.Placement) (*restore.Plan, error) {
	t.Helper()
	plan := restore.New(file, env.read(t))
	for _, stage := range plan.Stages {
		if err := env.client.Send(context.Background(), stage.Requests, func() {}); err != nil {
			return plan, err
		}
	}
	return plan, nil
}

// has fails the test unless the service has the records of a file, and nothing remains to do.
func (env *target) has(t test, file *cloud.Placement) {
	t.Helper()
	actual := env.read(t)
	if changes := records.Diff(file, actual); len(changes) > 0 {
		text, _ := json.MarshalIndent(changes, "", " ")
		t.Fatalf("the service differs from the file:\n%s", text)
	}
	plan := restore.New(file, actual)
	if remaining := plan.Requests(); len(remaining) > 0 || len(plan.Conflicts) > 0 || plan.Others != (restore.Counts{}) {
		t.Fatalf("after it: %d requests, conflicts %v, others %v", len(remaining), plan.Conflicts, plan.Others)
	}
}

// draw draws records in which some allocations exceed the capacity and break the rules of units.
func draw(t *rapid.T) *cloud.Placement {
	uuid := func(name string) placement.UUID { return placement.UUID(cloudtest.UUID(name)) }
	p := cloudtest.Records(placementtest.Forest(t).SnapshotOf(uuid))
	for i := range p.Providers {
		provider := &p.Providers[i]
		provider.Usages = map[string]int64{}
		for k, name := range provider.Aggregates {
			provider.Aggregates[k] = cloudtest.UUID(name)
		}
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "consumers") {
		c := cloud.Consumer{
			UUID: cloudtest.UUID(fmt.Sprint("consumer ", i)), Generation: 1,
			Project: rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "project"), User: "u1",
			Type:        rapid.SampledFrom([]string{"", "INSTANCE", "MIGRATION"}).Draw(t, "type"),
			Allocations: map[string]map[string]int64{},
		}
		for k := range p.Providers {
			provider := &p.Providers[k]
			for _, class := range slices.Sorted(maps.Keys(provider.Inventories)) {
				if !placementtest.OneIn(t, 4, "allocated") {
					continue
				}
				n := rapid.Int64Range(1, 4).Draw(t, "amount")
				if c.Allocations[provider.UUID] == nil {
					c.Allocations[provider.UUID] = map[string]int64{}
				}
				c.Allocations[provider.UUID][class] = n
				provider.Usages[class] += n
			}
		}
		if len(c.Allocations) > 0 {
			p.Consumers = append(p.Consumers, c)
		}
	}
	p.Sort()
	return p
}

// A service has the records of a file after the requests of the plan, also when these were
// interrupted and a new plan was made.
func TestServiceGetsTheRecords(t *testing.T) {
	raised, cut := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		file := draw(rt)
		if wrong := restore.Check(file); wrong != nil {
			rt.Fatalf("the records are wrong: %q", wrong)
		}
		target := newTarget(t)
		plan := restore.New(file, target.read(rt))
		if len(plan.Conflicts) > 0 {
			rt.Fatalf("conflicts with nothing: %v", plan.Conflicts)
		}
		if n := len(plan.Stages); n > 0 && plan.Stages[n-1].Name == "capacities" {
			raised++
		}
		for placementtest.OneIn(rt, 2, "interrupted") {
			target.left.Store(rapid.Int64Range(0, int64(len(plan.Requests()))).Draw(rt, "after"))
			target.late.Store(rapid.Bool().Draw(rt, "late"))
			if _, err := target.write(rt, file); err != nil {
				cut++
			}
			target.left.Store(1 << 40)
		}
		if _, err := target.write(rt, file); err != nil {
			rt.Fatal(err)
		}
		target.has(rt, file)
	})
	if raised == 0 || cut == 0 {
		t.Errorf("of the plans %d had allocations beyond the capacity, and %d were interrupted", raised, cut)
	}
}

// nested are the records of a host with a child, with custom names, and three servers, of which one
// has more than there is.
func nested() *cloud.Placement {
	host, nic := cloudtest.UUID("cn1"), cloudtest.UUID("cn1:eth0")
	stock := func(total int64) cloud.Inventory {
		return cloud.Inventory{Total: total, MinUnit: 1, MaxUnit: total, StepSize: 1, AllocationRatio: 1.1}
	}
	server := func(name, kind string, vcpu, license int64) cloud.Consumer {
		return cloud.Consumer{
			UUID: cloudtest.UUID(name), Generation: 3, Project: "p1", User: "u1", Type: kind,
			Allocations: map[string]map[string]int64{
				host: {"VCPU": vcpu}, nic: {"CUSTOM_LICENSE": license},
			},
		}
	}
	p := &cloud.Placement{
		Classes: []string{"CUSTOM_LICENSE", "CUSTOM_UNUSED", "VCPU"}, Traits: []string{"CUSTOM_GOLD", "HW_CPU_X86_VMX"},
		Providers: []cloud.Provider{
			{
				UUID: host, Name: "cn1", Root: host, Generation: 40, Inventories: map[string]cloud.Inventory{"VCPU": stock(4)},
				Usages: map[string]int64{"VCPU": 9},
				Traits: []string{"CUSTOM_GOLD", "HW_CPU_X86_VMX"}, Aggregates: []string{cloudtest.UUID("zone")},
			},
			{
				UUID: nic, Name: "cn1:eth0", Parent: host, Root: host, Generation: 7,
				Inventories: map[string]cloud.Inventory{"CUSTOM_LICENSE": stock(10)},
				Usages:      map[string]int64{"CUSTOM_LICENSE": 3},
			},
		},
		Consumers: []cloud.Consumer{
			server("big", "INSTANCE", 7, 1), server("small", "MIGRATION", 1, 1), server("old", "", 1, 1),
		},
	}
	p.Sort()
	return p
}

// A plan that is interrupted at any request goes on where it stopped, whether or not the service
// has carried that request out.
func TestInterruptedAtEachRequest(t *testing.T) {
	file := nested()
	target := newTarget(t)
	plan, err := target.write(t, file)
	if err != nil {
		t.Fatal(err)
	}
	target.has(t, file)
	var stages []string
	for _, s := range plan.Stages {
		stages = append(stages, fmt.Sprintf("%d %s", len(s.Requests), s.Name))
	}
	want := []string{
		"3 resource classes and traits", "1 providers at depth 0", "1 providers at depth 1", "2 inventories", "1 traits",
		"1 aggregates", "3 allocations", "1 capacities",
	}
	if diff := cmp.Diff(want, stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	for n := range len(plan.Requests()) {
		for _, late := range []bool{false, true} {
			env := newTarget(t)
			env.left.Store(int64(n))
			env.late.Store(late)
			if _, err := env.write(t, file); err == nil {
				t.Errorf("no request fails after %d", n)
			}
			env.left.Store(1 << 40)
			if _, err := env.write(t, file); err != nil {
				t.Errorf("after %d requests (late %v): %v", n, late, err)
			}
			env.has(t, file)
		}
	}
}

// A process that is killed while inventories are raised leaves them, and the next import sets those
// of the file, whatever others have claimed meanwhile. No inventory has units reserved at any time.
func TestRaisedInventoriesAreUndone(t *testing.T) {
	file := nested()
	raised := 0
	for n := range len(restore.New(file, &cloud.Placement{}).Requests()) {
		for _, late := range []bool{false, true} {
			env := newTarget(t)
			env.left.Store(int64(n))
			env.late.Store(late)
			if _, err := env.write(t, file); err == nil {
				t.Errorf("no request fails after %d", n)
			}
			env.left.Store(1 << 40)
			meanwhile := inventories(env.read(t))
			if meanwhile["cn1"]["VCPU"].AllocationRatio > 1.1 {
				raised++
				claim := cloud.Request{
					Service: "placement", Method: http.MethodPut, Path: "/allocations/" + cloudtest.UUID("other"),
					Microversion: "1.39",
					Body: fmt.Appendf(nil, `{"allocations": {%q: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u", `+
						`"consumer_generation": null, "consumer_type": "INSTANCE"}`, cloudtest.UUID("cn1")),
				}
				if err := env.client.Send(t.Context(), []cloud.Request{claim}, func() {}); err != nil {
					t.Fatalf("after %d requests (late %v): the claim of another client: %v", n, late, err)
				}
			}
			for provider, all := range meanwhile {
				for class, i := range all {
					if i.Reserved != 0 {
						t.Errorf("after %d requests (late %v): %d of %s of %s are reserved", n, late, i.Reserved, class, provider)
					}
				}
			}
			if _, err := env.write(t, file); err != nil {
				t.Errorf("after %d requests (late %v): %v", n, late, err)
			}
			if diff := cmp.Diff(inventories(file), inventories(env.read(t))); diff != "" {
				t.Errorf("after %d requests (late %v): inventories (-want +got):\n%s", n, late, diff)
			}
		}
	}
	if raised == 0 {
		t.Error("no import was interrupted while inventories were raised")
	}
}

// inventories returns the inventories of providers by their names.
func inventories(p *cloud.Placement) map[string]map[string]cloud.Inventory {
	all := map[string]map[string]cloud.Inventory{}
	for i := range p.Providers {
		all[p.Providers[i].Name] = p.Providers[i].Inventories
	}
	return all
}

// What a service has with other content stays, is named, and keeps what needs it out; all else is
// written.
func TestConflicts(t *testing.T) {
	file := nested()
	host, nic := cloudtest.UUID("cn1"), cloudtest.UUID("cn1:eth0")
	for name, tc := range map[string]struct {
		change func(p *cloud.Placement) // of what the service has first
		want   []string
		writes int // consumers
	}{
		"Nothing": {func(p *cloud.Placement) { *p = cloud.Placement{} }, nil, 3},
		"OtherProvider": {func(p *cloud.Placement) {
			*p = cloud.Placement{Providers: []cloud.Provider{{UUID: cloudtest.UUID("x"), Name: "x", Root: cloudtest.UUID("x")}}}
		}, nil, 3},
		"NameTaken": {func(p *cloud.Placement) {
			*p = cloud.Placement{
				Providers: []cloud.Provider{{UUID: cloudtest.UUID("x"), Name: "cn1", Root: cloudtest.UUID("x")}},
			}
		}, []string{
			"provider cn1: the service has another provider of this name, " + cloudtest.UUID("x"),
			"provider cn1:eth0: its parent cn1 is not as in the file",
			"consumer: the provider cn1 or its inventories are not as in the file",
			"consumer: the provider cn1 or its inventories are not as in the file",
			"consumer: the provider cn1 or its inventories are not as in the file",
		}, 0},
		"Renamed": {func(p *cloud.Placement) { p.Consumers, p.Provider(nic).Name = nil, "cn1:eth1" }, []string{
			"provider cn1:eth0: the service has it with the name cn1:eth1",
			"consumer: the provider cn1:eth0 or its inventories are not as in the file",
			"consumer: the provider cn1:eth0 or its inventories are not as in the file",
			"consumer: its 7 of VCPU of cn1 are not in the units of the inventory",
		}, 0},
		"Moved": {func(p *cloud.Placement) {
			p.Consumers, p.Provider(nic).Parent, p.Provider(nic).Root = p.Consumers[:0], "", nic
		}, []string{
			"provider cn1:eth0: its parent is none, and in the file " + host,
			"consumer: the provider cn1:eth0 or its inventories are not as in the file",
			"consumer: the provider cn1:eth0 or its inventories are not as in the file",
			"consumer: its 7 of VCPU of cn1 are not in the units of the inventory",
		}, 0},
		"OtherInventory": {func(p *cloud.Placement) {
			i := p.Provider(host).Inventories["VCPU"]
			i.Total = 5
			p.Provider(host).Inventories["VCPU"] = i
		}, []string{"inventory cn1: the service has other inventories of it: VCPU"}, 0},
		"OtherRatio": {func(p *cloud.Placement) {
			i := p.Provider(host).Inventories["VCPU"]
			i.AllocationRatio = 1.2
			p.Provider(host).Inventories["VCPU"] = i
		}, []string{"inventory cn1: the service has other inventories of it: VCPU"}, 0},
		// MySQL keeps ratios with single precision.
		"SameRatio": {func(p *cloud.Placement) {
			i := p.Provider(host).Inventories["VCPU"]
			i.AllocationRatio = float64(float32(1.1))
			p.Provider(host).Inventories["VCPU"] = i
		}, nil, 0},
		"OtherTraits": {func(p *cloud.Placement) { p.Provider(host).Traits = []string{"CUSTOM_GOLD"} }, []string{
			"traits cn1: the service has CUSTOM_GOLD, and the file CUSTOM_GOLD, HW_CPU_X86_VMX",
		}, 0},
		"MoreAggregates": {
			func(p *cloud.Placement) { p.Provider(nic).Aggregates = []string{cloudtest.UUID("zone")} }, []string{
				"aggregates cn1:eth0: the service has " + cloudtest.UUID("zone") + ", and the file none",
			}, 0,
		},
		"OtherProject": {
			func(p *cloud.Placement) { p.Consumers[0].Project = "p2" }, []string{"consumer: the service has it as"}, 0,
		},
		"OtherAllocation": {
			func(p *cloud.Placement) { delete(p.Consumers[0].Allocations, nic) },
			[]string{"consumer: the service has other allocations of it"},
			0,
		},
		// The service has the inventories of the file already, and does not take more than they
		// have.
		"NoRoom": {func(p *cloud.Placement) {
			p.Consumers = slices.DeleteFunc(p.Consumers, func(c cloud.Consumer) bool { return c.UUID != cloudtest.UUID("big") })
		}, []string{
			"consumer: its 1 of VCPU of cn1 exceed what is free, 0", "consumer: its 1 of VCPU of cn1 exceed what is free, 0",
		}, 0},
		"TooBig": {func(p *cloud.Placement) {
			p.Consumers = slices.DeleteFunc(p.Consumers, func(c cloud.Consumer) bool { return c.UUID == cloudtest.UUID("big") })
		}, []string{"consumer: its 7 of VCPU of cn1 are not in the units of the inventory"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			first := nested()
			tc.change(first)
			for i := range first.Providers {
				first.Providers[i].Usages = map[string]int64{}
			}
			first.Sort()
			target := newTarget(t)
			if _, err := target.write(t, first); err != nil {
				t.Fatal(err)
			}
			target.has(t, first)
			plan, err := target.write(t, file)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range plan.Conflicts {
				text := fmt.Sprintf("%s %s: %s", c.What, c.Name, c.Reason)
				got = append(got, strings.Replace(text, "consumer :", "consumer:", 1))
			}
			if ok := slices.EqualFunc(got, tc.want, strings.HasPrefix); !ok {
				t.Errorf("conflicts (-want +got):\n%s", cmp.Diff(tc.want, got))
			}
			if plan.Creates.Consumers != tc.writes {
				t.Errorf("%d consumers are written, want %d", plan.Creates.Consumers, tc.writes)
			}
			for _, c := range records.Diff(first, target.read(t)) {
				if c.Change != "added" {
					t.Errorf("what the service had is changed: %+v", c)
				}
			}
			if again := restore.New(file, target.read(t)); len(again.Requests()) > 0 ||
				!cmp.Equal(again.Conflicts, plan.Conflicts) {
				t.Errorf("a second plan has %d requests, and the conflicts %v", len(again.Requests()), again.Conflicts)
			}
		})
	}
}

// A service that is older than the file's does not know some standard names. They are omitted.
func TestOlderService(t *testing.T) {
	file := nested()
	host := file.Provider(cloudtest.UUID("cn1"))
	host.Traits = append(host.Traits, "HW_CPU_X86_FUTURE")
	host.Inventories["FUTURE_GB"] = cloud.Inventory{Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1}
	file.Consumers[0].Allocations[host.UUID]["FUTURE_GB"] = 1
	target := newTarget(t)
	plan, err := target.write(t, file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range plan.Conflicts {
		got = append(got, c.What+": "+c.Reason)
	}
	want := []string{
		"inventory: the service does not know the class FUTURE_GB",
		"traits: the service does not know the trait HW_CPU_X86_FUTURE",
		"consumer: the service does not know the class FUTURE_GB",
	}
	if diff := cmp.Diff(want, got); diff != "" || plan.Creates.Consumers != 2 {
		t.Errorf("%d consumers are written; conflicts (-want +got):\n%s", plan.Creates.Consumers, diff)
	}
	if again := restore.New(file, target.read(t)); len(again.Requests()) > 0 {
		t.Errorf("a second plan has %d requests", len(again.Requests()))
	}
}

// Records that no service can have are named.
func TestCheck(t *testing.T) {
	if wrong := restore.Check(nested()); wrong != nil {
		t.Errorf("records that are right: %q", wrong)
	}
	host, nic := cloudtest.UUID("cn1"), cloudtest.UUID("cn1:eth0")
	big := func(p *cloud.Placement) map[string]map[string]int64 { return p.Consumers[0].Allocations }
	for want, change := range map[string]func(p *cloud.Placement){
		"has no UUID":               func(p *cloud.Placement) { p.Providers[0].UUID = "x" },
		"is there twice":            func(p *cloud.Placement) { p.Providers = append(p.Providers, p.Providers[0]) },
		"have the same name":        func(p *cloud.Placement) { p.Provider(nic).Name = "cn1" },
		"empty or too long":         func(p *cloud.Placement) { p.Provider(nic).Name = "" },
		"which is not there":        func(p *cloud.Placement) { p.Provider(nic).Parent = cloudtest.UUID("x") },
		"is below itself":           func(p *cloud.Placement) { p.Provider(host).Parent = nic },
		"and its parents lead to":   func(p *cloud.Placement) { p.Provider(nic).Root = nic },
		"an inventory of VCPU that": func(p *cloud.Placement) { p.Provider(host).Inventories["VCPU"] = cloud.Inventory{} },
		"which is no name of a class": func(p *cloud.Placement) {
			p.Provider(host).Inventories["cpu"] = p.Provider(host).Inventories["VCPU"]
		},
		"which is no name of a trait": func(p *cloud.Placement) { p.Provider(host).Traits = []string{"gold"} },
		"has a trait twice": func(p *cloud.Placement) {
			p.Provider(host).Traits = []string{"CUSTOM_GOLD", "CUSTOM_GOLD"}
		},
		"which is no UUID":         func(p *cloud.Placement) { p.Provider(host).Aggregates = []string{"zone"} },
		"has no allocations":       func(p *cloud.Placement) { p.Consumers[0].Allocations = nil },
		"an allocation of nothing": func(p *cloud.Placement) { big(p)[nic] = nil },
		"an allocation of provider": func(p *cloud.Placement) {
			big(p)[cloudtest.UUID("x")] = map[string]int64{"VCPU": 1}
		},
		"which has no inventory of it": func(p *cloud.Placement) { big(p)[nic]["VCPU"] = 1 },
		"has 0 of VCPU of provider":    func(p *cloud.Placement) { big(p)[host]["VCPU"] = 0 },
		"consumers have 9 of it":       func(p *cloud.Placement) { p.Provider(host).Usages["VCPU"] = 10 },
		"no name of a type":            func(p *cloud.Placement) { p.Consumers[0].Type = "server" },
		"has the project \"\"":         func(p *cloud.Placement) { p.Consumers[0].Project = "" },
	} {
		p := nested()
		change(p)
		if wrong := restore.Check(p); !strings.Contains(strings.Join(wrong, "\n"), want) {
			t.Errorf("%q does not say %q", wrong, want)
		}
	}
}
