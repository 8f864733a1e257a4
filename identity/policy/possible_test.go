package policy_test

import (
	"testing"

	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

// What is impossible is so whatever the target is; everything that a target could allow is
// possible.
func TestPossible(t *testing.T) {
	rules, err := policy.New(policy.Options{Networking: true, EnforceScope: true, Defaults: []policy.Rule{
		{Name: "admin", Check: "role:admin"},
		{Name: "owner", Check: "project_id:%(project_id)s"},
		{Name: "member", Check: "role:member and rule:owner"},
		{Name: "either", Check: "rule:admin or role:member and user_id:%(user_id)s"},
		{Name: "not admin", Check: "not rule:admin"},
		{Name: "not owner", Check: "not rule:owner"},
		{Name: "neither", Check: "not (rule:owner or rule:admin) and role:member"},
		{Name: "everybody", Check: "@"},
		{Name: "nobody", Check: "!"},
		{Name: "not nobody", Check: "not !"},
		{Name: "field", Check: "field:networks:shared=True"},
		{Name: "user", Check: "user_id:u"},
		{Name: "targeted role", Check: "role:%(role)s"},
		{Name: "literal", Check: "'x':%(name)s"},
		{Name: "undefined", Check: "rule:pony"},
		{Name: "circular", Check: "rule:circular"},
		{Name: "system", Check: "@", Scopes: []identity.Scope{identity.System}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string][3]bool{ // for a member, an administrator and somebody without a role
		"admin": {false, true, false}, "owner": {true, true, true}, "member": {true, false, false},
		"either": {true, true, false}, "not admin": {true, false, true}, "not owner": {true, true, true},
		"neither": {true, false, false}, "everybody": {true, true, true}, "nobody": {}, "not nobody": {true, true, true},
		"field": {true, true, true}, "user": {true, false, false}, "targeted role": {true, true, true},
		"literal": {true, true, true}, "undefined": {}, "circular": {true, true, true}, "system": {},
		"not registered": {true, true, true},
	} {
		for i, caller := range []identity.Caller{
			{UserID: "u", ProjectID: "p", Roles: []string{"Member"}},
			{UserID: "a", ProjectID: "p", Roles: []string{"admin"}},
			{UserID: "n", ProjectID: "p"},
		} {
			if got := rules.Possible(caller, rule); got != want[i] {
				t.Errorf("%q for %s: %v, want %v", rule, caller.UserID, got, want[i])
			}
		}
	}
}

func TestPossibleForOthers(t *testing.T) {
	rules, err := policy.New(policy.Options{Networking: true, Defaults: []policy.Rule{
		{Name: "owner", Check: "project_id:%(project_id)s"},
		{Name: "tenant", Check: "tenant_id:%(tenant_id)s"},
		{Name: "either", Check: "role:member and rule:owner or tenant_id:%(group:tenant_id)s"},
		{Name: "not owner", Check: "not rule:owner"},
		{Name: "user", Check: "user_id:%(user_id)s"},
		{Name: "user in owner", Check: "user_id:%(project_id)s"},
		{Name: "another attribute", Check: "project_id:%(peer)s"},
		{Name: "with a literal", Check: "project_id:p%(project_id)s"},
		{Name: "literal", Check: "project_id:p"},
		{Name: "owner or field", Check: "rule:owner or field:networks:shared=True"},
		{Name: "target", Check: "'p':%(project_id)s"},
		{Name: "everybody", Check: "@"},
		{Name: "role", Check: "role:member"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	caller := identity.Caller{UserID: "u", ProjectID: "p", Roles: []string{"member"}}
	for rule, want := range map[string]bool{
		"owner": false, "tenant": false, "either": false, "not owner": true, "user": true, "user in owner": true,
		"another attribute": true, "with a literal": true, "literal": true, "owner or field": true, "target": true,
		"everybody": true, "role": true, "not registered": true,
	} {
		if got := rules.PossibleForOthers(caller, rule, "project_id", "tenant_id", "group:tenant_id"); got != want {
			t.Errorf("%q: %v, want %v", rule, got, want)
		}
		if !rules.Possible(caller, rule) {
			t.Errorf("%q is not possible", rule)
		}
	}
}
