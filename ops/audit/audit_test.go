package audit_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// codes are the codes of findings, each once, sorted.
func codes(findings []audit.Finding) []audit.Code {
	var list []audit.Code
	for _, f := range findings {
		list = append(list, f.Code)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestHealthyCloudHasNoFindings(t *testing.T) {
	c := audittest.Copied(audittest.Whole().Done())
	c.Placement.Consumers = append(c.Placement.Consumers, cloud.Consumer{
		UUID: cloudtest.UUID("reservation"), Generation: 1, Type: "RESERVATION",
		Allocations: map[string]map[string]int64{cloudtest.UUID("host cn1"): {"VCPU": 1}},
	})
	c.Placement.Sort()
	cloudtest.Count(c)
	if r := audit.Check(index.New(c), audit.Options{}); len(r.Findings)+len(r.Unchecked) > 0 {
		t.Errorf("findings %+v, unchecked %+v", r.Findings, r.Unchecked)
	}
	rapid.Check(t, func(rt *rapid.T) {
		if r := audit.Check(index.New(audittest.Clouds.Draw(rt, "cloud")), audit.Options{}); len(r.Findings) > 0 {
			rt.Errorf("findings %+v", r.Findings)
		}
	})
}

// Each fault has the code of its kind and no other, and every kind has a fault.
func TestInjectedFaultsAreFound(t *testing.T) {
	injected := map[audit.Code]bool{}
	for _, p := range audittest.Faults {
		t.Run(string(p.Code)+"/"+p.Name, func(t *testing.T) {
			c := audittest.Copied(audittest.Whole().Done())
			if !p.InjectInto(c) {
				t.Fatal("the cloud has nothing to inject the fault into")
			}
			r := audit.Check(index.New(c), audit.Options{})
			if got := codes(r.Findings); !slices.Equal(got, p.Codes()) {
				t.Errorf("found %q: %+v", got, r.Findings)
			}
			for _, f := range r.Findings {
				if f.Severity == "" || f.Means == "" || f.Actual == "" || f.Expected == "" || f.Command == "" ||
					len(f.About) == 0 || f.About[0].ID == "" {
					t.Errorf("something is missing in %+v", f)
				}
				t.Logf("%s: %v: %s; expected: %s; %s", f.Code, f.About, f.Actual, f.Expected, f.Command)
			}
			injected[p.Code] = true
		})
	}
	if t.Failed() {
		return
	}
	for _, k := range audit.Kinds() {
		if !injected[k.Code] {
			t.Errorf("no fault of the kind %s is injected", k.Code)
		}
	}
}

// Any fault is found in any cloud, and no other one.
func TestFaultsAreFoundInAnyCloud(t *testing.T) {
	injected := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := audittest.Copied(audittest.Clouds.Draw(rt, "cloud"))
		p := rapid.SampledFrom(audittest.Faults).Draw(rt, "fault")
		if !p.InjectInto(c) {
			return
		}
		injected++
		got := codes(audit.Check(index.New(c), audit.Options{}).Findings)
		if p.Code == audit.AgentProviderMissing { // it may be the last one with the traits that a port requests
			got = slices.DeleteFunc(got, func(code audit.Code) bool { return code == audit.RequestTraitWithoutProvider })
		}
		if !slices.Equal(got, p.Codes()) {
			rt.Errorf("%s/%s: found %q: %+v", p.Code, p.Name, got, audit.Check(index.New(c), audit.Options{}).Findings)
		}
	})
	if injected == 0 {
		t.Error("nothing was injected")
	}
}

