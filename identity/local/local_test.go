package local_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity/local"
)

func newDirectory() *local.Directory {
	return local.New(local.Project{ID: "p", Name: "demo"},
		local.User{ID: "u1", Name: "admin", Password: "secret", Roles: []string{"admin", "member", "reader"}},
		local.User{ID: "u2", Name: "demo", Password: "other", Roles: []string{"member", "reader"}},
		local.User{ID: "u3", Name: "nobody"})
}

func TestLogin(t *testing.T) {
	inProject, system := local.Scope{Project: true}, local.Scope{System: true}
	for name, tc := range map[string]struct {
		user, password string
		scope          local.Scope
		ok             bool
	}{
		"ByName":         {"admin", "secret", inProject, true},
		"ByID":           {"u2", "other", inProject, true},
		"Unscoped":       {"demo", "other", local.Scope{}, true},
		"System":         {"admin", "secret", system, true},
		"SystemAsMember": {"demo", "other", system, false},
		"WrongPassword":  {"admin", "other", inProject, false},
		"NoPassword":     {"admin", "", inProject, false},
		"NoSuchUser":     {"root", "secret", inProject, false},
		"NobodyAtAll":    {"", "", inProject, false},
		"UserWithout":    {"nobody", "", inProject, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectory()
			token, err := d.Login(tc.user, tc.password, tc.scope)
			if kind, _ := fault.Of(err); (err == nil) != tc.ok || err != nil && kind != fault.Unauthentic {
				t.Fatalf("Login = %v, want success %v, else Unauthentic", err, tc.ok)
			}
			if !tc.ok {
				return
			}
			c, err := d.Caller(token.ID)
			if err != nil || (c.ProjectID == "p") != tc.scope.Project || (c.SystemScope == "all") != tc.scope.System ||
				(len(c.Roles) > 0) != (tc.scope != local.Scope{}) {
				t.Errorf("Caller = %+v, %v", c, err)
			}
			if token.User.Password != "" {
				t.Error("the token has the password")
			}
		})
	}
}

func TestTokensEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectory()
		first, err := d.Login("admin", "secret", local.Scope{Project: true})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(local.Life / 2)
		second, err := d.Rescope(first.ID, local.Scope{})
		if err != nil || !second.Expires.Equal(first.Expires) || slices.Equal(second.Methods, first.Methods) {
			t.Fatalf("Rescope = %+v, %v; want one that ends with the first", second, err)
		}
		d.Revoke(first.ID)
		if _, ok := d.Token(first.ID); ok {
			t.Error("a revoked token is one yet")
		}
		if _, ok := d.Token(second.ID); !ok {
			t.Error("the other token is none any more")
		}
		time.Sleep(local.Life / 2)
		if _, ok := d.Token(second.ID); ok {
			t.Error("an expired token is one yet")
		}
		if _, err := d.Rescope(second.ID, local.Scope{}); err == nil {
			t.Error("an expired token gets another one")
		}
	})
}

func TestTokensAreBounded(t *testing.T) {
	d := newDirectory()
	first, err := d.Login("demo", "other", local.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	var last *local.Token
	for range 10000 {
		if last, err = d.Rescope(first.ID, local.Scope{}); err != nil {
			break // it was the oldest
		}
	}
	if _, ok := d.Token(first.ID); ok {
		t.Error("the oldest token is kept")
	}
	if _, ok := d.Token(last.ID); !ok {
		t.Error("the newest token is not kept")
	}
}

func TestStaticToken(t *testing.T) {
	d := newDirectory()
	if _, err := d.Caller(""); err == nil {
		t.Error("without a static token the empty one is taken")
	}
	d.Static = "admin"
	if c, err := d.Caller("admin"); err != nil || c.UserID != "u1" || !slices.Contains(c.Roles, "admin") {
		t.Errorf("Caller = %+v, %v, want the administrator", c, err)
	}
}
