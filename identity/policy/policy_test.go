package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

var (
	admin  = identity.Caller{UserID: "root", ProjectID: "p1", Roles: []string{"Admin"}}
	member = identity.Caller{UserID: "joe", ProjectID: "p2", Roles: []string{"member"}}
	root   = identity.Caller{UserID: "root", SystemScope: "all", Roles: []string{"admin"}}
)

// write makes a file in dir and returns its path.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func enforcer(t *testing.T, opts policy.Options) *policy.Enforcer {
	t.Helper()
	e, err := policy.New(opts)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return e
}

// check fails the test unless the decision on the rule is the expected one.
func check(t *testing.T, e *policy.Enforcer, c identity.Caller, rule string, want bool) {
	t.Helper()
	if err := e.Allow(c, rule, nil); (err == nil) != want {
		t.Errorf("Allow(%s, %s) = %v, want allowed = %v", c.UserID, rule, err, want)
	}
}

func TestRefusalIsInUpstreamsWords(t *testing.T) {
	e := enforcer(t, policy.Options{EnforceScope: true, Defaults: []policy.Rule{
		{Name: "svc:thing:do", Check: "role:admin", Scopes: []identity.Scope{identity.Project}},
	}})
	for _, tc := range []struct {
		caller identity.Caller
		want   string
	}{
		{member, "Policy does not allow svc:thing:do to be performed."},
		{root, "svc:thing:do"},
	} {
		err := e.Allow(tc.caller, "svc:thing:do", nil)
		if kind, code := fault.Of(err); kind != fault.Denied || code != "" || err.Error() != tc.want {
			t.Errorf("Allow(%+v) = %v (kind %v, code %q), want Denied: %s", tc.caller, err, kind, code, tc.want)
		}
	}
}

func TestUnregisteredRuleIsOurMistake(t *testing.T) {
	path := write(t, t.TempDir(), "policy.yaml", "other: '@'\n")
	e := enforcer(t, policy.Options{File: path, Defaults: []policy.Rule{{Name: "a", Check: "@"}}})
	err := e.Allow(admin, "other", nil)
	if kind, _ := fault.Of(err); err == nil || kind != fault.Internal {
		t.Errorf("Allow(unregistered) = %v, want an internal error", err)
	}
}

func TestScopeMayBeIgnored(t *testing.T) {
	e := enforcer(t, policy.Options{Defaults: []policy.Rule{
		{Name: "a", Check: "role:admin", Scopes: []identity.Scope{identity.Project}},
	}})
	check(t, e, root, "a", true)
}

func TestOwnTargetIsTheDefault(t *testing.T) {
	e := enforcer(t, policy.Options{Defaults: []policy.Rule{
		{Name: "own", Check: "project_id:%(project_id)s and user_id:%(user_id)s"},
	}})
	check(t, e, member, "own", true)
	if err := e.Allow(member, "own", map[string]string{"project_id": "p1", "user_id": "joe"}); err == nil {
		t.Error("Allow(another project) = nil, want a refusal")
	}
	if err := e.Allow(member, "own", map[string]string{}); err == nil {
		t.Error("Allow(empty target) = nil, want a refusal")
	}
	nobody := identity.Caller{UserID: "joe"}
	if err := e.Allow(nobody, "own", map[string]string{"project_id": policy.None, "user_id": "joe"}); err != nil {
		t.Errorf("Allow(no project on either side) = %v, want nil", err)
	}
}

func TestFiles(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		want          bool // may a member do "a"?
	}{
		{"NoRules", "", false},
		{"OnlyComments", "# \"a\": \"role:member\"\n\n", false},
		{"OnlyADocumentMark", "---\n", false},
		{"AnEmptyMapping", "{}", false},
		{"YAML", "\"a\": \"role:member\"\n", true},
		{"UnquotedYAML", "a: role:member or role:x\n", true},
		{"FoldedYAML", "a: >\n  role:x\n  or role:member\n", true},
		{"JSON", "{\"a\": \"role:member\"}", true},
		{"JSONWithTabs", "{\n\t\"a\":\t\"role:member\"\n}\n", true},
		{"TheLastOneCounts", "a: '@'\na: '!'\n", false},
		{"EmptyTextAllows", "a: ''\n", true},
		{"NoValueAllows", "a:\n", true},
		{"BlankTextRefuses", "a: ' '\n", false},
		{"EmptyListAllows", "a: []\n", true},
		{"ListOfEmptyListsRefuses", "a: [[]]\n", false},
		{"ListsAreAlternatives", "a: [[role:x], [role:member, 'project_id:p2']]\n", true},
		{"ListsWithinMustHold", "a: [[role:x, role:member]]\n", false},
		{"AWordMayStandAlone", "a: [role:x, role:member]\n", true},
		{"AliasesStandForText", "b: &m role:member\na: *m\n", true},
		{"OtherRules", "a: rule:b\nb: role:member\n", true},
		{"UndefinedRuleRefuses", "a: rule:b\n", false},
		{"TheDefaultRuleStandsIn", "a: rule:b\ndefault: role:member\n", true},
		{"ACircleRefuses", "a: not rule:b\nb: rule:a\n", false},
		{"ACircleNotEnteredDoesNoHarm", "a: role:member or rule:a\n", true},
		{"WhatIsNotUnderstoodRefuses", "a: role:member and\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := write(t, t.TempDir(), "policy.yaml", tc.content)
			e := enforcer(t, policy.Options{File: path, Defaults: []policy.Rule{{Name: "a", Check: "role:admin"}}})
			check(t, e, member, "a", tc.want)
		})
	}
}

