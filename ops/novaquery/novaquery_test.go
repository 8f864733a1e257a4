package novaquery_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
)

const bandwidth = "NET_BW_EGR_KILOBIT_PER_SEC"

var small = cloud.Flavor{
	Name: "small", VCPUs: 2, RAM: 512, Disk: 10, Ephemeral: 1, Swap: 1500,
	Specs: map[string]string{"trait:CUSTOM_FAST": "required"},
}

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
				{UUID: "s1", Name: "web", Node: "cn3", Flavor: small, Project: "p", Pinned: "east"},
				{UUID: "s2", Name: "db", Image: "i", Pinned: "west"},
				{UUID: "s3", Name: "db"},
			},
			Groups: []cloud.ServerGroup{{UUID: "g1", Members: []string{"s1x"}}, {UUID: "g2", Members: []string{"s4", "s2"}}},
		},
		Network: &cloud.Network{Ports: []cloud.Port{
			{UUID: "p1", Device: "s1", VNIC: "normal", Request: &cloud.PortRequest{Groups: []cloud.PortGroup{{
				ID: "g", Required: []string{"CUSTOM_PHYSNET_1"}, Resources: map[string]int64{bandwidth: 100},
			}}}},
			{
				UUID: "p2", Device: "s1", VNIC: "normal",
				Request: &cloud.PortRequest{Groups: []cloud.PortGroup{{Resources: map[string]int64{bandwidth: 7}}}},
			},
			{UUID: "p3", Device: "s1"},
			{UUID: "p4", Device: "s2"},
		}},
	}
}

