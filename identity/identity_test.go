package identity_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/identity"
)

func TestCallerTravelsInTheContext(t *testing.T) {
	if c, ok := identity.From(context.Background()); ok {
		t.Errorf("From(empty context) = %+v, true; want nobody", c)
	}
	want := identity.Caller{UserID: "u", Roles: []string{"admin"}}
	got, ok := identity.From(context.WithValue(context.Background(), identity.Key{}, &want))
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("From: ok = %v, diff (-want +got):\n%s", ok, diff)
	}
}

func TestScope(t *testing.T) {
	for _, tc := range []struct {
		caller identity.Caller
		want   identity.Scope
	}{
		{identity.Caller{}, identity.Project},
		{identity.Caller{ProjectID: "p"}, identity.Project},
		{identity.Caller{ProjectID: "p", DomainID: "d"}, identity.Domain},
		{identity.Caller{DomainID: "d", SystemScope: "all"}, identity.System},
		{identity.Caller{ProjectID: "p", SystemScope: "all"}, identity.System},
	} {
		if got := tc.caller.Scope(); got != tc.want {
			t.Errorf("%+v.Scope() = %q, want %q", tc.caller, got, tc.want)
		}
	}
}

func TestNoAuth(t *testing.T) {
	type headers map[string]string
	for _, tc := range []struct {
		name string
		sent headers
		want identity.Caller
	}{
		{
			"AUserIsTheirOwnProject",
			headers{"X-Auth-Token": "demo"},
			identity.Caller{UserID: "demo", ProjectID: "demo", AdminProject: true},
		},
		{
			"AdminHasTheRole",
			headers{"X-Auth-Token": "admin"},
			identity.Caller{UserID: "admin", ProjectID: "admin", Roles: []string{"admin"}, AdminProject: true},
		},
		{
			"ATokenMayNameTheProject",
			headers{"X-Auth-Token": "demo:p:1"},
			identity.Caller{UserID: "demo", ProjectID: "p:1", AdminProject: true},
		},
		{
			"AnEmptyProjectIsNone",
			headers{"X-Auth-Token": "demo:"},
			identity.Caller{UserID: "demo", ProjectID: "demo", AdminProject: true},
		},
		{
			"AnEmptyTokenIsAToken",
			headers{"X-Auth-Token": ""},
			identity.Caller{AdminProject: true},
		},
		{
			"RolesReplaceThoseOfTheName",
			headers{"X-Auth-Token": "admin", "X-Roles": "member, reader"},
			identity.Caller{UserID: "admin", ProjectID: "admin", Roles: []string{"member", "reader"}, AdminProject: true},
		},
		{
			"EmptyRolesAreNoRoles",
			headers{"X-Auth-Token": "admin", "X-Roles": ""},
			identity.Caller{UserID: "admin", ProjectID: "admin", AdminProject: true},
		},
		{
			"ProjectHeaderWins",
			headers{"X-Auth-Token": "demo:p1", "X-Project-Id": "p2", "X-Tenant-Id": "p3"},
			identity.Caller{UserID: "demo", ProjectID: "p2", AdminProject: true},
		},
		{
			"TheTokenWinsOverOldHeaders",
			headers{"X-Auth-Token": "demo:p1", "X-Tenant-Id": "p3", "X-Tenant": "p4"},
			identity.Caller{UserID: "demo", ProjectID: "p1", AdminProject: true},
		},
		{
			"SystemScopeHasNoProject",
			headers{"X-Auth-Token": "admin:p1", "Openstack-System-Scope": "all"},
			identity.Caller{UserID: "admin", SystemScope: "all", Roles: []string{"admin"}, AdminProject: true},
		},
		{
			"AnEmptySystemScopeIsNone",
			headers{"X-Auth-Token": "demo:p1", "Openstack-System-Scope": ""},
			identity.Caller{UserID: "demo", ProjectID: "p1", AdminProject: true},
		},
		{
			"SystemScopeTakesTheOldHeaders",
			headers{"X-Auth-Token": "demo:p1", "Openstack-System-Scope": "all", "X-Tenant": "p4"},
			identity.Caller{UserID: "demo", ProjectID: "p4", SystemScope: "all", AdminProject: true},
		},
		{
			"DomainsAndServices",
			headers{
				"X-Auth-Token": "demo", "X-Domain-Id": "d", "X-User-Domain-Id": "ud", "X-Project-Domain-Id": "pd",
				"X-Is-Admin-Project": "False", "X-Service-User-Id": "nova", "X-Service-Roles": "service,x",
			},
			identity.Caller{
				UserID: "demo", ProjectID: "demo", DomainID: "d", UserDomainID: "ud", ProjectDomainID: "pd",
				ServiceUserID: "nova", ServiceRoles: []string{"service", "x"},
			},
		},
		{
			"OtherHeadersDoNotMakeAUser",
			headers{"X-Auth-Token": "demo", "X-User-Id": "root", "X-User": "root", "X-Role": "admin"},
			identity.Caller{UserID: "demo", ProjectID: "demo", AdminProject: true},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := identity.NoAuth(func(name string) (string, bool) { v, sent := tc.sent[name]; return v, sent })
			if diff := cmp.Diff(tc.want, got); diff != "" || !ok {
				t.Errorf("NoAuth(%v): ok = %v, diff (-want +got):\n%s", tc.sent, ok, diff)
			}
		})
	}
}

func TestNoAuthWantsAToken(t *testing.T) {
	got, ok := identity.NoAuth(func(string) (string, bool) { return "", false })
	if ok {
		t.Errorf("NoAuth(no headers) = %+v, true; want false", got)
	}
}
