package operators

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/upgrade"
)

// The next release of each answer set changes what its documents say, for the server, the flavor
// and the hosts that the set has.
func TestUpgradeCheckOfReleases(t *testing.T) {
	conf := confFile(t, "[filter_scheduler]\npci_in_placement = true\n[pci]\n"+
		"alias = {\"name\": \"nic\", \"vendor_id\": \"8086\", \"product_id\": \"10ca\"}\n")
	without := confFile(t, "[filter_scheduler]\npci_in_placement = true\n[pci]\n"+
		"alias = {\"name\": \"nic\", \"vendor_id\": \"8086\", \"product_id\": \"ffff\"}\n")
	for _, c := range []struct {
		from, to, conf, check string
		want                  upgrade.Status // "" for a check that does not run
		code                  int
	}{
		{"2023.1", "2024.1", conf, "path", upgrade.OK, cli.ExitFindings},
		{"2023.1", "2024.1", conf, "query-traits", upgrade.Unknown, cli.ExitFindings},
		{"2023.1", "2024.1", conf, "placement-traits", upgrade.Required, cli.ExitFindings},
		{"2023.1", "2024.1", conf, "policies-network", upgrade.Required, cli.ExitFindings},
		{"2023.1", "2025.2", conf, "path", upgrade.Required, cli.ExitFindings},
		{"2024.1", "2024.2", conf, "query-traits", upgrade.Changes, cli.ExitFindings},
		{"2024.1", "2024.2", conf, "policies-network", "", cli.ExitFindings},
		{"2025.1", "2025.2", conf, "memory-encryption", upgrade.Changes, cli.ExitFindings},
		{"2025.2", "2026.1", conf, "memory-encryption", "", cli.ExitFindings},
		{"2025.2", "2026.1", conf, "vgpu-groups", upgrade.OK, cli.ExitFindings},
		{"2026.1", "2026.2", conf, "owner-trait", upgrade.Changes, cli.ExitFindings},
		{"2026.2", "2026.2", conf, "path", upgrade.OK, cli.ExitOK},
		{"2026.2", "2026.2", without, "pci-in-placement", "", cli.ExitOK},
	} {
		text, err := os.ReadFile(filepath.Join("../../../../ops/cloudapi/testdata/releases", c.from+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var a answers
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		a.Compute["/flavors/detail"] = map[string]any{"flavors": []any{a.Compute["/flavors/m1"].(map[string]any)["flavor"]}}
		code, out, notes := runWith(t, a.serve(t), NewUpgradeCheck, "--to", c.to, "--nova-config", c.conf, "-f", "json")
		var report upgrade.Report
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("from %s to %s: %v\n%s%s", c.from, c.to, err, out, notes)
		}
		got := upgrade.Status("")
		for _, r := range report.Results {
			if r.Check == c.check {
				got = r.Result
			}
		}
		if got != c.want || code != c.code || report.From != c.from || report.To != c.to {
			t.Errorf("from %s to %s (%s to %s): %s is %q with exit code %d, want %q and %d\n%s", c.from, c.to, report.From,
				report.To, c.check, got, code, c.want, c.code, notes)
		}
	}
}
