package policy_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// paritySeed makes the cases the same in each run. Its value does not matter.
const paritySeed = 20

// A parityCase is one question to both engines, in the form of the script.
type parityCase struct {
	Rule     string            `json:"rule"`
	Defaults []parityRule      `json:"defaults"`
	File     string            `json:"file"`
	New      bool              `json:"new"`
	Caller   map[string]any    `json:"caller"`
	Target   map[string]string `json:"target"`
}

type parityRule struct {
	Name   string      `json:"name"`
	Check  string      `json:"check"`
	Scopes []string    `json:"scopes,omitempty"`
	Old    *parityRule `json:"old,omitempty"`
}

// words are the elements of random rules: every kind of check, and the mistakes in rules that
// operators have reported.
var words = strings.Fields(`
	role:admin role:ADMIN role:member role:%(role)s role:%(none)s role:a%%b role:50% role:%(role role:%(role)d role:
	rule:a rule:b rule:r rule:nowhere rule:admin
	user_id:%(user_id)s project_id:%(project_id)s project_id:None domain_id:%(domain)s domain_id:None user_domain_id:ud
	system:all system_scope:all system_scope:None is_admin:True is_admin_project:True is_admin_project:False
	roles:admin roles:ADMIN roles.x:y service_roles:service service_roles.x:y user_id.name:u nowhere.name:u project_id:%(a.b)s
	'Member':%(who)s "Member":%(who)s 'Member':Member 'it''s':x ''':x '':%(empty)s True:%(flag)s False:False None:None
	1:1 -5:-5 -0:0 +1:1 01:1 0:%(zero)s os-x:y class:x x.class:y :x x: é:x
	foo 'foo' "a:b" 'a':'b' @ ! @x user_id:%(user_id)s%(empty)s user_id:%%(user_id)s user_id:%((p))s`)

// expression writes a random rule that parses, mostly.
func expression(r *rand.Rand, depth int) string {
	if depth == 0 {
		return words[r.IntN(len(words))]
	}
	inner := func() string { return expression(r, r.IntN(depth)) }
	switch r.IntN(6) {
	case 0:
		return "not " + inner()
	case 1:
		return "(" + inner() + ")"
	case 2, 3:
		return inner() + " and " + inner()
	}
	return inner() + "  OR\t" + inner()
}

// noise writes words and operators in random order.
func noise(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(7) {
		all := append([]string{"and", "or", "not", "(", ")", "(not", "Not", "AND"}, words...)
		if n := r.IntN(2 * len(all)); n < len(all) {
			b.WriteString(all[n])
		} else {
			b.WriteString(all[n%8])
		}
		b.WriteString([]string{" ", " ", "", "\u00a0", " \x1c"}[r.IntN(5)])
	}
	return b.String()
}

// value generates a rule in a form of files: text, or a list of lists.
func value(r *rand.Rand) any {
	switch r.IntN(10) {
	case 0:
		list := []any{}
		for range r.IntN(4) {
			inner := []string{}
			for range r.IntN(3) {
				inner = append(inner, words[r.IntN(len(words))])
			}
			list = append(list, inner)
		}
		if r.IntN(2) == 0 {
			list = append(list, words[r.IntN(len(words))])
		}
		return list
	case 1, 2:
		return noise(r)
	case 3:
		return nil
	}
	return expression(r, 1+r.IntN(3))
}

func randomCase(r *rand.Rand) parityCase {
	rules := map[string]any{"a": value(r)}
	if r.IntN(3) > 0 {
		rules["b"] = expression(r, 1)
	}
	if r.IntN(4) == 0 {
		rules["default"] = expression(r, 1)
	}
	c := parityCase{Rule: "r", New: r.IntN(2) == 0, Caller: randomCaller(r), Target: randomTarget(r)}
	main := parityRule{Name: "r", Check: expression(r, 1)}
	if r.IntN(3) == 0 {
		main.Scopes = [][]string{{"project"}, {"system"}, {"project", "domain"}}[r.IntN(3)]
	}
	if r.IntN(3) == 0 {
		main.Old = &parityRule{Name: []string{"r", "old", "a"}[r.IntN(3)], Check: expression(r, 1)}
		if r.IntN(2) == 0 {
			rules["old"] = value(r)
		}
		if r.IntN(8) == 0 {
			rules["old"] = "rule:r"
		}
	}
	if main.Old == nil || r.IntN(3) == 0 {
		rules["r"] = value(r)
	}
	c.Defaults = []parityRule{main, {Name: "admin", Check: "role:admin"}}
	file, _ := json.Marshal(rules)
	c.File = string(file)
	return c
}

