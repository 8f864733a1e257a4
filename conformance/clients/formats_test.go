package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	osc "github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/server"
)

// cliff prints rows, which are JSON on standard input, as the openstack client does: the format and
// the columns are arguments. Python has ratios and percentages as floating-point numbers.
const cliff = `
import argparse, json, sys
from cliff.formatters import commaseparated, table, value
columns = sys.argv[2:]
cell = lambda name, v: float(v) if name in ("Ratio", "Percent") and v is not None else v
rows = [[cell(c, row[c]) for c in columns] for row in json.load(sys.stdin)]
formatter = {"table": table.TableFormatter, "value": value.ValueFormatter, "csv": commaseparated.CSVLister}[sys.argv[1]]()
formatter.emit_list(columns, rows, sys.stdout, argparse.Namespace(print_empty=False, max_width=0, fit_width=False, quote_mode="nonnumeric"))
`

// The operators' commands print what the library of the openstack client prints for the same rows:
// numbers, ratios, text with quotes and wide letters, and values that there are not.
func TestFormats(t *testing.T) {
	osc.Need(t)
	const agent, host = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"
	inventory := map[string]any{
		"total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 1.0,
	}
	doubled := map[string]any{
		"total": 16384, "reserved": 512, "min_unit": 1, "max_unit": 16384, "step_size": 1, "allocation_ratio": 1.5,
	}
	records := func(name string, inventories map[string]any) string {
		provider := map[string]any{
			"uuid": host, "name": name, "root_provider_uuid": host, "inventories": inventories,
			"usages": map[string]int{"MEMORY_MB": 100},
		}
		data, err := json.Marshal(map[string]any{
			"format": "berth cloud records", "version": 1, "source": "a test",
			"placement": map[string]any{"resource_providers": []any{
				map[string]any{"uuid": agent, "name": `"a", 東京`, "parent_provider_uuid": host, "root_provider_uuid": host},
				provider,
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "cloud.json")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	before := records("höst", map[string]any{"VCPU": inventory, "MEMORY_MB": doubled})
	after := records("host", map[string]any{"VCPU": doubled})
	run := func(input []byte, program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Stdin = bytes.NewReader(input)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 6 {
			t.Fatalf("%s %q: %v: %s", program, args, err, said.String())
		}
		return string(out)
	}
	for _, tc := range []struct{ args, columns []string }{
		{
			[]string{"tree", host, "--from-file", before},
			[]string{"Provider", "UUID", "Resource Class", "Total", "Reserved", "Ratio", "Capacity", "Used", "Free"},
		},
		{
			[]string{"top", "--from-file", before},
			[]string{"Provider", "UUID", "Resource Class", "Used", "Capacity", "Percent"},
		},
		{[]string{"diff", before, after}, []string{"Change", "What", "Provider", "Consumer", "Subject", "Before", "After"}},
	} {
		args := append([]string{"records"}, tc.args...)
		for _, name := range slices.Backward(tc.columns) { // whose order does not matter
			args = append(args, "-c", name)
		}
		rows := run(nil, server.Berth(t), append(args, "-f", "json")...)
		for _, format := range []string{"table", "value", "csv"} {
			got := run(nil, server.Berth(t), append(args, "-f", format)...)
			want := run([]byte(rows), "/usr/bin/python3", append([]string{"-c", cliff, format}, tc.columns...)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s as %s (-cliff +berth):\n%s", tc.args[0], format, diff)
			}
		}
	}
}