// Rules whose records were not read do not run, and are named.
func TestPartsThatWereNotRead(t *testing.T) {
	for name, lose := range map[string]func(c *cloud.Cloud){
		"allocations":           func(c *cloud.Cloud) { c.Placement.Consumers = nil },
		"the compute service":   func(c *cloud.Cloud) { c.Compute = nil },
		"the network service":   func(c *cloud.Cloud) { c.Network = nil },
		"the placement service": func(c *cloud.Cloud) { c.Placement = nil },
	} {
		c := audittest.Whole().Done()
		lose(c)
		r := audit.Check(index.New(c), audit.Options{})
		if len(r.Findings) > 0 || len(r.Unchecked) == 0 || !strings.Contains(fmt.Sprint(r.Unchecked), name) {
			t.Errorf("without %s: %+v", name, r)
		}
	}
	c := audittest.Whole().Done()
	for i := range c.Compute.Servers {
		c.Compute.Servers[i].Flavor.Specs = nil
	}
	if r := audit.Check(index.New(c), audit.Options{}); len(r.Findings) > 0 ||
		!strings.Contains(fmt.Sprint(r.Unchecked), "flavor-amount-missing") {
		t.Errorf("without extra specs: %+v", r)
	}
	c = audittest.Whole().Done()
	c.Network.Policies = []cloud.QoSPolicy{{UUID: "q", Rules: []cloud.QoSRule{{MinKbps: 1}}}}
	for i := range c.Network.Ports {
		c.Network.Ports[i].Request, c.Network.Ports[i].Policy = nil, "q"
	}
	if r := audit.Check(index.New(c), audit.Options{}); len(r.Findings) > 0 ||
		!strings.Contains(fmt.Sprint(r.Unchecked), "key-without-request") {
		t.Errorf("without requests of ports: %+v", r)
	}
}

// Options select findings by code, severity and what they are about.
func TestOptions(t *testing.T) {
	c := audittest.Whole().Done()
	for _, p := range audittest.Faults {
		if slices.Contains([]audit.Code{audit.BoundWithoutKey, audit.NamesAlike, audit.RatiosDifferInAggregate}, p.Code) &&
			!p.InjectInto(c) {
			t.Fatal(p.Code)
		}
	}
	all := codes(audit.Check(index.New(c), audit.Options{}).Findings)
	for _, tc := range []struct {
		o    audit.Options
		want []audit.Code
	}{
		{audit.Options{}, all},
		{audit.Options{Codes: []audit.Code{audit.NamesAlike}}, []audit.Code{audit.NamesAlike}},
		{audit.Options{Severity: audit.Error}, []audit.Code{audit.BoundWithoutKey}},
		{audit.Options{Severity: audit.Warning}, []audit.Code{audit.BoundWithoutKey, audit.NamesAlike}},
		{audit.Options{Servers: []string{"normal"}}, []audit.Code{audit.BoundWithoutKey}},
		{audit.Options{Servers: []string{cloudtest.UUID("server normal")}}, []audit.Code{audit.BoundWithoutKey}},
		{audit.Options{Servers: []string{"older"}}, nil},
		{audit.Options{Ports: []string{"groups"}}, []audit.Code{audit.BoundWithoutKey}},
		{audit.Options{Ports: []string{"old"}}, nil},
		{audit.Options{Hosts: []string{"cn1"}, Severity: audit.Error}, []audit.Code{audit.BoundWithoutKey}},
		{audit.Options{Hosts: []string{"nowhere"}}, nil},
	} {
		if got := codes(audit.Check(index.New(c), tc.o).Findings); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %q, want %q", tc.o, got, tc.want)
		}
	}
	if len(all) != 3 {
		t.Errorf("findings %q", all)
	}
}

