package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// whole is a cloud with all that the rules are about, in which all services agree.
func whole() *cloudtest.Builder {
	b := cloudtest.New()
	b.Sharing("nfs")
	for _, host := range []string{"cn1", "cn2", "cn3", "cn6"} {
		b.Host(host, "")
	}
	b.Host("cn4", "nfs")
	b.Host("cn5", "")
	b.Agent("cn1", guarantee.OpenVSwitch, 1000, "net0", "net1")
	b.Agent("cn1", guarantee.SRIOV, 0, "net0")
	b.Agent("cn2", guarantee.OpenVSwitch, 1000, "net0", "net1")
	b.Agent("cn3", guarantee.OpenVSwitch, 0, "net0")
	b.Agent("cn3", guarantee.OVN, 0, "net0")
	b.Aggregate("fast", "cn1", "cn2", "cn3")
	b.Disable("cn3")

	b.Server("normal", "cn1")
	b.Port("groups", "normal", "net0", guarantee.OpenVSwitch, 1000, 10, true)
	b.Port("same", "normal", "net0", guarantee.OpenVSwitch, 3000, 0, true)
	b.Plain("plain", "normal")
	b.Server("older", "cn1")
	b.Port("old", "older", "net0", guarantee.SRIOV, 2000, 0, false)
	b.Server("single", "cn2")
	b.Port("one", "single", "net0", guarantee.OpenVSwitch, 1000, 0, true)
	b.Server("without", "cn1")
	b.Server("lonely", "cn6")
	b.Server("shared", "cn4")
	b.Server("shelved", "cn2")
	b.At("shelved").Status = "SHELVED"
	b.Server("offloaded", "cn2")
	b.Port("waiting", "offloaded", "net1", guarantee.OpenVSwitch, 500, 0, true)
	b.Offloaded("offloaded")
	b.Server("failed", "cn2")
	b.Failed("failed")
	b.Server("resized", "cn2")
	b.Port("moved", "resized", "net1", guarantee.OpenVSwitch, 700, 0, true)
	b.Moved("resized", "cn1")
	b.Server("alike", "cn2")
	b.Moved("alike", "cn2")
	b.Server("moving", "cn1")
	b.Port("underway", "moving", "net0", guarantee.OpenVSwitch, 100, 0, true)
	b.Moving("moving", "cn2")
	b.Server("evacuated", "cn2")
	b.Evacuated("evacuated", "cn3")
	return b
}

// clouds are random clouds in which all services agree.
var clouds = rapid.Custom(func(t *rapid.T) *cloud.Cloud {
	b := cloudtest.New()
	b.Sharing("nfs")
	hosts := rapid.IntRange(2, 6).Draw(t, "hosts")
	nets := map[string][]string{}
	for i := range hosts {
		host := fmt.Sprintf("cn%d", i)
		disk := "nfs" // which has to have somebody who uses it
		if i > 0 {
			disk = rapid.SampledFrom([]string{"", "", "nfs"}).Draw(t, "disk")
		}
		b.Host(host, disk)
		if rapid.Bool().Draw(t, "agent") {
			nets[host] = []string{"net0", "net1"}[:rapid.IntRange(1, 2).Draw(t, "nets")]
			b.Agent(host, guarantee.OpenVSwitch, rapid.SampledFrom([]int64{0, 1000}).Draw(t, "packets"), nets[host]...)
		}
	}
	at := rapid.IntRange(0, hosts-1)
	name := func() string { return fmt.Sprintf("cn%d", at.Draw(t, "host")) }
	for i := range rapid.IntRange(0, 2).Draw(t, "aggregates") {
		members := slices.Compact(slices.Sorted(slices.Values([]string{name(), name(), name()})))
		b.Aggregate(fmt.Sprintf("aggregate%d", i), members...)
	}
	if rapid.Bool().Draw(t, "disabled") {
		b.Disable(name())
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "servers") {
		host, server := name(), fmt.Sprintf("server%d", i)
		b.Server(server, host)
		for k := range rapid.IntRange(0, 2).Draw(t, "ports") {
			if len(nets[host]) == 0 {
				b.Plain(fmt.Sprintf("port%d-%d", i, k), server)
				continue
			}
			b.Port(fmt.Sprintf("port%d-%d", i, k), server, rapid.SampledFrom(nets[host]).Draw(t, "net"), guarantee.OpenVSwitch,
				rapid.Int64Range(1, 100000).Draw(t, "kbps"), 0, rapid.Bool().Draw(t, "groups"))
		}
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			b.Moved(server, name())
		case 1:
			b.Offloaded(server)
		case 2:
			b.Failed(server)
		case 3:
			b.At(server).Status = "SHELVED"
		case 4:
			if to := name(); to != host {
				b.Moving(server, to)
			}
		case 5:
			if from := name(); from != host {
				b.Evacuated(server, from)
			}
		}
	}
	return b.Done()
})

