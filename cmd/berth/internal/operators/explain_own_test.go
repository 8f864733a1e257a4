package operators

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// The command prints what Berth's placement service answers about Nova's query for a flavor, and
// that upstream's has no answer. It reads nothing else of placement.
func TestExplainOwn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../../../../ops/cloudapi/testdata/releases", "2025.1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var a answers
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	fits := map[string]any{"summary": "s", "fits": true, "changes": []any{}}
	refused := map[string]any{"summary": "s", "fits": false, "changes": []any{
		map[string]any{"kind": "amount", "group": "", "name": "VCPU"},
		map[string]any{"kind": "class", "group": "1", "name": "VGPU"},
	}}
	stuck := map[string]any{"summary": "s", "fits": false, "changes": []any{}}
	for _, c := range []struct {
		name   string
		answer any // nil for a placement service that is not Berth's
		args   []string
		code   int
		want   string
	}{
		{"Fits", fits, []string{"--flavor", "m1"}, cli.ExitOK, "A host can serve the request now.\n"},
		{"Query", fits, []string{"resources=VCPU:1"}, cli.ExitOK, "A host can serve the request now.\n"},
		{
			"Changes", refused,
			[]string{"resources=VCPU:1"},
			cli.ExitFindings,
			"No host can serve the request now. One could with one of these changes:\n" +
				"  if less VCPU were requested\n  if VGPU were not requested by group 1\n",
		},
		{"Stuck", stuck, []string{"resources=VCPU:1"}, cli.ExitFindings, "no single change of it helps"},
		{"Upstream", nil, []string{"resources=VCPU:1"}, cli.ExitFailure, ""},
		{"JSON", refused, []string{"resources=VCPU:1", "-f", "json"}, cli.ExitFindings, `"kind": "amount"`},
		{"WrongQuery", fits, []string{"resources=VCPU"}, cli.ExitUsage, ""},
		{"Host", fits, []string{"resources=VCPU:1", "--host", "cn1"}, cli.ExitUsage, ""},
		{"Zone", fits, []string{"--flavor", "m1", "--availability-zone", "east"}, cli.ExitUsage, ""},
		{"File", fits, []string{"--flavor", "m1", "--from-file", "cloud.json"}, cli.ExitUsage, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := a
			b.Placement = map[string]any{}
			if c.answer != nil {
				b.Placement["/berth/v1/own/explain"] = c.answer
			}
			code, out, notes := runWith(t, b.serve(t), NewExplain, append([]string{"--own"}, c.args...)...)
			if code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("it exits with %d, want %d and %q:\n%s%s", code, c.code, c.want, out, notes)
			}
		})
	}
}
