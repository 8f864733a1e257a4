package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/internal/novatest"
)

// novaChecks holds values against Nova's formats, and texts against its expressions.
const novaChecks = `
import json, re, sys
from nova.api.validation import parameter_types, validators
from nova.api.openstack.compute.schemas import flavor_manage
checker = validators.FormatChecker()
patterns = {
    'printable': parameter_types.valid_description_regex,
    'flavor id': flavor_manage.create['properties']['flavor']['properties']['id']['pattern'],
}
def holds(name, value):
    if name in patterns:
        return bool(re.search(patterns[name], value))
    return checker.conforms(value, name)
json.dump([[holds(name, v) for v in values] for name, values in json.load(sys.stdin)], sys.stdout)
`

// The formats and the expressions that are Go's own hold what Nova's hold.
func TestFormatsAreNovas(t *testing.T) {
	text := func(cur func(string) bool) func(pyjson.Value) bool {
		return func(v pyjson.Value) bool { return cur(v.Str()) }
	}
	names := []string{
		"", "a", " ", " a", "a ", "a b", "a\n", "a\n\n", "\na", "a\tb", "a\x00", "é", "a\u00a0", "\u00a0a", "a\u00a0b",
		"a\u2028b", "a\u200bb",
		"a:b", ":", "日本", "a\U0001F600", "\ufffe", "\ue000", "a/b", "A_-9", "A.9", "@", "a b ", "\u0301", "x\u3000",
	}
	addresses := []string{
		"", "1.2.3.4", "1.2.3", "01.2.3.4", "1.2.3.4 ", "256.1.1.1", "::", "::1", "fe80::1%eth0", "1::2::3", "::ffff:1.2.3.4",
		"g::", "[::1]",
	}
	times := []string{
		"", "2026-01-02", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05", "2026-01-02 03:04:05", "2026-01-02T03:04:05+01:00",
		"2026-01-02T03:04:05.5Z",
		"2026-01-02T03:04", "yesterday", "2026-13-01", "2026-01-02T25:00:00", "03:04:05",
	}
	data := []string{"", "YQ==", "YQ", "YWI=", "Y W I =", "%", "YQ==\n", "====", "a"}
	checks := []struct {
		name   string
		is     func(pyjson.Value) bool
		values []string
	}{
		{"name", isName, names},
		{"az_name", isZoneName, names},
		{"name_with_leading_trailing_spaces", isSpacedName, names},
		{"keypair_name_20", isKeypairName, names},
		{"keypair_name_292", isKeypairName292, names},
		{"printable", text(isPrintable), names},
		{"flavor id", text(isFlavorID), names},
		{"ipv4", isIPv4, addresses},
		{"ipv6", isIPv6, addresses},
		{"date-time", isTime, times},
		{"base64", isBase64, data},
		{"regex", isExpression, []string{"", "a", "a.*b", "(", "[", "a{2}", "^x$"}},
	}
	type question [2]any
	var questions []question
	for _, c := range checks {
		questions = append(questions, question{c.name, c.values})
	}
	var want [][]bool
	novatest.Run(t, novaChecks, questions, &want)
	for i, c := range checks {
		for k, v := range c.values {
			if got := c.is(pyjson.NewString(v)); got != want[i][k] {
				t.Errorf("%q is a %s: %v, Nova says %v", v, c.name, got, want[i][k])
			}
		}
	}
}

// novaRules lists Nova's rules.
const novaRules = `
import json, sys
from nova import policies
rules = {}
for r in policies.list_rules():
    old = r.deprecated_rule
    rules[r.name] = {
        'check': r.check_str, 'scopes': r.scope_types, 'old': [old.name, old.check_str] if old else None,
    }
json.dump(rules, sys.stdout)
`

// ownRules are the rules that Nova does not have.
var ownRules = []string{"os_compute_api:berth-hosts:report", "os_compute_api:berth-operations:index"}

// laterRules are the rules that Nova has since 32 (2025.2); Debian's is older.
var laterRules = []string{
	"project_manager_api", "project_manager_or_admin", "service_api", "service_or_admin",
	"os_compute_api:os-migrate-server:migrate_live:host", "os_compute_api:os-migrate-server:migrate:host",
	"os_compute_api:os-migrations:index:all_projects", "os_compute_api:os-migrations:index:host",
	"os_compute_api:servers:migrations:index:host",
}

// asHere is how what Nova says of administrators is said here: docs/api/compute.md.
var asHere = strings.NewReplacer("is_admin:True", "role:admin")

// The rules of the API are Nova's, with its defaults and with what they were before. What they were
// called Nova says with "rule:" before it or without.
func TestPolicyDefaultsAreNovas(t *testing.T) {
	type rule struct {
		Check  string
		Scopes []string
		Old    []string // name and check
	}
	var theirs map[string]rule
	novatest.Run(t, novaRules, nil, &theirs)
	for _, r := range PolicyDefaults() {
		want, ok := theirs[r.Name]
		if slices.Contains(ownRules, r.Name) || !ok && slices.Contains(laterRules, r.Name) {
			continue
		}
		want.Check = asHere.Replace(want.Check)
		if len(want.Old) > 0 {
			want.Old = []string{strings.TrimPrefix(want.Old[0], "rule:"), asHere.Replace(want.Old[1])}
		}
		got := rule{Check: r.Check}
		for _, s := range r.Scopes {
			got.Scopes = append(got.Scopes, string(s))
		}
		if d := r.Deprecated; d != nil {
			got.Old = []string{d.Name, d.Check}
		}
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s, which Nova has: %t (-Nova +here):\n%s", r.Name, ok, diff)
		}
	}
}