func TestBrokenFilesStopTheStart(t *testing.T) {
	for _, tc := range []struct{ content, want string }{
		{"a: [", "policy.yaml: yaml:"},
		{"- a\n", "not a mapping"},
		{"[1]", "not a mapping"},
		{"words\n", "not a mapping"},
		{"a: 1\n", "line 1: a rule must be text"},
		{"x: '@'\na: {b: c}\n", "line 2: a rule must be text"},
		{`{"a": true}`, `rule "a": a rule must be text`},
		{"a: [[1]]\n", "a rule must be text"},
		{"a: [[[b]]]\n", "a rule must be text"},
		{"---\na: b\n---\na: c\n", "more than one YAML document"},
		{"x: &x [a]\na: *x\n", "an alias"},
		{"<<: {a: b}\n", "plain text"},
		{"a: role:x or http://127.0.0.1/check\n", "remote server are not supported: http://127.0.0.1/check"},
		{"a: [['https:x']]\n", "remote server are not supported: https:x"},
		{"# " + strings.Repeat("x", 5<<20), "larger than"},
	} {
		path := write(t, t.TempDir(), "policy.yaml", tc.content)
		_, err := policy.New(policy.Options{File: path})
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("New with %.40q: %v, want an error with the path and %q", tc.content, err, tc.want)
		}
	}
}

func TestBadDefaultsStopTheStart(t *testing.T) {
	for _, tc := range []struct {
		want  string
		rules []policy.Rule
	}{
		{"empty or taken", []policy.Rule{{Name: "a"}, {Name: "a"}}},
		{"empty or taken", []policy.Rule{{Check: "@"}}},
		{"remote server", []policy.Rule{{Name: "a", Check: "not (http://x)"}}},
		{"remote server", []policy.Rule{{Name: "a", Deprecated: &policy.Deprecated{Check: "@ and https://x"}}}},
	} {
		if _, err := policy.New(policy.Options{Defaults: tc.rules}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New(%+v): %v, want an error with %q", tc.rules, err, tc.want)
		}
	}
}

func TestLaterFilesOverride(t *testing.T) {
	dir, main := t.TempDir(), t.TempDir()
	file := write(t, main, "policy.yaml", "a: role:member\nb: role:member\nc: role:member\n")
	write(t, dir, "20.json", `{"b": "!"}`)
	write(t, dir, "10", "b: '@'\nc: '!'\n")
	write(t, dir, ".30.yaml", "a: '!'\n")
	if err := os.Mkdir(filepath.Join(dir, "40"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := enforcer(t, policy.Options{
		File: file, Dirs: []string{filepath.Join(main, "nowhere"), dir},
		Defaults: []policy.Rule{{Name: "a", Check: "!"}, {Name: "b", Check: "!"}, {Name: "c", Check: "!"}},
	})
	check(t, e, member, "a", true)
	check(t, e, member, "b", false)
	check(t, e, member, "c", false)
}

// A check of a later release takes the place of the default when new defaults are enforced, and an
// override takes the place of both.
func TestNewestDefaults(t *testing.T) {
	rules := []policy.Rule{
		{
			Name: "a", Check: "role:admin", Newest: "role:member",
			Deprecated: &policy.Deprecated{Name: "a", Check: "role:old"},
		},
		{Name: "b", Check: "role:member", Newest: "!"},
	}
	for _, newOnly := range []bool{false, true} {
		e := enforcer(t, policy.Options{EnforceNewDefaults: newOnly, Defaults: rules})
		check(t, e, member, "a", newOnly)
		check(t, e, member, "b", !newOnly)
		check(t, e, identity.Caller{Roles: []string{"old"}}, "a", !newOnly)
	}
	file := write(t, t.TempDir(), "policy.yaml", "b: '@'\n")
	e := enforcer(t, policy.Options{File: file, EnforceNewDefaults: true, Defaults: rules})
	check(t, e, member, "b", true)
	remote := []policy.Rule{{Name: "a", Check: "@", Newest: "http://x"}}
	if _, err := policy.New(policy.Options{Defaults: remote}); err == nil {
		t.Error("a remote check is registered")
	}
}

func TestDirectoriesCountWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "x", "a: '@'\n")
	e := enforcer(t, policy.Options{
		File: filepath.Join(dir, "none"), Dirs: []string{dir}, Defaults: []policy.Rule{{Name: "a", Check: "!"}},
	})
	check(t, e, member, "a", true)
}

