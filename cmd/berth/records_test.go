package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
)

// sampleRecords writes the records of a host, of which a server has some VCPU, and returns the
// file.
func sampleRecords(t *testing.T, used int64) string {
	t.Helper()
	const host, server = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-0000000000c1"
	p := &cloud.Placement{
		Classes: []string{"VCPU"}, Traits: []string{"HW_CPU_X86_VMX"},
		Providers: []cloud.Provider{{
			UUID: host, Name: "cn1", Root: host, Generation: used, Traits: []string{"HW_CPU_X86_VMX"},
			Usages: map[string]int64{"VCPU": used},
			Inventories: map[string]cloud.Inventory{
				"VCPU": {Total: 4, Reserved: 1, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 2},
			},
		}},
		Consumers: []cloud.Consumer{{
			UUID: server, Project: "p1", User: "u1", Type: "INSTANCE",
			Allocations: map[string]map[string]int64{host: {"VCPU": used}},
		}},
	}
	p.Sort()
	path := filepath.Join(t.TempDir(), "cloud.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := cloud.Write(f, &cloud.Cloud{Source: "a test", Begun: time.Unix(0, 0).UTC(), Placement: p}); err != nil {
		t.Fatal(err)
	}
	return path
}

// The commands that show records print them for people, and say with their exit code whether there
// is a difference.
func TestShowRecords(t *testing.T) {
	before, after := sampleRecords(t, 2), sampleRecords(t, 3)
	for _, tc := range []struct {
		args   string
		code   int
		stdout string
		says   string
	}{
		{"tree cn1 --from-file " + before, cli.ExitOK, `cn1  (00000000-0000-4000-8000-000000000001, generation 2)
  VCPU: 2 of 6 used, 4 free (total 4, reserved 1, ratio 2)
  traits: HW_CPU_X86_VMX
  INSTANCE 00000000-0000-4000-8000-0000000000c1 of project p1 has VCPU 2
`, "read 1 provider, 1 consumer from"},
		{"tree cn1 -f value -c free -c provider --from-file " + before, cli.ExitOK, "cn1 4\n", ""},
		{"tree cn2 --from-file " + before, cli.ExitFailure, "", `no provider has the name or UUID "cn2"`},
		{"tree", cli.ExitUsage, "", "want one argument"},
		{"top -f csv --from-file " + before, cli.ExitOK, `"Provider","UUID","Resource Class","Used","Capacity","Percent"
"cn1","00000000-0000-4000-8000-000000000001","VCPU",2,6,33.3
`, ""},
		{
			"top --by consumers -f value --from-file " + before, cli.ExitOK,
			"00000000-0000-4000-8000-0000000000c1 INSTANCE p1 VCPU 2 6 33.3\n", "",
		},
		{"top --by projects -f value --class VCPU --limit 1 --from-file " + before, cli.ExitOK, "p1 VCPU 2 6 33.3\n", ""},
		{
			"top --by projects -f value --class DISK_GB --from-file " + before, cli.ExitOK, "",
			"note: there is nothing of the resource class DISK_GB",
		},
		{"top --limit -1 --from-file " + before, cli.ExitUsage, "", "--limit -1: want 0 or more"},
		{
			"export /nowhere/x.json --from-file " + before, cli.ExitFailure, "",
			"berth: stat /nowhere: no such file or directory\n",
		},
		{"top --by hosts --from-file " + before, cli.ExitUsage, "", "want providers, consumers or projects"},
		{"diff " + before + " " + before, cli.ExitOK, "no differences\n", ""},
		{
			"diff " + before + " --from-file " + after + " -f value", cli.ExitFindings,
			"changed allocation cn1 00000000-0000-4000-8000-0000000000c1 VCPU 2 3\n", "1 difference",
		},
		{
			"diff --by-name " + before + " " + after + " -f value", cli.ExitFindings, "changed usage cn1 None VCPU 2 3\n",
			"1 difference",
		},
		{"diff -f json " + before + " " + before, cli.ExitOK, "[]\n", ""},
		{"diff " + before + " " + after + " --from-file " + after, cli.ExitUsage, "", "with two files no other source"},
		{"diff /nowhere " + after, cli.ExitFailure, "", "/nowhere"},
		{"diff", cli.ExitUsage, "", "want one or two arguments"},
	} {
		code, stdout, stderr := berth(t, append([]string{"records"}, strings.Fields(tc.args)...)...)
		if diff := cmp.Diff(tc.stdout, stdout); diff != "" || code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("berth placement %s exits with %d, want %d; standard error:\n%s\nstandard output (-want +got):\n%s",
				tc.args, code, tc.code, stderr, diff)
		}
	}
}