// codes are the codes of findings, each once, sorted.
func codes(findings []Finding) []string {
	var list []string
	for _, f := range findings {
		list = append(list, f.Code)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestHealthyCloudHasNoFindings(t *testing.T) {
	c := copied(t, whole().Done())
	newIndex(c).addConsumer(cloudtest.UUID("reservation"), "RESERVATION", newIndex(c).host().UUID)
	cloudtest.Count(c)
	if r := Check(c, Options{}); len(r.Findings)+len(r.Unchecked) > 0 {
		t.Errorf("findings %+v, unchecked %+v", r.Findings, r.Unchecked)
	}
	rapid.Check(t, func(rt *rapid.T) {
		if r := Check(clouds.Draw(rt, "cloud"), Options{}); len(r.Findings) > 0 {
			rt.Errorf("findings %+v", r.Findings)
		}
	})
}

// Each fault has the code of its kind and no other, and every kind has a fault.
func TestPlantedFaultsAreFound(t *testing.T) {
	planted := map[string]bool{}
	for _, p := range plants {
		t.Run(p.code+"/"+p.name, func(t *testing.T) {
			c := copied(t, whole().Done())
			if !p.plant(newIndex(c)) {
				t.Fatal("the cloud has nothing to plant the fault in")
			}
			if !p.usage {
				cloudtest.Count(c)
			}
			r := Check(c, Options{})
			if got := codes(r.Findings); !slices.Equal(got, p.codes()) {
				t.Errorf("found %q: %+v", got, r.Findings)
			}
			for _, f := range r.Findings {
				if f.Severity == "" || f.Means == "" || f.Found == "" || f.Expected == "" || f.Command == "" || len(f.About) == 0 || f.About[0].ID == "" {
					t.Errorf("something is missing in %+v", f)
				}
				t.Logf("%s: %v: %s; expected: %s; %s", f.Code, f.About, f.Found, f.Expected, f.Command)
			}
			planted[p.code] = true
		})
	}
	if t.Failed() {
		return
	}
	for _, k := range Kinds() {
		if !planted[k.Code] {
			t.Errorf("no fault of the kind %s is planted", k.Code)
		}
	}
}

// Any fault is found in any cloud, and no other one.
func TestFaultsAreFoundInAnyCloud(t *testing.T) {
	planted := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := copied(rt, clouds.Draw(rt, "cloud"))
		p := rapid.SampledFrom(plants).Draw(rt, "plant")
		if !p.plant(newIndex(c)) {
			return
		}
		if !p.usage {
			cloudtest.Count(c)
		}
		planted++
		if got := codes(Check(c, Options{}).Findings); !slices.Equal(got, p.codes()) {
			rt.Errorf("%s/%s: found %q: %+v", p.code, p.name, got, Check(c, Options{}).Findings)
		}
	})
	if planted == 0 {
		t.Error("nothing was planted")
	}
}

