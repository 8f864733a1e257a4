package heal_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
)

// all heals all that can be.
var all = heal.Options{Delete: true, Force: true}

// codes are the codes of findings, each once, sorted.
func codes(findings []audit.Finding) []audit.Code {
	list := []audit.Code{}
	for _, f := range findings {
		list = append(list, f.Code)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// injected returns a cloud with a fault.
func faulty(t *testing.T, p audittest.Fault) *fakeCloud {
	t.Helper()
	c := audittest.Copied(audittest.Whole().Done())
	if !p.InjectInto(c) {
		t.Fatal("the cloud has nothing to inject the fault into")
	}
	return newFakeCloud(t, c)
}

// typed are the options of a command that audit prints: "berth heal --code CODE --port 'UUID'".
func typed(t *testing.T, command string) heal.Options {
	t.Helper()
	words := strings.Fields(command)
	if len(words) != 6 || words[0] != "berth" || words[1] != "heal" || words[2] != "--code" {
		t.Fatalf("the command %q", command)
	}
	o := heal.Options{Codes: []audit.Code{audit.Code(words[3])}}
	list := []string{strings.Trim(words[5], "'")}
	switch words[4] {
	case "--server":
		o.Servers = list
	case "--port":
		o.Ports = list
	case "--host":
		o.Hosts = list
	default:
		t.Fatalf("the command %q", command)
	}
	return o
}

// still returns records without what every change raises, and without those that steps are about.
func still(t *testing.T, c *cloud.Cloud, plans ...*heal.Plan) *cloud.Cloud {
	t.Helper()
	about := map[string]bool{}
	for _, p := range plans {
		for _, s := range p.Steps {
			for _, subject := range s.About {
				about[subject.ID] = true
			}
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var records cloud.Cloud
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	records.Source, records.Begun, records.Ended = "", time.Time{}, time.Time{}
	p := records.Placement
	p.Providers = slices.DeleteFunc(p.Providers, func(p cloud.Provider) bool { return about[p.UUID] })
	p.Consumers = slices.DeleteFunc(p.Consumers, func(c cloud.Consumer) bool { return about[c.UUID] })
	records.Network.Ports = slices.DeleteFunc(records.Network.Ports, func(p cloud.Port) bool { return about[p.UUID] })
	for i := range p.Providers {
		p.Providers[i].Generation = 0
		if len(plans) > 0 {
			p.Providers[i].Usages, p.Providers[i].Root = nil, "" // of those below
		}
	}
	for i := range p.Consumers {
		p.Consumers[i].Generation = 0
	}
	for i := range records.Network.Ports {
		records.Network.Ports[i].Revision = 0
	}
	return &records
}

// unhealed are the faults of codes that requests repair which no request repairs all the same.
// TestWhatIsLeft has them.
var unhealed = map[string]string{
	"held-on-several-hosts/three of a move": "skipped while something is under way",
	"key-provider-lacks-trait/":             "no providers of host cn1 offer what it requests",
	"agent-provider-stale/":                 "it stays: NET_BW_EGR_KILOBIT_PER_SEC",
	"device-provider-stale/":                "it stays: NET_BW_EGR_KILOBIT_PER_SEC",
}

// What cannot be repaired remains with the reason.
func TestWhatIsLeft(t *testing.T) {
	for _, fault := range audittest.Faults {
		want, ok := unhealed[fault.Key()]
		if !ok {
			continue
		}
		plan := heal.New(index.New(faulty(t, fault).read()), all)
		if len(plan.Steps) > 0 || !slices.ContainsFunc(plan.Unhealed, func(l heal.Unhealed) bool {
			return strings.Contains(l.Why, want) && l.Command != ""
		}) {
			t.Errorf("%s: steps %+v, left %+v", fault.Code, plan.Steps, plan.Unhealed)
		}
	}
}

// Each fault that a request repairs is repaired: audit finds nothing then, and nothing else has
// changed. A second plan is empty. A run that is ended after any of its requests, and followed by
// another one, ends in the same cloud.
func TestInjectedFaultsAreHealed(t *testing.T) {
	healed := map[audit.Code]bool{}
	var faults []audittest.Fault
	for _, fault := range audittest.Faults {
		if !heal.Heals(fault.Code) {
			continue
		}
		healed[fault.Code] = true
		if _, ok := unhealed[fault.Key()]; !ok {
			faults = append(faults, fault)
		}
	}
	for _, fault := range sweep.Raced(t, faults, 4) {
		t.Run(fault.Key(), func(t *testing.T) {
			fc := faulty(t, fault)
			before := fc.read()
			if got := codes(audit.Check(index.New(before), audit.Options{}).Findings); !slices.Equal(got, fault.Codes()) {
				t.Fatalf("the cloud has the findings %q", got)
			}
			plan := heal.New(index.New(before), all)
			if len(plan.Steps) == 0 {
				t.Fatalf("no steps; left: %+v", plan.Unhealed)
			}
			for _, f := range audit.Check(index.New(before), audit.Options{Heals: heal.Heals}).Findings {
				if !heal.Heals(f.Code) {
					continue
				}
				if named := heal.New(index.New(before), typed(t, f.Command)); len(named.Steps) == 0 {
					t.Errorf("%s has no steps; left: %+v", f.Command, named.Unhealed)
				}
			}
			for _, s := range plan.Steps {
				t.Logf("%d %q %v %s: %v %s", s.ID, s.Codes, s.About, s.Why, s.Request, s.Request.Body)
			}
			for _, r := range fc.apply(plan, -1) {
				if r.Outcome != heal.Done {
					t.Errorf("step %d: %s: %s", r.Step, r.Outcome, r.Text)
				}
			}
			after := fc.read()
			remaining := codes(audit.Check(index.New(after), audit.Options{}).Findings)
			if remaining = slices.DeleteFunc(remaining,
				func(code audit.Code) bool { return code == fault.Also }); len(remaining) > 0 {
				t.Errorf("after it there are %q: %+v", remaining, audit.Check(index.New(after), audit.Options{}).Findings)
			}
			if again := heal.New(index.New(after), all); len(again.Steps) > 0 {
				t.Errorf("a second plan has the steps %+v", again.Steps)
			}
			if diff := cmp.Diff(still(t, before, plan), still(t, after, plan)); diff != "" {
				t.Errorf("healthy records changed:\n%s", diff)
			}
			for k := 1; k < len(plan.Steps); k++ {
				fc := faulty(t, fault)
				for _, r := range fc.apply(heal.New(index.New(fc.read()), all), k)[k:] {
					if r.Outcome != heal.NotSent {
						t.Errorf("ended after %d requests: step %d is %s", k, r.Step, r.Outcome)
					}
				}
				for _, r := range fc.apply(heal.New(index.New(fc.read()), all), -1) {
					if r.Outcome != heal.Done {
						t.Errorf("after %d requests, another run: step %d: %s: %s", k, r.Step, r.Outcome, r.Text)
					}
				}
				if diff := cmp.Diff(still(t, after), still(t, fc.read())); diff != "" {
					t.Errorf("ended after %d requests (-in one run +in two):\n%s", k, diff)
				}
			}
		})
	}
	for _, k := range audit.Kinds() {
		if heal.Heals(k.Code) && !healed[k.Code] {
			t.Errorf("no fault of the kind %s is healed", k.Code)
		}
	}
}

// Amounts of a port that requests nothing are released in the plan that removes its key, and not
// before.
func TestAmountsOfPortsWithoutRequests(t *testing.T) {
	i := slices.IndexFunc(audittest.Faults, func(p audittest.Fault) bool { return p.Code == audit.KeyWithoutRequest })
	c := faulty(t, audittest.Faults[i]).read()
	for _, tc := range []struct {
		parts []heal.Part
		codes []audit.Code
		want  []audit.Code
	}{
		{nil, nil, []audit.Code{audit.PortAmountSuperfluous, audit.KeyWithoutRequest}},
		{[]heal.Part{heal.Allocations}, nil, nil},
		{[]heal.Part{heal.Ports}, nil, []audit.Code{audit.KeyWithoutRequest}},
		{nil, []audit.Code{audit.PortAmountSuperfluous}, nil},
		{nil, []audit.Code{audit.KeyWithoutRequest}, []audit.Code{audit.KeyWithoutRequest}},
	} {
		var got []audit.Code
		for _, s := range heal.New(index.New(c), heal.Options{Parts: tc.parts, Codes: tc.codes, Delete: true}).Steps {
			got = append(got, s.Codes...)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("of %q, with the codes %q: %q, want %q", tc.parts, tc.codes, got, tc.want)
		}
	}
}

// Every code of audit has a rule.
func TestEveryCodeHasAPart(t *testing.T) {
	for _, k := range audit.Kinds() {
		if part, _ := heal.Rule(k.Code); !slices.Contains(heal.Parts, part) {
			t.Errorf("%s has the part %q", k.Code, part)
		}
	}
}

// What is wrong with an allocation that is deleted is not repaired as well.
func TestOneStepForAConsumer(t *testing.T) {
	for _, fault := range audittest.Faults {
		if fault.Code != audit.OffloadedServerAllocated {
			continue
		}
		c := audittest.Copied(audittest.Whole().Done())
		if !fault.InjectInto(c) {
			t.Fatal("the cloud has nothing to inject the fault into")
		}
		for i := range c.Placement.Consumers {
			if consumer := &c.Placement.Consumers[i]; slices.ContainsFunc(c.Compute.Servers, func(s cloud.Server) bool {
				return s.UUID == consumer.UUID && s.Status == "SHELVED_OFFLOADED"
			}) {
				consumer.Type, consumer.User = "", "another"
			}
		}
		if got := codes(audit.Check(index.New(c), audit.Options{}).Findings); !slices.Equal(got,
			[]audit.Code{audit.ConsumerUserWrong, audit.ConsumerWithoutType, audit.OffloadedServerAllocated}) {
			t.Fatalf("audit finds %q", got)
		}
		if steps := heal.New(index.New(c), all).Steps; len(steps) != 1 || len(steps[0].Codes) != 3 {
			t.Errorf("the steps are %+v", steps)
		}
		return
	}
	t.Fatal("the fault is not there")
}