func randomCaller(r *rand.Rand) map[string]any {
	c := map[string]any{"user_id": "u", "is_admin_project": r.IntN(2) == 0}
	c["roles"] = [][]string{nil, {"admin"}, {"Member", "reader"}, {"member", "Admin", ""}}[r.IntN(4)]
	for _, opt := range []struct{ name, value string }{
		{"project_id", "p"}, {"domain_id", "d"}, {"system_scope", "all"}, {"user_domain_id", "ud"},
	} {
		if r.IntN(3) == 0 {
			c[opt.name] = opt.value
		}
	}
	if r.IntN(3) == 0 {
		c["service_roles"] = []string{"service"}
	}
	return c
}

func randomTarget(r *rand.Rand) map[string]string {
	if r.IntN(6) == 0 {
		return nil
	}
	t := map[string]string{
		"user_id": "u", "project_id": "p", "role": "admin", "who": "Member", "flag": "True",
		"zero": "0", "empty": "", "a.b": "p", "(p)": "u", "domain": "d",
	}
	for k := range t {
		if r.IntN(8) == 0 {
			delete(t, k)
		} else if r.IntN(8) == 0 {
			t[k] = policy.None
		}
	}
	return t
}

//go:embed testdata/upstream.py
var upstreamScript string

// upstream evaluates the cases with the real oslo.policy.
func upstream(t *testing.T, cases []parityCase) (answers []string) {
	t.Helper()
	upstreamtest.Run(t, "python3-oslo.policy", upstreamScript, cases, &answers)
	if len(answers) != len(cases) {
		t.Fatalf("%d answers to %d cases", len(answers), len(cases))
	}
	return answers
}

func TestDecisionsAreUpstreams(t *testing.T) {
	racetest.Skip(t)
	r := rand.New(rand.NewPCG(paritySeed, 0))
	cases := make([]parityCase, 1500)
	for i := range cases {
		cases[i] = randomCase(r)
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	counts := map[string]int{}
	for i, want := range upstream(t, cases) {
		kind, _, _ := strings.Cut(want, ":")
		counts[kind]++
		got := decide(t, file, cases[i])
		if kind == "too old" {
			continue // the script reports the reason
		}
		if (got == "allow") != (want == "allow") {
			shown, _ := json.MarshalIndent(cases[i], "", "  ")
			t.Errorf("seed %d, case %d: %s, upstream says %s\n%s", paritySeed, i, got, want, shown)
		}
	}
	if n := counts["too old"]; n > len(cases)/20 {
		t.Errorf("%d of %d cases are beyond this oslo.policy: want few", n, len(cases))
	}
	for _, kind := range []string{"allow", "deny", "error"} {
		if counts[kind] < len(cases)/20 {
			t.Errorf("only %d of %d cases end in %q: the generator is off balance", counts[kind], len(cases), kind)
		}
	}
}

// decide evaluates a case with Berth's engine.
func decide(t *testing.T, path string, c parityCase) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(c.File), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := policy.New(policy.Options{
		File: path, EnforceScope: true, EnforceNewDefaults: c.New, Defaults: defaults(c.Defaults),
	})
	if err != nil {
		return fmt.Sprintf("New: %v", err)
	}
	err = e.Allow(caller(c.Caller), c.Rule, c.Target)
	if kind, _ := fault.Of(err); err != nil && kind != fault.Denied {
		t.Errorf("Allow: %v, want a fault of kind Denied", err)
	}
	if err != nil {
		return "deny"
	}
	return "allow"
}

func defaults(rules []parityRule) []policy.Rule {
	var ds []policy.Rule
	for _, r := range rules {
		d := policy.Rule{Name: r.Name, Check: r.Check}
		for _, s := range r.Scopes {
			d.Scopes = append(d.Scopes, identity.Scope(s))
		}
		if r.Old != nil {
			d.Deprecated = &policy.Deprecated{Name: r.Old.Name, Check: r.Old.Check}
		}
		ds = append(ds, d)
	}
	return ds
}

func caller(facts map[string]any) identity.Caller {
	text := func(name string) string { s, _ := facts[name].(string); return s }
	list := func(name string) []string { l, _ := facts[name].([]string); return l }
	return identity.Caller{
		UserID: text("user_id"), UserDomainID: text("user_domain_id"), ProjectID: text("project_id"),
		DomainID: text("domain_id"), SystemScope: text("system_scope"),
		Roles: list("roles"), ServiceRoles: list("service_roles"), AdminProject: facts["is_admin_project"] == true,
	}
}
