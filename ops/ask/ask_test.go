package ask_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/ask"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
)

const bandwidth = "NET_BW_EGR_KILOBIT_PER_SEC"

var small = cloud.Flavor{Name: "small", VCPUs: 2, RAM: 512, Disk: 10, Ephemeral: 1, Swap: 1500, Specs: map[string]string{"trait:CUSTOM_FAST": "required"}}

func records() *cloud.Cloud {
	return &cloud.Cloud{
		Placement: &cloud.Placement{Providers: []cloud.Provider{{UUID: "u1", Name: "cn1", Root: "u1"}}},
		Compute: &cloud.Compute{
			Services: []cloud.Service{
				{Binary: "nova-compute", Host: "cn1", Status: "disabled", State: "up", DisabledReason: "broken fan"},
				{Binary: "nova-compute", Host: "h2", Status: "enabled", State: "down"},
				{Binary: "nova-scheduler", Host: "cn3", State: "down"},
			},
			Hypervisors: []cloud.Hypervisor{{Hostname: "cn2", Host: "h2"}},
			Aggregates:  []cloud.Aggregate{{UUID: "a1", Metadata: map[string]string{"availability_zone": "east"}}},
			Servers: []cloud.Server{
				{UUID: "s1", Name: "web", Node: "cn3", Flavor: small, Project: "p"}, {UUID: "s2", Name: "db", Image: "i"}, {UUID: "s3", Name: "db"},
			},
		},
		Network: &cloud.Network{Ports: []cloud.Port{
			{UUID: "p1", Device: "s1", VNIC: "normal", Request: &cloud.PortRequest{Groups: []cloud.PortGroup{{ID: "g", Required: []string{"CUSTOM_PHYSNET_1"}, Resources: map[string]int64{bandwidth: 100}}}}},
			{UUID: "p2", Device: "s1", VNIC: "normal", Request: &cloud.PortRequest{Groups: []cloud.PortGroup{{Resources: map[string]int64{bandwidth: 7}}}}},
			{UUID: "p3", Device: "s1"},
			{UUID: "p4", Device: "s2"},
		}},
	}
}

// The query of a server that exists has its flavor, its ports in both formats, and its zone.
func TestRequest(t *testing.T) {
	c := records()
	s, of, err := ask.Of(c, "web")
	if err != nil || of.UUID != "s1" {
		t.Fatal(of, err)
	}
	s.Zone, s.Node = "east", "cn1"
	r, err := ask.Request(s, c, request.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	want := placement.Query{
		Limit: 1000, RootForbidden: []string{"COMPUTE_STATUS_DISABLED"},
		Groups: []placement.RequestGroup{
			{
				Resources: []placement.ClassAmount{{Class: "DISK_GB", Amount: 3}, {Class: "MEMORY_MB", Amount: 512}, {Class: "VCPU", Amount: 2}},
				Required:  [][]string{{"CUSTOM_FAST"}}, MemberOf: [][]placement.UUID{{"a1"}}, InTree: "u1",
			},
			{Suffix: "g", Resources: []placement.ClassAmount{{Class: bandwidth, Amount: 100}}, Required: [][]string{{"CUSTOM_PHYSNET_1"}}},
			{Suffix: "p2", Resources: []placement.ClassAmount{{Class: bandwidth, Amount: 7}}},
		},
	}
	if diff := cmp.Diff(want, r.Query); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.Owner("g"); got != "port p1, group g" {
		t.Errorf("g belongs to %s", got)
	}
	// An image takes the disk of a flavor of its own.
	s.FromVolume, s.Image.Properties = false, map[string]string{"trait:HW_CPU_X86_VMX": "required"}
	if r, err = ask.Request(s, c, request.DefaultSettings()); err != nil || r.Query.Groups[0].Resources[0].Amount != 13 || len(r.Query.Groups[0].Required) != 2 {
		t.Errorf("with an image %+v, %v", r.Query.Groups[0], err)
	}
}

// What cannot be asked for is an error that says why.
func TestErrors(t *testing.T) {
	for want, s := range map[string]ask.Server{
		`the availability zone "west"`: {Flavor: small, Zone: "west"},
		`name or UUID "cn9"`:           {Flavor: small, Node: "cn9"},
	} {
		if _, err := ask.Request(s, records(), request.DefaultSettings()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for name, want := range map[string]string{"db": "2 servers have the name", "s9": "there is no server"} {
		if _, _, err := ask.Of(records(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, _, err := ask.Of(&cloud.Cloud{}, "web"); err == nil || !strings.Contains(err.Error(), "records of the compute service") {
		t.Error(err)
	}
}

// Hosts that Nova does not take have a reason.
func TestRefused(t *testing.T) {
	c := records()
	for _, r := range []struct {
		hints ask.Hints
		host  string
		want  string
	}{
		{ask.Hints{}, "cn1", "its compute service is disabled: broken fan"},
		{ask.Hints{}, "cn2", "its compute service is down"},
		{ask.Hints{}, "cn3", ""},
		{ask.Hints{Different: []string{"s2", "s1"}}, "cn3", "server s1 is there (hint different_host)"},
		{ask.Hints{Same: []string{"s1"}}, "cn3", ""},
		{ask.Hints{Same: []string{"s1"}}, "cn4", "no server of the hint same_host is there"},
	} {
		if got := (ask.Server{Hints: r.hints}).Refused(c, r.host); got != r.want {
			t.Errorf("%s with %+v: %q, want %q", r.host, r.hints, got, r.want)
		}
	}
	if got := (ask.Server{}).Refused(&cloud.Cloud{}, "cn1"); got != "" {
		t.Errorf("without records: %q", got)
	}
}
