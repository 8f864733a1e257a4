package networkapi

import (
	"testing"

	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

// With new defaults, services write what is between services, in place of administrators, and
// managers have the QoS policies of their project; without them neither may.
func TestNewestChecks(t *testing.T) {
	caller := func(roles ...string) identity.Caller { return identity.Caller{ProjectID: "p", Roles: roles} }
	admin, manager, member := caller("admin"), caller("manager", "member", "reader"), caller("member", "reader")
	service := identity.Caller{ProjectID: "services", Roles: []string{"service"}}
	own := map[string]string{"project_id": "p", "tenant_id": "p"}
	other := map[string]string{"project_id": "q", "tenant_id": "q"}
	rule := map[string]string{"ext_parent:tenant_id": "p", "ext_parent:project_id": "p"}
	for _, c := range []struct {
		who    identity.Caller
		rule   string
		target map[string]string
		before bool
		newest bool
	}{
		{service, "create_port:binding:profile", own, false, true},
		{admin, "create_port:binding:profile", own, true, false},
		{service, "update_port:binding:host_id", own, false, true},
		{admin, "update_port:binding:host_id", own, true, true},
		{service, "get_port", own, false, true},
		{service, "delete_port_binding", own, false, true},
		{manager, "create_policy", own, false, true},
		{manager, "create_policy", other, false, false},
		{member, "create_policy", own, false, false},
		{manager, "create_policy_minimum_bandwidth_rule", rule, false, true},
		{member, "create_policy_minimum_bandwidth_rule", rule, false, false},
		{manager, "get_quota", own, false, true},
		{manager, "create_network:shared", own, false, false},
	} {
		for _, enforced := range []bool{false, true} {
			rules, err := policy.New(policy.Options{Defaults: PolicyDefaults(), Networking: true, EnforceNewDefaults: enforced})
			if err != nil {
				t.Fatal(err)
			}
			want := c.before
			if enforced {
				want = c.newest
			}
			if got := rules.Allow(c.who, c.rule, c.target) == nil; got != want {
				t.Errorf("%s for %v, new defaults %t: %t, want %t", c.rule, c.who.Roles, enforced, got, want)
			}
		}
	}
	for check, names := range newestChecks {
		for _, name := range names {
			if _, ok := ruleNamed(name); !ok {
				t.Errorf("%q is of the rule %q, which there is not", check, name)
			}
		}
	}
}

func ruleNamed(name string) (policyRule, bool) {
	for _, r := range policyRules {
		if r.name == name {
			return r, true
		}
	}
	return policyRule{}, false
}