// The query of a server that exists has its flavor, its ports in both formats, and its zone.
func TestRequest(t *testing.T) {
	c := records()
	s, server, err := novaquery.FromServer(c, "web")
	if err != nil || server.UUID != "s1" {
		t.Fatal(server, err)
	}
	s.Node = "cn1"
	r, err := novaquery.Request(s, c, request.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	want := placement.Query{
		Limit: 1000, RootForbidden: []string{"COMPUTE_STATUS_DISABLED"},
		Groups: []placement.RequestGroup{
			{
				Resources: []placement.ClassAmount{
					{Class: "DISK_GB", Amount: 3}, {Class: "MEMORY_MB", Amount: 512}, {Class: "VCPU", Amount: 2},
				},
				Required: [][]string{{"CUSTOM_FAST"}}, MemberOf: [][]placement.UUID{{"a1"}}, InTree: "u1",
			},
			{
				Suffix: "g", Resources: []placement.ClassAmount{{Class: bandwidth, Amount: 100}},
				Required: [][]string{{"CUSTOM_PHYSNET_1"}},
			},
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
	if r, err = novaquery.Request(s, c, request.DefaultSettings()); err != nil ||
		r.Query.Groups[0].Resources[0].Amount != 13 || len(r.Query.Groups[0].Required) != 2 {
		t.Errorf("with an image %+v, %v", r.Query.Groups[0], err)
	}
}

// A server requests the zone that it is bound to where there is one, and has its server group.
func TestServersThatAreBound(t *testing.T) {
	for name, want := range map[string][2]string{"s1": {"east", ""}, "s2": {"", "g2"}, "s3": {}} {
		s, _, err := novaquery.FromServer(records(), name)
		if err != nil {
			t.Fatal(err)
		}
		group := ""
		if s.Hints.Group != nil {
			group = s.Hints.Group.UUID
		}
		if got := [2]string{s.Zone, group}; got != want {
			t.Errorf("%s has the zone and the group %q, want %q", name, got, want)
		}
	}
}

// A zone is one of enabled services, as they say: also the default one, whatever its name. With a
// host it is omitted unless the host is in it.
func TestZones(t *testing.T) {
	zoned := records()
	zoned.Compute.Services = []cloud.Service{
		{Binary: "nova-compute", Host: "cn1", Zone: "east", Status: "enabled"},
		{Binary: "nova-compute", Host: "h2", Zone: "rest", Status: "enabled"},
		{Binary: "nova-compute", Host: "cn3", Zone: "west", Status: "disabled"},
	}
	zoned.Placement.Providers = append(zoned.Placement.Providers, cloud.Provider{UUID: "u2", Name: "cn2"})
	without := &cloud.Cloud{Placement: zoned.Placement}
	for name, tc := range map[string]struct {
		c    *cloud.Cloud
		s    novaquery.Server
		want string // the aggregates that are requested, or a part of the error
	}{
		"None":        {zoned, novaquery.Server{}, "[]"},
		"AnAggregate": {zoned, novaquery.Server{Zone: "east"}, "[[a1]]"},
		"Default":     {zoned, novaquery.Server{Zone: "rest"}, "[]"},
		"NovaIsNoZone": {
			zoned,
			novaquery.Server{Zone: "nova"},
			`no enabled service is in the availability zone "nova": Nova refuses the request`,
		},
		"Disabled":      {zoned, novaquery.Server{Zone: "west"}, `no enabled service is in the availability zone "west"`},
		"Pinned":        {zoned, novaquery.Server{Zone: "west", Pinned: true}, "[]"},
		"ItsHost":       {zoned, novaquery.Server{Zone: "east", Node: "cn1"}, "[[a1]]"},
		"AnotherHost":   {zoned, novaquery.Server{Zone: "east", Node: "cn2"}, "[]"},
		"DefaultUnread": {without, novaquery.Server{Zone: "nova"}, "[]"},
		"NamedUnread":   {without, novaquery.Server{Zone: "rest", DefaultZone: "rest"}, "[]"},
		"OtherUnread": {
			without, novaquery.Server{Zone: "east"}, `whether there is an availability zone "east" is not known`,
		},
		"NovaNamedUnread": {
			without,
			novaquery.Server{Zone: "nova", DefaultZone: "rest"},
			`whether there is an availability zone "nova" is not known`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.s.Flavor = small
			r, err := novaquery.Request(tc.s, tc.c, request.DefaultSettings())
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprint(r.Query.Groups[0].MemberOf)
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("it requests %s, want %s", got, tc.want)
			}
		})
	}
}

// What cannot be requested is an error that says why.
func TestErrors(t *testing.T) {
	for want, s := range map[string]novaquery.Server{
		`the availability zone "west"`: {Flavor: small, Zone: "west"},
		`name or UUID "cn9"`:           {Flavor: small, Node: "cn9"},
	} {
		if _, err := novaquery.Request(s, records(), request.DefaultSettings()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for name, want := range map[string]string{"db": "2 servers have the name", "s9": "there is no server"} {
		if _, _, err := novaquery.FromServer(records(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, _, err := novaquery.FromServer(&cloud.Cloud{}, "web"); err == nil ||
		!strings.Contains(err.Error(), "records of the compute service") {
		t.Error(err)
	}
}

// Hosts that Nova does not take have a reason.
func TestRefusals(t *testing.T) {
	c := records()
	for _, r := range []struct {
		hints novaquery.Hints
		host  string
		want  string
	}{
		{novaquery.Hints{}, "cn1", "its compute service is disabled: broken fan"},
		{novaquery.Hints{}, "cn2", "its compute service is down"},
		{novaquery.Hints{}, "cn3", ""},
		{novaquery.Hints{Different: []string{"s2", "s1"}}, "cn3", "server s1 is there (hint different_host)"},
		{novaquery.Hints{Same: []string{"s1"}}, "cn3", ""},
		{novaquery.Hints{Same: []string{"s1"}}, "cn4", "no server of the hint same_host is there"},
	} {
		if got := (novaquery.Server{Hints: r.hints}).Refusals(c)(r.host); got != r.want {
			t.Errorf("%s with %+v: %q, want %q", r.host, r.hints, got, r.want)
		}
	}
	for _, g := range []struct {
		policy  string
		most    int
		members []string
		host    string
		want    string
	}{
		{
			"anti-affinity", 0,
			[]string{"s1", "s2"},
			"cn3",
			"servers of the group g that are there: 1, of 1 at most (anti-affinity)",
		},
		{"anti-affinity", 2, []string{"s1", "s2"}, "cn3", ""},
		{"anti-affinity", 0, []string{"s2"}, "cn3", ""},
		{"anti-affinity", 0, []string{"me", "s1"}, "cn3", ""}, // where it is
		{"affinity", 0, []string{"s1", "s2"}, "cn4", "the servers of the group g are on cn3 (affinity)"},
		{"affinity", 0, []string{"s1", "s2"}, "cn3", ""},
		{"affinity", 0, []string{"s2"}, "cn4", ""}, // which is on no host
		{"soft-anti-affinity", 0, []string{"s1"}, "cn3", ""},
		{"soft-affinity", 0, []string{"s1"}, "cn4", ""},
	} {
		c.Compute.Servers[0].Host = "cn3"
		c.Compute.Servers = append(c.Compute.Servers, cloud.Server{UUID: "me", Host: "cn3"})
		group := &cloud.ServerGroup{Name: "g", Policy: g.policy, Members: g.members}
		group.Rules.MaxPerHost = g.most
		if got := (novaquery.Server{UUID: "me", Hints: novaquery.Hints{Group: group}}).Refusals(c)(g.host); got != g.want {
			t.Errorf("%s in %+v: %q, want %q", g.host, group, got, g.want)
		}
	}
	if got := (novaquery.Server{}).Refusals(&cloud.Cloud{})("cn1"); got != "" {
		t.Errorf("without records: %q", got)
	}
}

// Hints request all candidates, as in Nova.
func TestHintsAreUnlimited(t *testing.T) {
	for _, h := range []novaquery.Hints{
		{Same: []string{"s1"}}, {Different: []string{"s1"}}, {Group: &cloud.ServerGroup{}},
	} {
		if r, err := novaquery.Request(novaquery.Server{Flavor: small, Hints: h}, records(),
			request.DefaultSettings()); err != nil || r.Query.Limit != 0 {
			t.Errorf("with %+v: a limit of %d, %v", h, r.Query.Limit, err)
		}
	}
}

// The port that is made for a network requests what the network's policy guarantees, each by
// itself.
func TestPortIn(t *testing.T) {
	n := cloud.NetworkOf{UUID: "00000000-0000-4000-8000-000000000001", Name: "net0", Type: "vlan", Physical: "physnet0"}
	gold := cloud.QoSPolicy{UUID: "q1", Rules: []cloud.QoSRule{
		{UUID: "r1", Type: "minimum_bandwidth", Direction: "egress", MinKbps: 5},
		{UUID: "r2", Type: "minimum_packet_rate", Direction: "any", MinKpps: 7},
	}}
	p, err := novaquery.PortIn(n, gold, 0)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := novaquery.PortIn(n, gold, 1)
	r, err := novaquery.Request(novaquery.Server{Flavor: small, Ports: []cloud.Port{p, other}}, records(),
		request.DefaultSettings())
	if err != nil || len(r.Query.Groups) != 5 || len(r.Query.SameSubtrees) != 2 {
		t.Fatalf("%+v, %v", r.Query, err)
	}
	for i, want := range []placement.RequestGroup{
		{
			Resources: []placement.ClassAmount{{Class: bandwidth, Amount: 5}},
			Required:  [][]string{{"CUSTOM_PHYSNET_PHYSNET0"}, {"CUSTOM_VNIC_TYPE_NORMAL"}},
		},
		{
			Resources: []placement.ClassAmount{{Class: "NET_PACKET_RATE_KILOPACKET_PER_SEC", Amount: 7}},
			Required:  [][]string{{"CUSTOM_VNIC_TYPE_NORMAL"}},
		},
	} {
		want.Suffix = p.Request.Groups[i].ID
		if !slices.ContainsFunc(r.Query.Groups, func(g placement.RequestGroup) bool { return cmp.Equal(g, want) }) {
			t.Errorf("%+v is not requested: %+v", want, r.Query.Groups)
		}
	}
	n.Physical = "" // not that of a provider network
	n.Segments = []string{"a", "b"}
	if p, err = novaquery.PortIn(n, gold, 0); err != nil || p.Request.Groups[0].Required[0] != "CUSTOM_PHYSNET_A" {
		t.Errorf("with several segments %+v, %v", p.Request, err)
	}
	if p, err = novaquery.PortIn(n, cloud.QoSPolicy{}, 0); err != nil || p.Request != nil {
		t.Errorf("without a policy %+v, %v", p.Request, err)
	}
	if _, err = novaquery.PortIn(cloud.NetworkOf{UUID: "n1", Name: "odd"}, gold, 0); err == nil {
		t.Error("a network without a UUID is taken")
	}
}

// Filters that nova.conf switches on are in the query; hosts have to reach a segment of each port
// in a routed network.
func TestSettings(t *testing.T) {
	c := records()
	c.Placement.Providers = append(c.Placement.Providers, cloud.Provider{UUID: "u2", Aggregates: []string{"a8", "a9"}},
		cloud.Provider{UUID: "u3"})
	c.Compute.Aggregates = append(c.Compute.Aggregates, cloud.Aggregate{
		UUID: "a2", Metadata: map[string]string{"filter_tenant_id": "p"},
	})
	s := novaquery.Server{
		Flavor: small, Project: "p", Image: cloud.Image{DiskFormat: "raw"}, Segments: [][]string{{"u2"}, {}},
	}
	set := request.Settings{MaxResults: 10, LimitTenants: true, ImageTypes: true, RoutedNetworks: true}
	r, err := novaquery.Request(s, c, set)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]placement.UUID{{"a2"}, {"a8", "a9"}}, r.Query.Groups[0].MemberOf); diff != "" ||
		r.Query.Limit != 10 {
		t.Errorf("a limit of %d, aggregates (-want +got):\n%s", r.Query.Limit, diff)
	}
	if diff := cmp.Diff([]string{"COMPUTE_IMAGE_TYPE_RAW"}, r.Query.RootRequired); diff != "" {
		t.Errorf("required of the host (-want +got):\n%s", diff)
	}
	for _, segment := range []string{"u3", "u9"} {
		s.Segments = [][]string{{segment}}
		var none *request.NoValidHost
		if _, err := novaquery.Request(s, c, set); !errors.As(err, &none) ||
			!strings.Contains(none.Details[0], "the segment "+segment) {
			t.Errorf("in the segment %s: %v", segment, err)
		}
	}
	if _, err := novaquery.Request(s, c, request.DefaultSettings()); err != nil {
		t.Errorf("segments count without the setting: %v", err)
	}
}

// Where a host has its NUMA nodes as providers, a server with cells is requested of nodes, and
// others of hosts without any.
func TestNodes(t *testing.T) {
	c := records()
	root := &c.Placement.Providers[0]
	root.Traits = []string{request.TraitNUMARoot} // of a root it says nothing
	cells := novaquery.Server{Flavor: small}
	cells.Flavor.Specs = map[string]string{"hw:numa_nodes": "2"}
	suffixes := func(s novaquery.Server) (all []string) {
		t.Helper()
		r, err := novaquery.Request(s, c, request.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Query.Groups {
			all = append(all, g.Suffix)
			if slices.Contains(g.Forbidden, request.TraitNUMARoot) {
				all = append(all, "off nodes")
			}
		}
		return all
	}
	f := func(what string, s novaquery.Server, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, suffixes(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	f("cells, and no nodes", cells, "")
	c.Placement.Providers = append(c.Placement.Providers, cloud.Provider{
		UUID: "n0", Name: "cn1_NUMA0", Parent: "u1", Root: "u1", Traits: []string{request.TraitNUMARoot},
	})
	f("cells", cells, "", "_PROC0", "_MEM0", "_NUMA0", "_PROC1", "_MEM1", "_NUMA1")
	f("no cells", novaquery.Server{Flavor: small}, "", "off nodes")
}

// A server with a TPM wants a host that keeps its secret, as its user's without a word in the
// flavor. Where no host says how it keeps secrets Nova is too old to request it.
func TestSecretsOfTPMs(t *testing.T) {
	const user, host = "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER", "COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST"
	for _, tc := range []struct {
		specs  map[string]string
		traits []string // of a host
		want   []string // of the host
	}{
		{map[string]string{"hw:tpm_version": "2.0"}, []string{user}, []string{user}},
		{map[string]string{"hw:tpm_version": "2.0"}, []string{host}, []string{user}},
		{map[string]string{"hw:tpm_version": "2.0"}, []string{"COMPUTE_SECURITY_TPM_2_0"}, nil},
		{map[string]string{"hw:tpm_version": "2.0", "hw:tpm_secret_security": "host"}, []string{user}, []string{host}},
		{map[string]string{"hw:tpm_version": "2.0", "hw:tpm_secret_security": "host"}, nil, []string{host}},
		{map[string]string{"hw:tpm_secret_security": "host"}, []string{user, host}, nil},
		{nil, []string{user}, nil},
	} {
		c := records()
		c.Placement.Providers[0].Traits = tc.traits
		r, err := novaquery.Request(novaquery.Server{Flavor: cloud.Flavor{Name: "m1", VCPUs: 1, Specs: tc.specs}}, c,
			request.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, r.Query.RootRequired); diff != "" {
			t.Errorf("%v in a cloud with %v: required of the host (-want +got):\n%s", tc.specs, tc.traits, diff)
		}
	}
}

// OWNER_NOVA is required of hosts by Nova 2026.2, once every compute node has it.
func TestOwner(t *testing.T) {
	for _, tc := range []struct {
		version string
		traits  [2][]string // of the two compute nodes
		want    []string
	}{
		{"2.104", [2][]string{{"OWNER_NOVA"}, {"OWNER_NOVA"}}, []string{"OWNER_NOVA"}},
		{"2.104", [2][]string{{"OWNER_NOVA"}, nil}, nil},
		{"2.104", [2][]string{}, nil},
		{"2.103", [2][]string{{"OWNER_NOVA"}, {"OWNER_NOVA"}}, nil},
		{"", [2][]string{{"OWNER_NOVA"}, {"OWNER_NOVA"}}, nil},
	} {
		c := &cloud.Cloud{Placement: &cloud.Placement{}, Compute: &cloud.Compute{Version: tc.version}}
		for i, uuid := range []string{"n1", "n2"} {
			c.Placement.Providers = append(c.Placement.Providers, cloud.Provider{UUID: uuid, Root: uuid, Traits: tc.traits[i]})
			c.Compute.Hypervisors = append(c.Compute.Hypervisors, cloud.Hypervisor{UUID: uuid})
		}
		c.Placement.Providers = append(c.Placement.Providers, cloud.Provider{UUID: "sharing", Root: "sharing"})
		r, err := novaquery.Request(novaquery.Server{Flavor: cloud.Flavor{Name: "m1", VCPUs: 1}}, c,
			request.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, r.Query.RootRequired); diff != "" {
			t.Errorf("with %q and %v (-want +got):\n%s", tc.version, tc.traits, diff)
		}
	}
}

// A flavor requires what the release of Nova makes of it.
func TestReleasesRequire(t *testing.T) {
	f := cloud.Flavor{
		Name: "m1", VCPUs: 1, Specs: map[string]string{"hw:tpm_version": "2.0", "hw:maxphysaddr_mode": "emulate"},
	}
	for version, want := range map[string][]string{
		"2.93":  {"COMPUTE_SECURITY_TPM_2_0"},
		"2.96":  {"COMPUTE_ADDRESS_SPACE_EMULATED", "COMPUTE_SECURITY_TPM_2_0"},
		"2.100": {"COMPUTE_ADDRESS_SPACE_EMULATED", "COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_TIS"},
	} {
		c := records()
		c.Compute = &cloud.Compute{Version: version}
		r, err := novaquery.Request(novaquery.Server{Flavor: f}, c, request.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, anyOf := range r.Query.Groups[0].Required {
			got = append(got, anyOf...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", version, diff)
		}
	}
}