// The rule "new" requires the role new; it was formerly called "old" and required the role old. The
// cases are the operator's overrides and the callers they allow.
func TestDeprecatedRules(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		newOnly    bool
		want       string
	}{
		{"BothCount", "", false, "new old"},
		{"UntilNewDefaultsAreEnforced", "", true, "new"},
		{"AnOverrideOfTheNewNameIsAll", "new: role:x", false, "x"},
		{"AnOverrideOfTheOldNameCounts", "old: role:x", false, "x"},
		{"AnOverrideOfTheOldNameCountsAlways", "old: role:x", true, "x"},
		{"TheNewNameWins", "new: role:x\nold: '@'", false, "x"},
		{"AnOverrideThatRepeatsTheOldDefaultIsNone", "old: role:old", false, "new old"},
		{"AnOverrideThatRepeatsTheOldDefaultGoesWithIt", "old: role:old", true, "new"},
		{"AnOverrideThatPointsToTheNewNameIsNone", "old: rule:new", true, "new"},
		{"AnotherCheckIsAnOverride", "old: role:OLD", true, "old"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := enforcer(t, policy.Options{
				File:               write(t, t.TempDir(), "policy.yaml", tc.file),
				EnforceNewDefaults: tc.newOnly,
				Defaults: []policy.Rule{{Name: "new", Check: "role:new", Deprecated: &policy.Deprecated{
					Name: "old", Check: "role:old",
				}}},
			})
			var through []string
			for _, role := range []string{"new", "old", "x"} {
				if e.Allow(identity.Caller{Roles: []string{role}}, "new", nil) == nil {
					through = append(through, role)
				}
			}
			if got := strings.Join(through, " "); got != tc.want {
				t.Errorf("roles that get through: %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	path := write(t, t.TempDir(), "policy.yaml", strings.Join([]string{
		"circle: rule:round or role:x", "round: (not rule:circle)", "blank: ", "dangling: not rule:nowhere",
		"garbled: role:a role:b", "python: 1.5:%(x)s", "format: role:%(x)d", "old: role:y", "fine: rule:new",
	}, "\n"))
	e := enforcer(t, policy.Options{File: path, Defaults: []policy.Rule{{
		Name: "new", Check: "role:new",
		Deprecated: &policy.Deprecated{Name: "old", Check: "role:old", Since: "Xena", Reason: "tidier"},
	}}})
	want := []string{
		path + ` overrides rule "old", which was replaced by "new" in Xena: tidier`,
		`rule "blank" has no value and allows everybody (mind that "!" needs quotation marks)`,
		`rule "circle" refers to itself in a circle and refuses when it gets there`,
		`rule "dangling" refers to rule "nowhere", which is not defined`,
		`rule "format" has "%(x)d", where only %(name)s can be filled in, and refuses`,
		`rule "garbled" is not understood and refuses: "role:a role:b"`,
		`rule "python" compares "1.5", which is neither an attribute nor a literal, and refuses`,
		`rule "round" refers to itself in a circle and refuses when it gets there`,
	}
	if diff := cmp.Diff(want, e.Warnings()); diff != "" {
		t.Errorf("Warnings() (-want +got):\n%s", diff)
	}
}

func TestDeepRulesRefuse(t *testing.T) {
	deep := strings.Repeat("not ", 100_000) + "@"
	e := enforcer(t, policy.Options{Defaults: []policy.Rule{{Name: "a", Check: deep}}})
	check(t, e, admin, "a", false)
}

func BenchmarkAllow(b *testing.B) {
	e, err := policy.New(policy.Options{EnforceScope: true, Defaults: []policy.Rule{
		{Name: "base", Check: "role:admin or role:service"},
		{Name: "a", Check: "rule:base", Scopes: []identity.Scope{identity.Project}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := e.Allow(admin, "a", nil); err != nil {
				b.Error(fmt.Errorf("Allow: %w", err))
			}
		}
	})
}