// Records without anything have no findings and crash nothing.
func TestEmptyCloud(t *testing.T) {
	if r := audit.Check(index.New(&cloud.Cloud{}), audit.Options{}); len(r.Findings) > 0 || len(r.Unchecked) == 0 {
		t.Errorf("%+v", r)
	}
	if r := audit.Check(index.New(cloudtest.New().Done()), audit.Options{}); len(r.Findings)+len(r.Unchecked) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestCodesAreUnique(t *testing.T) {
	seen := map[audit.Code]bool{}
	for _, k := range audit.Kinds() {
		if seen[k.Code] || k.Means == "" || k.Repair == "" || !slices.Contains(audit.Severities, k.Severity) {
			t.Errorf("%+v", k)
		}
		seen[k.Code] = true
	}
}

// What is found both times is what stays, as it was the second time.
func TestBoth(t *testing.T) {
	finding := func(code audit.Code, id, actual string) audit.Finding {
		return audit.Finding{Code: code, About: []audit.Subject{{Kind: "server", ID: id}}, Actual: actual}
	}
	first := audit.Result{
		Findings: []audit.Finding{finding("a", "1", "x"), finding("a", "2", "x"), finding("b", "1", "x")},
	}
	second := audit.Result{
		Findings: []audit.Finding{
			finding("a", "1", "y"), finding("a", "3", "y"), finding("b", "2", "y"), finding("b", "1", "x"),
		},
		Unchecked: []audit.Unchecked{{Reason: "unread"}},
	}
	got := audit.Intersect(first, second)
	want := audit.Result{
		Findings: []audit.Finding{finding("a", "1", "y"), finding("b", "1", "x")}, Unchecked: second.Unchecked,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := audit.Intersect(audit.Result{}, second); got.Findings == nil || len(got.Findings) > 0 {
		t.Errorf("%+v, want no findings", got)
	}
}

// A host that is not a compute node is removed from an aggregate by a command only when Nova knows
// it: it answers 404 otherwise.
func TestCommandForUnknownMember(t *testing.T) {
	for want, services := range map[string][]cloud.Service{
		"openstack aggregate show 1":                {},
		"openstack aggregate remove host 1 nowhere": {{Binary: "nova-compute", Host: "nowhere"}},
	} {
		c := &cloud.Cloud{Compute: &cloud.Compute{
			Services: services, Aggregates: []cloud.Aggregate{{ID: 1, UUID: "a", Hosts: []string{"nowhere"}}},
		}}
		if findings := audit.Check(index.New(c), audit.Options{}).Findings; len(findings) != 1 ||
			findings[0].Command != want {
			t.Errorf("found %+v, want the command %s", findings, want)
		}
	}
}

// A consumer without a type counts as Nova's, which the finding says: another service's may be
// without one too. One with another type is skipped.
func TestConsumersOfOtherServices(t *testing.T) {
	for kind, want := range map[string]string{
		"": "it has no type, so that it counts as Nova's, and has allocated", "INSTANCE": "it has allocated",
		"ACCELERATOR": "",
	} {
		b := cloudtest.New()
		b.Host("cn1", "")
		c := b.Done()
		c.Placement.Consumers = append(c.Placement.Consumers, cloud.Consumer{
			UUID: cloudtest.UUID("other"), Generation: 1, Project: cloudtest.Project, User: cloudtest.User, Type: kind,
			Allocations: map[string]map[string]int64{c.Placement.Providers[0].UUID: {"VCPU": 1}},
		})
		cloudtest.Count(c)
		findings := audit.Check(index.New(c), audit.Options{Codes: []audit.Code{audit.OrphanedAllocation}}).Findings
		if want == "" {
			if len(findings) > 0 {
				t.Errorf("of the type %q: %+v", kind, findings)
			}
			continue
		}
		if len(findings) != 1 || !strings.HasPrefix(findings[0].Actual, want) ||
			strings.Contains(findings[0].Expected, "another service") != (kind == "") {
			t.Errorf("of the type %q: %+v", kind, findings)
		}
	}
}

// What a server has of a storage that both hosts of its move share may be the server's alone, as
// Berth has it, also in part, or the migration's as well, as Nova has it: no rule takes either for
// a fault.
func TestMovesOnSharedStorage(t *testing.T) {
	disk := cloudtest.FlavorSmall.Disk
	for _, migration := range []int64{0, 1, disk, 2 * disk} {
		for name, move := range map[string]func(*cloudtest.Builder){
			"resized": func(b *cloudtest.Builder) { b.Resized("vm", "cn1") },
			"moving":  func(b *cloudtest.Builder) { b.Moving("vm", "cn1") },
		} {
			b := cloudtest.New()
			b.Sharing("nfs")
			b.Host("cn1", "nfs")
			b.Host("cn2", "nfs")
			b.Server("vm", "cn2")
			move(b)
			c := b.Done()
			for i := range c.Placement.Consumers {
				if consumer := &c.Placement.Consumers[i]; consumer.UUID == cloudtest.UUID("migration of vm") {
					consumer.Allocations[cloudtest.UUID("provider nfs")]["DISK_GB"] = migration
					if migration == 0 {
						delete(consumer.Allocations, cloudtest.UUID("provider nfs"))
					}
				}
			}
			cloudtest.Count(c)
			if r := audit.Check(index.New(c), audit.Options{}); len(r.Findings)+len(r.Unchecked) > 0 {
				t.Errorf("%s, the migration has %d GB: findings %+v, unchecked %+v", name, migration, r.Findings, r.Unchecked)
			}
		}
	}
}
