package heal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/heal"
)

// A cloud that changes between the plan and its requests refuses them, whatever the fault is: an
// operation begins on the server that a step is about, or another client writes the record that it
// changes. A step that is refused changes nothing.
func TestChangedCloudRefusesPlans(t *testing.T) {
	var faults []audittest.Fault
	for _, fault := range audittest.Faults {
		if heal.Heals(fault.Code) && unhealed[fault.Key()] == "" {
			faults = append(faults, fault)
		}
	}
	servers, records := 0, 0
	part := sweep.Sample(t, faults, 4)
	for _, fault := range part {
		fc := faulty(t, fault)
		before := fc.read()
		plan := heal.New(index.New(before), all)
		refused := func(change string) {
			t.Helper()
			for i, r := range fc.apply(plan, -1) {
				depends := i == 0 || slices.Contains(plan.Steps[i].After, 1)
				if depends && r.Outcome != heal.Stale && r.Outcome != heal.Skipped || i == 0 && r.Text == "" {
					t.Errorf("%s: after %s step %d is %s: %q", fault.Code, change, r.Step, r.Outcome, r.Text)
				}
			}
		}
		if len(plan.Steps) == 1 && fc.begin(plan.Steps[0], true) {
			refused("an operation began on the server")
			fc.begin(plan.Steps[0], false)
			servers++
		}
		fc.touch(plan.Steps[0], before.Placement)
		after := fc.read()
		refused("the record was written")
		if len(plan.Steps) == 1 {
			if diff := cmp.Diff(still(t, after), still(t, fc.read())); diff != "" {
				t.Errorf("%s: what is refused changes:\n%s", fault.Code, diff)
			}
		}
		records++
	}
	if servers < len(part)/3 || records != len(part) {
		t.Errorf("refused for %d servers and %d records", servers, records)
	}
}

// begin sets a task state on the server that a step checks, or clears it. A server that does not
// exist is deleted softly. It returns false when the step checks no server.
func (fc *fakeCloud) begin(s heal.Step, begins bool) bool {
	i := slices.IndexFunc(s.Checks, func(c heal.Check) bool { return strings.HasPrefix(c.Path, "/servers/") })
	if i < 0 {
		return false
	}
	id := strings.TrimPrefix(s.Checks[i].Path, "/servers/")
	for i := range fc.c.Compute.Servers {
		if server := &fc.c.Compute.Servers[i]; server.UUID == id && server.Status != "SOFT_DELETED" {
			server.Task = map[bool]string{true: "rebuilding"}[begins]
			return true
		}
	}
	fc.c.Compute.Servers = slices.DeleteFunc(fc.c.Compute.Servers, func(s cloud.Server) bool {
		return s.Status == "SOFT_DELETED"
	})
	if begins {
		fc.c.Compute.Servers = append(fc.c.Compute.Servers, cloud.Server{UUID: id, Status: "SOFT_DELETED"})
	}
	return true
}

// touch writes the record that a step changes.
func (fc *fakeCloud) touch(s heal.Step, p *cloud.Placement) {
	parts := strings.Split(s.Request.Path, "/")
	switch id := parts[2]; parts[1] {
	case "allocations":
		body := map[string]any{
			"allocations": map[string]any{cloudtest.UUID("host cn6"): map[string]any{"resources": map[string]any{"VCPU": 1}}},
			"project_id":  "p", "user_id": "another",
			"consumer_generation": nil,
		}
		if i := slices.IndexFunc(p.Consumers, func(c cloud.Consumer) bool { return c.UUID == id }); i >= 0 {
			amounts := map[string]any{}
			for provider, resources := range p.Consumers[i].Allocations {
				amounts[provider] = map[string]any{"resources": resources}
			}
			body["allocations"], body["consumer_generation"] = amounts, p.Consumers[i].Generation
		}
		fc.mustAt("1.28", "PUT", "allocations/"+id, body)
	case "ports":
		for i := range fc.c.Network.Ports {
			if port := &fc.c.Network.Ports[i]; port.UUID == id {
				port.Revision++
				port.Name = "renamed"
			}
		}
	default:
		provider := p.Provider(id)
		if len(parts) == 3 { // its place
			body := map[string]any{"name": provider.Name + "-renamed"}
			if provider.Parent != "" {
				body["parent_provider_uuid"] = provider.Parent
			}
			fc.must("PUT", "resource_providers/"+id, body)
			return
		}
		fc.must("PUT", "resource_providers/"+id+"/traits", map[string]any{
			"traits": append(provider.Traits, "HW_CPU_X86_VMX"), "resource_provider_generation": provider.Generation,
		})
	}
}

