package policy_test

import (
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

func FuzzParseRule(f *testing.F) {
	for _, seed := range append(words,
		"", " ", "(", "a:b and", "not not not role:admin", "role:a or (role:b and role:c) and not role:d",
		"rule:r or role:admin", "not rule:r", "%(a)s:%(b)s", "((((role:admin))))",
	) {
		f.Add(seed, "admin", "p")
	}
	f.Fuzz(func(t *testing.T, check, role, project string) {
		e, err := policy.New(policy.Options{Defaults: []policy.Rule{{Name: "r", Check: check}}})
		if err != nil {
			return
		}
		e.Warnings()
		caller := identity.Caller{UserID: "u", ProjectID: project, Roles: []string{role}}
		for _, target := range []map[string]string{nil, {}, {"project_id": project, "role": role}} {
			if err := e.Allow(caller, "r", target); err != nil {
				if kind, _ := fault.Of(err); kind != fault.Denied {
					t.Errorf("Allow with rule %q: %v, want a fault of kind Denied", check, err)
				}
			}
		}
	})
}

func FuzzLoadFile(f *testing.F) {
	for _, seed := range []string{
		"", "# nothing\n", "{}", "null", "[]", `{"a": "role:admin"}`, "a: role:admin\nb: not rule:a\n",
		"a: [[role:a, role:b], role:c]\n", "a:\nb: ~\n", "a: &x role:a\nb: *x\n", "a: rule:b\nb: rule:a\n",
		"a: &x [*x]", "<<: {a: b}", "a: !", "---\na: b\n---\nc: d\n", "\ta: b", `{"a": 1}`, "a: http://x",
	} {
		f.Add([]byte(seed))
	}
	defaults := []policy.Rule{{
		Name: "a", Check: "role:admin", Deprecated: &policy.Deprecated{Name: "b", Check: "role:b"},
	}}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := policy.LoadBytes(data, defaults)
		if kind, _ := fault.Of(err); err != nil && kind != fault.Internal {
			t.Errorf("a broken file is the operator's business, not the caller's: %v", err)
		}
	})
}
