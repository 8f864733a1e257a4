package identity_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
)

// A report is the command's output for programs.
type report struct {
	OK    bool
	Steps []struct{ Step, Result, Detail string }
	Token *struct {
		User, Scope, Project string
		Roles                []string
	}
	Rules []struct {
		Rule    string
		Allowed bool
	}
}

// checkAuth runs the command with a token in its environment.
func checkAuth(t *testing.T, conf, token string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(server.Berth(t), append([]string{"placement", "check-auth", "--config", conf}, args...)...)
	cmd.Env = append(os.Environ(), "OS_TOKEN="+token)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func testCheckAuth(t *testing.T, k *keystonetest.Keystone) {
	good := writeConfig(t, settings(k, nil))
	wrong := writeConfig(t, settings(k, section{"password": "not-the-password"}))
	reader := k.Token(keystonetest.Find("project-reader"))
	mayNot := keystonetest.Find("project-member")
	powerless := writeConfig(t,
		settings(k, section{"username": mayNot.Name, "password": mayNot.Password, "project_name": mayNot.Project}))
	for _, tc := range []struct {
		name, conf, token string
		code              int
		last, result      string // of the last step
	}{
		{"Service", good, "", 0, "right", "ok"},
		{"Token", good, reader, 0, "token", "ok"},
		{"Garbage", good, "garbage", 6, "token", "failed"},
		{"WrongPassword", wrong, reader, 6, "login", "failed"},
		{"MayNotCheck", powerless, reader, 6, "token", "failed"},
		{"MayNotCheckAndNobodyToCheck", powerless, "", 0, "right", "warning"},
		{
			"NotKeystone", writeConfig(t, settings(k, section{"auth_url": k.URL() + "/nothing"})), reader, 6, "keystone",
			"failed",
		},
		{"NoSuchRegion", writeConfig(t, settings(k, section{"region_name": "nowhere"})), reader, 6, "endpoint", "failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, errs, code := checkAuth(t, tc.conf, tc.token, "-f", "json")
			var got report
			if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Steps) == 0 {
				t.Fatalf("%v in %s%s", err, out, errs)
			}
			last := got.Steps[len(got.Steps)-1]
			if code != tc.code || got.OK != (tc.code == 0) || last.Step != tc.last || last.Result != tc.result {
				t.Errorf("exit code %d, ok %v, last step %+v; want %d and %s %s\n%s", code, got.OK, last, tc.code, tc.last,
					tc.result, errs)
			}
			text, textErrs, _ := checkAuth(t, tc.conf, tc.token)
			for _, secret := range []string{"password-of-placement", "not-the-password", reader} {
				if strings.Contains(out+errs+text+textErrs, secret) {
					t.Errorf("a secret is printed: %s%s%s%s", out, errs, text, textErrs)
				}
			}
			if !strings.HasPrefix(text, "STEP") || !strings.Contains(text, tc.last) {
				t.Errorf("the table is\n%s", text)
			}
		})
	}
	t.Run("Rules", func(t *testing.T) { testCheckedRules(t, good, reader) })
	t.Run("WrongSettings", func(t *testing.T) {
		_, errs, code := checkAuth(t, writeConfig(t, settings(k, section{"auth_type": "v3token"})), "")
		if code != 2 || !strings.Contains(errs, "v3applicationcredential") {
			t.Errorf("exit code %d, %s; want 2 and what there is", code, errs)
		}
	})
}

// testCheckedRules requires the command to predict the service's decisions.
func testCheckedRules(t *testing.T, conf, reader string) {
	out, _, _ := checkAuth(t, conf, reader, "-f", "json")
	var got report
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Token == nil || got.Token.User != "project-reader" || got.Token.Scope != "project" ||
		got.Token.Project != keystonetest.Demo || strings.Join(got.Token.Roles, ",") != "reader" {
		t.Errorf("token = %+v", got.Token)
	}
	who := keystonetest.Find("project-reader")
	// Upstream has nothing to compare these rules with: httpapi/placementapi tests them.
	known := map[string]bool{"berth:placement:events": true, "berth:placement:explain:own": true}
	for _, op := range operations("") {
		known["placement:"+op.rule] = true
	}
	for _, r := range got.Rules {
		if !known[r.Rule] {
			t.Errorf("no test has a request for %s", r.Rule)
		}
		delete(known, r.Rule)
		if want := mayDo(who, strings.TrimPrefix(r.Rule, "placement:")); r.Allowed != want {
			t.Errorf("%s allowed = %v, want %v", r.Rule, r.Allowed, want)
		}
	}
	if len(known) > 0 {
		t.Errorf("rules that the command does not know: %v", known)
	}
}