// boundWithoutKey returns a cloud whose plan has a step for an allocation and then one for a port.
func boundWithoutKey(t *testing.T) (*fakeCloud, *heal.Plan) {
	t.Helper()
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Agent("cn1", guarantee.OpenVSwitch, 0, "net0")
	b.Server("single", "cn1")
	b.Port("one", "single", "net0", guarantee.OpenVSwitch, 1000, 0, true)
	c := b.Done()
	for _, provider := range c.Network.Ports[0].Allocation {
		delete(c.Placement.Consumers[0].Allocations, provider)
	}
	c.Network.Ports[0].Allocation = nil
	cloudtest.Count(c)
	fc := newFakeCloud(t, c)
	plan := heal.New(index.New(fc.read()), heal.Options{Codes: []audit.Code{audit.BoundWithoutKey}})
	if len(plan.Steps) != 2 || !slices.Equal(plan.Steps[1].After, []int{1}) {
		t.Fatalf("the plan has the steps %+v", plan.Steps)
	}
	return fc, plan
}

// What a service answers becomes the outcome, and steps that depend on one that was not done are
// not sent.
func TestOutcomes(t *testing.T) {
	outcomes := func(list []heal.Result) (o []heal.Outcome) {
		for _, r := range list {
			o = append(o, r.Outcome)
		}
		return o
	}
	for name, tc := range map[string]struct {
		method, service string
		status          int // 0 for no answer
		want            []heal.Outcome
	}{
		"AllocationRefused": {"PUT", heal.Placement, 400, []heal.Outcome{heal.Failed, heal.Skipped}},
		"AllocationChanged": {"PUT", heal.Placement, 409, []heal.Outcome{heal.Stale, heal.Skipped}},
		"AllocationLost":    {"PUT", heal.Placement, 0, []heal.Outcome{heal.Unknown, heal.Skipped}},
		"AllocationBroken":  {"PUT", heal.Placement, 500, []heal.Outcome{heal.Failed, heal.Skipped}},
		"PortDenied":        {"PUT", heal.Network, 403, []heal.Outcome{heal.Done, heal.Failed}},
		"PortChanged":       {"PUT", heal.Network, 412, []heal.Outcome{heal.Done, heal.Stale}},
		"PortDeleted":       {"PUT", heal.Network, 404, []heal.Outcome{heal.Done, heal.Stale}},
		"ServerUnreadable":  {"GET", heal.Compute, 500, []heal.Outcome{heal.Failed, heal.Skipped}},
		"ServerUnanswered":  {"GET", heal.Compute, 0, []heal.Outcome{heal.Failed, heal.Skipped}},
		"ServerDeleted":     {"GET", heal.Compute, 404, []heal.Outcome{heal.Stale, heal.Skipped}},
	} {
		t.Run(name, func(t *testing.T) {
			fc, plan := boundWithoutKey(t)
			fc.answer = func(r cloud.Request) (int, bool) { return tc.status, r.Method == tc.method && r.Service == tc.service }
			results := fc.apply(plan, -1)
			if got := outcomes(results); !slices.Equal(got, tc.want) {
				t.Fatalf("%v: %+v", got, results)
			}
			// The next run does what remains.
			fc.answer = nil
			for _, r := range fc.apply(heal.New(index.New(fc.read()), heal.Options{Codes: []audit.Code{audit.BoundWithoutKey}}),
				-1) {
				if r.Outcome != heal.Done {
					t.Errorf("the next run: step %d: %s: %s", r.Step, r.Outcome, r.Text)
				}
			}
			if remaining := audit.Check(index.New(fc.read()), audit.Options{
				Codes: []audit.Code{audit.BoundWithoutKey, audit.KeyNotAllocated, audit.PortAmountSuperfluous},
			}).Findings; len(remaining) > 0 {
				t.Errorf("then there are %+v", remaining)
			}
		})
	}
}

// A request that is being sent when the run is interrupted is waited for, and the next one is not
// sent.
func TestInterruptedRun(t *testing.T) {
	fc, plan := boundWithoutKey(t)
	ctx, cancel := context.WithCancel(t.Context())
	results := heal.Apply(ctx, plan, func(ctx context.Context, r cloud.Request) (int, []byte, error) {
		if r.Method == "PUT" {
			cancel()
			if ctx.Err() != nil {
				t.Error("the request is broken off")
			}
		}
		return fc.send(ctx, r)
	}, cloudapi.Message, func(heal.Step, heal.Result) {})
	if results[0].Outcome != heal.Done || results[1].Outcome != heal.NotSent || len(fc.sent) != 1 {
		t.Errorf("%+v, %d requests", results, len(fc.sent))
	}
}

