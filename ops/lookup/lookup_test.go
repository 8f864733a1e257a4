package lookup_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/lookup"
)

// In the records of a file a server is completed without APIs, and what these would have said is a
// note, once.
func TestExistingInRecords(t *testing.T) {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Server("server0", "cn1")
	f := &lookup.Finder{Cloud: b.Done(), Options: lookup.Options{Zone: "nova:cn1"}}
	f.Settings.DefaultZone, f.Settings.Request.RoutedNetworks = "nova", true
	for range 2 {
		s, err := f.Existing(t.Context(), "server0")
		if err != nil {
			t.Fatal(err)
		}
		if s.Zone != "nova" || s.Node != "cn1" || s.DefaultZone != "nova" || s.Pinned {
			t.Errorf("the server is to be in zone %q (pinned: %v) on %q", s.Zone, s.Pinned, s.Node)
		}
		r, err := f.Query(s)
		if err != nil || len(r.Query.Groups) == 0 {
			t.Errorf("its query is %+v, %v", r.Query, err)
		}
	}
	notes := strings.Join(f.Notes(), "\n")
	for _, want := range []string{
		"The image of the server server0 is not among the records of a file: what it requires is ignored.",
		"The server group of the server server0 is not among the records of the file",
		"query_placement_for_routed_network_aggregates is ignored",
	} {
		if strings.Count(notes, want) != 1 {
			t.Errorf("the notes do not have %q once:\n%s", want, notes)
		}
	}
}

// A server without a host and ports has lost those that it was to have, unless they are named.
func TestFailedServer(t *testing.T) {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Server("server0", "cn1")
	b.Failed("server0")
	f := &lookup.Finder{Cloud: b.Done()}
	if _, err := f.Existing(t.Context(), "server0"); err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(f.Notes(), "\n"); !strings.Contains(notes, "name them with --port and --network") {
		t.Errorf("the notes are:\n%s", notes)
	}
	if _, err := f.Existing(t.Context(), "server9"); !errors.As(err, new(lookup.UnknownServer)) {
		t.Errorf("a server that does not exist: %v", err)
	}
	if _, err := f.Group(t.Context(), "group"); err == nil {
		t.Error("a server group is found without APIs")
	}
}

// A flavor with VGPUs in several groups has a note where Nova is too old to give them all.
func TestSeveralVGPUs(t *testing.T) {
	both := map[string]string{"resources1:VGPU": "1", "resources2:VGPU": "1", "group_policy": "isolate"}
	for _, tc := range []struct {
		version string
		specs   map[string]string
		want    bool
	}{
		{"2.100", both, true},
		{"2.103", both, false},
		{"2.100", map[string]string{"resources:VGPU": "2"}, false},
		{"2.100", map[string]string{"resources:VGPU": "1", "resources1:VGPU": "1"}, true},
	} {
		b := cloudtest.New()
		b.Host("cn1", "")
		b.Server("server0", "cn1")
		b.At("server0").Flavor.Specs = tc.specs
		c := b.Done()
		c.Compute.Version = tc.version
		f := &lookup.Finder{Cloud: c}
		s, err := f.Existing(t.Context(), "server0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Query(s); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(f.Notes(), "\n"),
			"gives a server the devices of one group only"); got != tc.want {
			t.Errorf("with %s and %v the notes are %q", tc.version, tc.specs, f.Notes())
		}
	}
}

// A query for NUMA nodes has a note when hosts without nodes are requested after it.
func TestQueriesForNodes(t *testing.T) {
	for _, tc := range []struct {
		specs map[string]string
		want  bool
	}{
		{map[string]string{"hw:cpu_policy": "dedicated"}, true},
		{map[string]string{"hw:numa_nodes": "1"}, true},
		{nil, false},
	} {
		b := cloudtest.New()
		b.Host("cn1", "")
		b.Server("server0", "cn1")
		b.At("server0").Flavor.Specs = tc.specs
		c := b.Done()
		root := c.Placement.Providers[0]
		c.Placement.Providers = append(c.Placement.Providers, cloud.Provider{
			UUID: "node", Name: "node", Parent: root.UUID, Root: root.Root, Traits: []string{request.TraitNUMARoot},
		})
		f := &lookup.Finder{Cloud: c}
		s, err := f.Existing(t.Context(), "server0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Query(s); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(f.Notes(), "\n"), "hosts that report NUMA nodes"); got != tc.want {
			t.Errorf("with %v the notes are %q", tc.specs, f.Notes())
		}
	}
}
