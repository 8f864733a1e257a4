package placementapi_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
)

// recorded returns the lines of a file in testdata but for its comments.
func recorded(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	return slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") })
}

// upstreams are the rules without Berth's own.
func upstreams() []policy.Rule {
	return slices.DeleteFunc(placementapi.PolicyDefaults(), func(r policy.Rule) bool {
		return strings.HasPrefix(r.Name, "berth:")
	})
}

func TestPolicyDefaultsAreUpstreams(t *testing.T) {
	var got []string
	for _, r := range upstreams() {
		got = append(got, describe(r))
		if r.Description == "" {
			t.Errorf("rule %s has no description", r.Name)
		}
	}
	want := recorded(t, "policy_rules.txt")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PolicyDefaults() (-upstream +ours):\n%s", diff)
	}
}

func describe(r policy.Rule) string {
	var scopes, ops, old []string
	for _, s := range r.Scopes {
		scopes = append(scopes, string(s))
	}
	for _, o := range r.Operations {
		ops = append(ops, o.Method+" "+o.Path)
	}
	if d := r.Deprecated; d != nil {
		old = []string{d.Name, d.Check, d.Since}
	}
	return strings.Join([]string{r.Name, r.Check, list(scopes, ","), list(ops, ", "), list(old, ", ")}, " | ")
}

func list(words []string, sep string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, sep)
}

// callers are the personas of policy_decisions.txt without their targets.
func callers() map[string]identity.Caller {
	found := map[string]identity.Caller{}
	for _, role := range []string{"admin", "service", "member", "reader", "none"} {
		c := identity.Caller{UserID: "u", AdminProject: true}
		if role != "none" {
			c.Roles = []string{role}
		}
		inProject, inSystem, inDomain := c, c, c
		inProject.ProjectID, inSystem.SystemScope, inDomain.DomainID = "own", "all", "dom"
		found[role+"@project"], found[role+"@system"], found[role+"@domain"] = inProject, inSystem, inDomain
	}
	return found
}

func TestPolicyDecisionsAreUpstreams(t *testing.T) {
	lines := recorded(t, "policy_decisions.txt")
	if want := 4 * len(upstreams()); len(lines) != want {
		t.Errorf("%d lines are recorded, want %d", len(lines), want)
	}
	enforcers := map[string]*policy.Enforcer{}
	for _, scope := range []string{"on", "off"} {
		for _, defaults := range []string{"on", "off"} {
			e, err := policy.New(policy.Options{
				Defaults:           placementapi.PolicyDefaults(),
				EnforceScope:       scope == "on",
				EnforceNewDefaults: defaults == "on",
			})
			if err != nil {
				t.Fatalf("New: %v", err)
			}
			if w := e.Warnings(); w != nil {
				t.Errorf("Warnings() = %q, want none", w)
			}
			enforcers["scope="+scope+" new="+defaults] = e
		}
	}
	for _, line := range lines {
		key, who, _ := strings.Cut(line, ": ")
		rule, settings, _ := strings.Cut(key, " ")
		want := strings.Fields(strings.TrimPrefix(who, "-"))
		slices.Sort(want)
		if diff := cmp.Diff(want, allowed(t, enforcers[settings], rule)); diff != "" {
			t.Errorf("%s (-upstream +ours):\n%s", key, diff)
		}
	}
}

// allowed lists the personas that pass a rule, sorted.
func allowed(t *testing.T, e *policy.Enforcer, rule string) []string {
	t.Helper()
	found := []string{}
	people := callers()
	for _, name := range slices.Sorted(maps.Keys(people)) {
		for _, target := range []string{"default", "other", "own"} {
			var about map[string]string
			if target != "default" {
				about = map[string]string{"project_id": target}
			}
			err := e.Allow(people[name], rule, about)
			if err == nil {
				found = append(found, fmt.Sprintf("%s/%s", name, target))
			} else if kind, _ := fault.Of(err); kind != fault.Denied {
				t.Errorf("Allow(%s, %s): %v", name, rule, err)
			}
		}
	}
	slices.Sort(found)
	return found
}

// Hosts send no requests to placement, and their role lets them do nothing there.
func TestTheRoleOfHostsMayDoNothing(t *testing.T) {
	for _, newDefaults := range []bool{true, false} {
		rules, err := policy.New(policy.Options{Defaults: placementapi.PolicyDefaults(), EnforceNewDefaults: newDefaults})
		if err != nil {
			t.Fatal(err)
		}
		host := identity.Caller{UserID: "agent on cn1", Roles: []string{identity.AgentRole}, Hosts: []string{"cn1"}}
		for _, r := range placementapi.PolicyDefaults() {
			if err := rules.Allow(host, r.Name, map[string]string{"project_id": "p"}); err == nil && len(r.Operations) > 0 {
				t.Errorf("new defaults %v: a host may do what %s guards", newDefaults, r.Name)
			}
		}
	}
}

// The body of a caller whom policy refuses is not read, on any route.
func TestBodiesAreNotReadBeforeThePolicy(t *testing.T) {
	rules, err := policy.New(policy.Options{Defaults: placementapi.PolicyDefaults(), EnforceNewDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	api := &placementapi.API{Policy: rules}
	routes, segment, checked := api.Routes(), regexp.MustCompile(`\{\w+\}`), 0
	h := httpapi.New(httpapi.Config{
		Service: "placement", History: microversion.Placement, Routes: routes,
		Authenticate: func(*http.Request) (identity.Caller, error) {
			return identity.Caller{UserID: "u", ProjectID: "p"}, nil
		},
	})
	for _, r := range routes {
		if r.Method != http.MethodPost && r.Method != http.MethodPut {
			continue
		}
		checked++
		minor := 39
		if r.Until != 0 {
			minor = r.Until
		}
		req := httptest.NewRequest(r.Method, segment.ReplaceAllString(r.Pattern, "x"),
			iotest.ErrReader(errors.New("the body is read")))
		req.ContentLength = 14 << 20
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("OpenStack-API-Version", fmt.Sprintf("placement 1.%d", minor))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != http.StatusForbidden {
			t.Errorf("%s %s is answered %d %s, want 403", r.Method, r.Pattern, w.Code, w.Body)
		}
	}
	if checked < 10 {
		t.Errorf("%d routes were checked", checked)
	}
}