// A port without a revision is read just before it is changed.
func TestPortWithoutRevision(t *testing.T) {
	for _, changed := range []bool{false, true} {
		fc, _ := boundWithoutKey(t)
		c := fc.read()
		for i := range c.Network.Ports {
			c.Network.Ports[i].Revision = 0
		}
		plan := heal.New(index.New(c), heal.Options{Codes: []audit.Code{audit.BoundWithoutKey}})
		if changed {
			fc.answer = func(r cloud.Request) (int, bool) {
				if r.Method == "PUT" && r.Service == heal.Placement {
					for i := range fc.c.Network.Ports {
						if p := &fc.c.Network.Ports[i]; p.Name == "one" {
							p.Host = "cn3"
						}
					}
				}
				return 0, false
			}
		}
		want := heal.Done
		if changed {
			want = heal.Stale
		}
		if r := fc.apply(plan, -1); r[1].Outcome != want || plan.Steps[1].Request.Headers != nil {
			t.Errorf("changed %t: %+v", changed, r)
		}
	}
}

// A plan comes back from its file, and is carried out as the plan itself is. Other files are
// refused.
func TestPlanFile(t *testing.T) {
	fc, plan := boundWithoutKey(t)
	var file bytes.Buffer
	if err := heal.Write(&file, plan); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	again, err := heal.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan, again); diff != "" {
		t.Errorf("the plan from its file (-want +got):\n%s", diff)
	}
	for _, r := range fc.apply(again, -1) {
		if r.Outcome != heal.Done {
			t.Errorf("step %d: %s: %s", r.Step, r.Outcome, r.Text)
		}
	}
	for _, r := range fc.apply(again, -1) {
		if r.Outcome == heal.Done {
			t.Errorf("step %d is done twice", r.Step)
		}
	}
	for wrong, want := range map[string]string{
		"": "not a plan of berth heal", "[]": "not a plan", `{"version": 1, "colour": 1}`: "unknown field",
		`{"version": 2}`: "has the format 2",
		`{"version": 1}`: "it has no parts",
		strings.Replace(text, `"id": 2`, `"id": 7`, 1):                    "steps are numbered from 1",
		strings.Replace(text, `"method": "PUT"`, `"method": "DELETE"`, 1): "deletes something else than a provider",
	} {
		if _, err := heal.Read(strings.NewReader(wrong)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", wrong, err, want)
		}
	}
}

// The command repeats the request.
func TestCurl(t *testing.T) {
	r := cloud.Request{
		Service: heal.Network, Method: "PUT", Path: "/ports/p1", Headers: map[string]string{"If-Match": "revision_number=3"},
		Body: json.RawMessage(`{"port":{"name":"it's"}}`),
	}
	const want = `curl -X PUT -H "X-Auth-Token: $OS_TOKEN" -H 'If-Match: revision_number=3' -H 'Content-Type: ` +
		`application/json' -d '{"port":{"name":"it'\''s"}}' "$NETWORK_URL/ports/p1"`
	if got := heal.Curl(r); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	r = cloud.Request{Service: heal.Placement, Method: "DELETE", Path: "/resource_providers/p1", Microversion: "1.37"}
	const deletes = `curl -X DELETE -H "X-Auth-Token: $OS_TOKEN" -H 'OpenStack-API-Version: placement 1.37' ` +
		`"$PLACEMENT_URL/resource_providers/p1"`
	if got := heal.Curl(r); got != deletes {
		t.Errorf("%s\nwant\n%s", got, deletes)
	}
}

// Providers that nothing reports are deleted from the bottom up, also in the plan that releases
// what was allocated of them.
func TestStaleProvidersAreDeleted(t *testing.T) {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Host("cn2", "")
	b.Agent("cn1", guarantee.OpenVSwitch, 1000, "net0", "net1")
	b.Agent("cn2", guarantee.OpenVSwitch, 1000, "net0", "net1")
	b.Server("server0", "cn1")
	b.Server("server1", "cn2")
	b.Port("port0", "server0", "net0", guarantee.OpenVSwitch, 1000, 10, true)
	c := b.Done()
	// The agent of cn1 is removed, host cn2 too; the server of cn2 was deleted, and the port of
	// that of cn1.
	c.Network.Agents = nil
	c.Network.Ports = nil
	c.Compute.Hypervisors, c.Compute.Services, c.Compute.Servers = c.Compute.Hypervisors[:1], c.Compute.Services[:1],
		c.Compute.Servers[:1]
	fc := newFakeCloud(t, c)
	without := heal.New(index.New(fc.read()), heal.Options{})
	if len(without.Steps) > 0 ||
		len(without.Unhealed) != len(audit.Check(index.New(fc.read()), audit.Options{}).Findings) {
		t.Errorf("without --delete there are the steps %+v, and left are %+v", without.Steps, without.Unhealed)
	}
	providers := heal.New(index.New(fc.read()), heal.Options{Parts: []heal.Part{heal.Providers}, Delete: true})
	for _, l := range providers.Unhealed {
		if !strings.Contains(l.Why, "it stays: ") || !strings.Contains(l.Why, "is allocated of cn") {
			t.Errorf("left: %+v", l)
		}
	}
	plan := heal.New(index.New(fc.read()), heal.Options{Delete: true})
	var paths []string
	for i, r := range fc.apply(plan, -1) {
		if r.Outcome != heal.Done {
			t.Errorf("step %d: %s: %s", r.Step, r.Outcome, r.Text)
		}
		paths = append(paths, plan.Steps[i].Request.Method)
	}
	if remaining := audit.Check(index.New(fc.read()), audit.Options{}).Findings; len(remaining) > 0 ||
		len(fc.read().Placement.Providers) != 1 {
		t.Errorf("steps %q; then there are %+v and %d providers", paths, remaining, len(fc.read().Placement.Providers))
	}
}

