package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// capacityFile writes the records of three hosts, of which cn1 has two servers, and returns the
// name of the file.
func capacityFile(t *testing.T) string {
	t.Helper()
	half := func(r *placement.InventoryRow) { r.MaxUnit = 2048 }
	b := placementtest.NewBuilder()
	b.Provider("cn1").Inventory("VCPU", 8).Inventory("MEMORY_MB", 4096, half)
	b.Provider("cn2").Inventory("VCPU", 4).Inventory("MEMORY_MB", 4096, half)
	b.Provider("cn3").Inventory("VCPU", 3).Inventory("MEMORY_MB", 4096, half)
	b.Provider("cn5").Inventory("VCPU", 3).Inventory("MEMORY_MB", 4096, half)
	vcpu := b.Class("VCPU")
	b.Use("cn1", vcpu, 5)
	c := &cloud.Cloud{
		Source: "a test", Placement: cloudtest.Records(b.Snapshot()), Network: &cloud.Network{},
		Compute: &cloud.Compute{
			Aggregates: []cloud.Aggregate{{Metadata: map[string]string{"availability_zone": "east"}}},
			Services:   []cloud.Service{{Binary: "nova-compute", Host: "cn5", State: "down"}}, Servers: []cloud.Server{
				{UUID: "s1", Name: "web", Node: "cn1", Flavor: cloud.Flavor{Name: "big", VCPUs: 3, RAM: 512}},
				{UUID: "s2", Name: "db", Node: "cn1", Flavor: cloud.Flavor{Name: "small", VCPUs: 2, RAM: 512}},
			},
		},
	}
	c.Placement.Traits = append(c.Placement.Traits, "COMPUTE_STATUS_DISABLED")
	c.Placement.Consumers = []cloud.Consumer{
		{UUID: "s1", Allocations: map[string]map[string]int64{"cn1": {"VCPU": 3}}},
		{UUID: "s2", Allocations: map[string]map[string]int64{"cn1": {"VCPU": 2}}},
	}
	path := filepath.Join(t.TempDir(), "cloud.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := cloud.Write(f, c); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is left is counted for queries, for servers like one that exists and for mixes, with and
// without a host; plans name the moves and what has no place.
func TestCapacity(t *testing.T) {
	file := capacityFile(t)
	for _, c := range []struct {
		args string
		code int
		want string // in what is printed, on standard output and standard error
	}{
		{"headroom --query resources=VCPU:1", cli.ExitOK, "13 more fit (exact)\n4 hosts: not enough VCPU\n"},
		{"headroom --query resources=VCPU:1 --without cn2", cli.ExitOK, "9 more fit (exact)"},
		{"headroom --server web", cli.ExitOK, "3 more fit (exact)"},
		{"headroom --server web --without cn4", cli.ExitUsage, `no provider with the name or UUID "cn4"`},
		{"headroom --server web", cli.ExitOK, "note: cn5 is excluded: its compute service is down\n"},
		{"headroom --server 2*web --server db", cli.ExitOK, "1 rounds fit (exact)\nno further claim of web\n"},
		{"headroom --query ?resources=VCPU:1", cli.ExitOK, "13 more fit (exact)\n"},
		{
			"headroom --query http://placement/placement/allocation_candidates?resources=VCPU:1", cli.ExitOK,
			"13 more fit (exact)\n",
		},
		{
			"headroom --query 2*/allocation_candidates?resources=VCPU:1 --query resources=VCPU:1", cli.ExitOK,
			"no further claim of resources=VCPU:1\n",
		},
		{
			"headroom --query /resource_providers?resources=VCPU:1", cli.ExitUsage,
			`the query "/resource_providers?resources=VCPU:1": `,
		},
		{"headroom --query resources=VCPU:9", cli.ExitFindings, "0 more fit (exact)\n4 hosts: not enough VCPU\n"},
		{
			"headroom --query resources=MEMORY_MB:4000", cli.ExitFindings,
			"0 more fit (exact)\n4 hosts: no such amount of MEMORY_MB in one allocation\n",
		},
		{
			"headroom --query resources=MEMORY_MB:4000 -f csv", cli.ExitFindings,
			"MEMORY_MB of cn3: at most 2048 in one allocation, not 4000",
		},
		{
			"headroom --query resources=VCPU:2 -f csv", cli.ExitOK,
			"\"Host\",\"Fits\",\"Most\",\"Runs Out\"\n\"cn2\",2,2,\"VCPU of cn2: 0 of 2\"\n",
		},
		{"headroom --query resources=BANANA:2", cli.ExitUsage, "No such resource class BANANA"},
		{"headroom --query resource=VCPU:2", cli.ExitUsage, `the query "resource=VCPU:2": `},
		{"headroom --query 0*resources=VCPU:2", cli.ExitUsage, "it must be 1 or more"},
		{"headroom --server nobody", cli.ExitUsage, `no server with the name or UUID "nobody"`},
		{"headroom --query resources=VCPU:2 --without cn9", cli.ExitUsage, `no provider with the name or UUID "cn9"`},
		{"headroom", cli.ExitUsage, "nothing says what is to be counted"},
		{"drain cn1", cli.ExitOK, "cn1 can be drained with 2 moves\n"},
		{"drain cn1 -f value -c consumer -c to", cli.ExitOK, "s1 cn3\ns2 cn2\n"},
		{"drain cn1", cli.ExitOK, "note: there are no records of server groups: moves that they forbid are planned too\n" +
			"note: the compute service does not say which zones"},
		{"drain cn2", cli.ExitOK, "nothing has allocations on cn2\n"},
		{"drain cn9", cli.ExitUsage, `no provider with the name or UUID "cn9"`},
		{"drain", cli.ExitUsage, "takes the name or UUID of one host"},
	} {
		args := append([]string{"capacity"}, strings.Fields(c.args)...)
		code, stdout, stderr := berthIn(t, "", nil, append(args, "--from-file", file)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("berth capacity %s exits with %d, want %d, and prints\n%s%s\nwant %q", c.args, code, c.code, stdout, stderr,
				c.want)
		}
	}
}
