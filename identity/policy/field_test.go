package policy_test

import (
	"testing"

	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

func TestFieldsOfTheTarget(t *testing.T) {
	rules := []policy.Rule{
		{Name: "shared", Check: "field:networks:shared=True"},
		{Name: "external", Check: "field:networks:router:external=True"},
		{Name: "device", Check: "field:port:device_owner=~^network:"},
		{Name: "beginning", Check: "field:port:device_owner=~network:|router:"},
		{Name: "owner", Check: "tenant_id:%(tenant_id)s"},
		{Name: "malformed", Check: "field:networks"},
		{Name: "pattern", Check: "field:port:device_owner=~("},
	}
	e, err := policy.New(policy.Options{Defaults: rules, Networking: true})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := policy.New(policy.Options{Defaults: rules})
	if err != nil {
		t.Fatal(err)
	}
	yes := map[string]string{"shared": "True", "router:external": "True", "device_owner": "network:dhcp", "tenant_id": "p"}
	no := map[string]string{"shared": "False", "device_owner": "compute:network:", "tenant_id": "q"}
	caller := identity.Caller{ProjectID: "p"}
	for _, r := range rules {
		if got, want := e.Allow(caller, r.Name, yes) == nil, r.Name != "malformed" && r.Name != "pattern"; got != want {
			t.Errorf("%s lets the one through: %v, want %v", r.Name, got, want)
		}
		if e.Allow(caller, r.Name, no) == nil {
			t.Errorf("%s lets the other through", r.Name)
		}
		if plain.Allow(caller, r.Name, yes) == nil {
			t.Errorf("%s lets through where fields are not known", r.Name)
		}
	}
	if !e.Has("shared") || e.Has("unheard") {
		t.Error("Has is wrong")
	}
}