// Options restrict a plan, which says what it leaves.
func TestOptions(t *testing.T) {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Agent("cn1", guarantee.OpenVSwitch, 1000, "net0")
	for _, name := range []string{"server0", "server1", "server2"} {
		b.Server(name, "cn1")
		b.Port("port of "+name, name, "net0", guarantee.OpenVSwitch, 1000, 0, true)
	}
	b.At("server2").Task = "resize_prep"
	c := b.Done()
	c.Placement.Consumers = []cloud.Consumer{}
	cloudtest.Count(c)
	c.Network.Ports[0].Allocation = nil
	for i := range c.Compute.Servers { // the second is the oldest
		c.Compute.Servers[i].Created = c.Begun.AddDate(0, 0, -i)
	}
	single := heal.New(index.New(c), heal.Options{Max: 1})
	if !single.More || len(single.Steps) != 1 || single.Steps[0].About[0].Name != "server1" {
		t.Errorf("with a maximum of one: %+v", single)
	}
	if len(single.Unhealed) != 1 || single.Unhealed[0].About[0].Name != "server2" ||
		!strings.Contains(single.Unhealed[0].Why, "resize_prep") {
		t.Errorf("left are %+v", single.Unhealed)
	}
	if both := heal.New(index.New(c), heal.Options{Max: 2}); both.More || len(both.Steps) != 3 {
		t.Errorf("with a maximum of two: %+v", both)
	}
	skipped := heal.New(index.New(c), heal.Options{SkipPorts: true})
	if len(skipped.Steps) != 2 || !strings.Contains(string(skipped.Steps[0].Request.Body), guarantee.EgressBandwidth) ||
		strings.Contains(string(skipped.Steps[1].Request.Body), guarantee.EgressBandwidth) {
		t.Errorf("without ports: %+v", skipped.Steps)
	}
	if named := heal.New(index.New(c), heal.Options{Servers: []string{"server0"}}); len(named.Steps) != 2 ||
		len(named.Unhealed) > 0 {
		t.Errorf("of one server: %+v", named)
	}
	if none := heal.New(index.New(c),
		heal.Options{Parts: []heal.Part{heal.Ports, heal.Aggregates, heal.Providers}}); len(none.Steps)+len(
		none.Unhealed) > 0 {
		t.Errorf("of other parts: %+v", none)
	}
}

// Members of host aggregates without a provider have the codes of sync_aggregates.
func TestAggregatesWithoutProviders(t *testing.T) {
	b := cloudtest.New()
	for _, host := range []string{"cn1", "cn2", "cn3"} {
		b.Host(host, "")
	}
	b.Aggregate("fast", "cn1", "cn2", "cn3", "cn4")
	c := b.Done()
	c.Placement.Providers = slices.DeleteFunc(c.Placement.Providers, func(p cloud.Provider) bool {
		return p.Name == "cn3"
	})
	c.Compute.Hypervisors = slices.DeleteFunc(c.Compute.Hypervisors, func(h cloud.Hypervisor) bool {
		return h.Host == "cn2"
	})
	got := map[string]heal.NovaCode{}
	for _, l := range heal.New(index.New(c), heal.Options{Parts: []heal.Part{heal.Aggregates}}).Unhealed {
		got[l.About[len(l.About)-1].ID] = l.Nova
	}
	if diff := cmp.Diff(map[string]heal.NovaCode{
		"cn2": heal.HostNodeless, "cn3": heal.NodeProviderless, "cn4": heal.HostUnmapped,
	}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}