// copied returns the records as they come back from a file.
func copied(t interface{ Fatal(...any) }, c *cloud.Cloud) *cloud.Cloud {
	var file bytes.Buffer
	if err := cloud.Write(&file, c); err != nil {
		t.Fatal(err)
	}
	again, err := cloud.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// Rules whose records were not read do not run, and are named.
func TestPartsThatWereNotRead(t *testing.T) {
	for name, lose := range map[string]func(c *cloud.Cloud){
		"allocations":         func(c *cloud.Cloud) { c.Placement.Consumers = nil },
		"the compute service": func(c *cloud.Cloud) { c.Compute = nil },
		"the network service": func(c *cloud.Cloud) { c.Network = nil },
		"placement's":         func(c *cloud.Cloud) { c.Placement = nil },
	} {
		c := whole().Done()
		lose(c)
		r := Check(c, Options{})
		if len(r.Findings) > 0 || len(r.Unchecked) == 0 || !strings.Contains(fmt.Sprint(r.Unchecked), name) {
			t.Errorf("without %s: %+v", name, r)
		}
	}
	c := whole().Done()
	for i := range c.Compute.Servers {
		c.Compute.Servers[i].Flavor.Specs = nil
	}
	if r := Check(c, Options{}); len(r.Findings) > 0 || !strings.Contains(fmt.Sprint(r.Unchecked), "flavor-amount-missing") {
		t.Errorf("without extra specs: %+v", r)
	}
	c = whole().Done()
	c.Network.Policies = []cloud.QoSPolicy{{UUID: "q", Rules: []cloud.QoSRule{{MinKbps: 1}}}}
	for i := range c.Network.Ports {
		c.Network.Ports[i].Request, c.Network.Ports[i].Policy = nil, "q"
	}
	if r := Check(c, Options{}); len(r.Findings) > 0 || !strings.Contains(fmt.Sprint(r.Unchecked), "key-without-request") {
		t.Errorf("without requests of ports: %+v", r)
	}
}

// Options select findings by code, severity and what they are about.
func TestOptions(t *testing.T) {
	c := whole().Done()
	for _, p := range plants {
		if slices.Contains([]string{"bound-without-key", "names-alike", "ratios-differ-in-aggregate"}, p.code) && !p.plant(newIndex(c)) {
			t.Fatal(p.code)
		}
	}
	cloudtest.Count(c)
	all := codes(Check(c, Options{}).Findings)
	for _, of := range []struct {
		o    Options
		want []string
	}{
		{Options{}, all},
		{Options{Codes: []string{"names-alike"}}, []string{"names-alike"}},
		{Options{Severity: Error}, []string{"bound-without-key"}},
		{Options{Severity: Warning}, []string{"bound-without-key", "names-alike"}},
		{Options{Servers: []string{"normal"}}, []string{"bound-without-key"}},
		{Options{Servers: []string{cloudtest.UUID("server normal")}}, []string{"bound-without-key"}},
		{Options{Servers: []string{"older"}}, nil},
		{Options{Ports: []string{"groups"}}, []string{"bound-without-key"}},
		{Options{Ports: []string{"old"}}, nil},
		{Options{Hosts: []string{"cn1"}, Severity: Error}, []string{"bound-without-key"}},
		{Options{Hosts: []string{"nowhere"}}, nil},
	} {
		if got := codes(Check(c, of.o).Findings); !slices.Equal(got, of.want) {
			t.Errorf("%+v: %q, want %q", of.o, got, of.want)
		}
	}
	if len(all) != 3 {
		t.Errorf("findings %q", all)
	}
}

// Records without anything have no findings and crash nothing.
func TestEmptyCloud(t *testing.T) {
	if r := Check(&cloud.Cloud{}, Options{}); len(r.Findings) > 0 || len(r.Unchecked) == 0 {
		t.Errorf("%+v", r)
	}
	if r := Check(cloudtest.New().Done(), Options{}); len(r.Findings)+len(r.Unchecked) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestCodesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.Code] || k.Means == "" || k.Mends == "" || !slices.Contains(Severities, k.Severity) {
			t.Errorf("%+v", k)
		}
		seen[k.Code] = true
	}
}
