package operators

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// answers are what the services of a release answer, by path: made from the documents of the
// release, as docs/operations/operators-tools.md has them. Servers have the fields of the newest
// microversion.
type answers struct {
	Release, Version                   string
	Placement, Compute, Network, Image map[string]any

	instead *atomic.Pointer[answers] // what placement answers from when it was changed; nil for never
}

// since are the fields of servers that came with a microversion.
var since = map[string]int{"pinned_availability_zone": 96, "scheduler_hints": 100}

// imageProperties is the microversion with which servers have properties of their images.
const imageProperties = 98

// serve starts the services of a release, and returns the variables of a login.
func (a answers) serve(t *testing.T) []string {
	t.Helper()
	newest, err := strconv.Atoi(strings.TrimPrefix(a.Version, "2."))
	if err != nil {
		t.Fatal(err)
	}
	var s *httptest.Server
	answer := func(w http.ResponseWriter, paths map[string]any, path string) {
		body, ok := paths[path]
		if !ok {
			http.Error(w, `{"errors": [{"detail": "no such thing"}]}`, http.StatusNotFound)
			return
		}
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/auth/tokens", func(w http.ResponseWriter, _ *http.Request) {
		var catalog []string
		for kind, path := range map[string]string{
			"placement": "/placement", "compute": "/compute/v2.1", "network": "/network", "image": "/image", "identity": "/v3",
		} {
			catalog = append(catalog, fmt.Sprintf(
				`{"type": %q, "endpoints": [{"interface": "public", "region": "one", "region_id": "one", "url": %q}]}`, kind,
				s.URL+path))
		}
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "project": {"id": "p"}, `+
			`"roles": [{"name": "admin"}], "catalog": [%s]}}`, strings.Join(catalog, ","))
	})
	mux.HandleFunc("GET /v3/role_assignments", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"role_assignments": [{"role": {"name": "_member_"}, "user": {"id": %q, "name": "operator"}, `+
			`"scope": {"project": {"id": "9c1d0a00000000000000000000000001"}}}]}`, r.URL.Query().Get("user.id"))
	})
	mux.HandleFunc("/placement/", func(w http.ResponseWriter, r *http.Request) {
		current := &a
		if a.instead != nil && a.instead.Load() != nil {
			current = a.instead.Load()
		}
		answer(w, current.Placement, strings.TrimPrefix(r.URL.Path, "/placement"))
	})
	mux.HandleFunc("/network/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, a.Network, strings.TrimPrefix(r.URL.Path, "/network"))
	})
	mux.HandleFunc("/image/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, a.Image, strings.TrimPrefix(r.URL.Path, "/image"))
	})
	mux.HandleFunc("/compute/v2.1/", func(w http.ResponseWriter, r *http.Request) {
		text := strings.TrimPrefix(r.Header.Get("OpenStack-API-Version"), "compute 2.")
		minor, err := strconv.Atoi(text)
		path := strings.TrimPrefix(r.URL.Path, "/compute/v2.1")
		switch {
		case text != "" && err != nil || minor > newest:
			http.Error(w, `{"computeFault": {"message": "not supported"}}`, http.StatusNotAcceptable)
		case path == "/servers/detail":
			fmt.Fprint(w, a.servers(t, minor))
		default:
			answer(w, a.Compute, path)
		}
	})
	s = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return []string{
		"OS_AUTH_URL=" + s.URL + "/v3", "OS_USERNAME=admin", "OS_PASSWORD=secret", "OS_PROJECT_NAME=admin",
		"OS_USER_DOMAIN_ID=default",
		"OS_PROJECT_DOMAIN_ID=default", "OS_REGION_NAME=one", "OS_IDENTITY_API_VERSION=3",
	}
}

// without returns the answers of a cloud in which some hosts do not have a trait.
func (a answers) without(trait string, hosts ...string) answers {
	other := a
	other.Placement = maps.Clone(a.Placement)
	list, _ := a.Placement["/resource_providers"].(map[string]any)
	providers, _ := list["resource_providers"].([]any)
	for _, item := range providers {
		p, _ := item.(map[string]any)
		name, _ := p["name"].(string)
		path := fmt.Sprintf("/resource_providers/%s/traits", p["uuid"])
		before, _ := a.Placement[path].(map[string]any)
		if !slices.Contains(hosts, name) || before == nil {
			continue
		}
		after := maps.Clone(before)
		traits, _ := before["traits"].([]any)
		after["traits"] = slices.DeleteFunc(slices.Clone(traits), func(t any) bool { return t == trait })
		other.Placement[path] = after
	}
	return other
}

// servers is the list of servers as a microversion has it.
func (a answers) servers(t *testing.T, minor int) string {
	t.Helper()
	text, err := json.Marshal(a.Compute["/servers/detail"])
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Servers []map[string]any `json:"servers"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, server := range list.Servers {
		for field, first := range since {
			if minor < first {
				delete(server, field)
			}
		}
		if image, ok := server["image"].(map[string]any); ok && minor < imageProperties {
			delete(image, "properties")
		}
	}
	if text, err = json.Marshal(list); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every command works with the services of every release, and sends the query that Nova of the
// release sends.
func TestReleases(t *testing.T) {
	// required are the traits that a server with a TPM, which chooses the size of its addresses, has
	// in its query, beyond those of the oldest release.
	required := []struct{ release, trait string }{
		{"2024.1", "COMPUTE_ADDRESS_SPACE_EMULATED"},
		{"2024.2", "COMPUTE_SECURITY_TPM_CRB"},
		{"2026.1", "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER"},
	}
	files, err := filepath.Glob("../../../../ops/cloudapi/testdata/releases/*.json")
	if err != nil || len(files) != 8 {
		t.Fatalf("%d releases, %v", len(files), err)
	}
	conf := confFile(t, "[filter_scheduler]\npci_in_placement = true\n[pci]\n"+
		"alias = {\"name\": \"nic\", \"vendor_id\": \"8086\", \"product_id\": \"10ca\"}\n")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var a answers
			if err := json.Unmarshal(text, &a); err != nil {
				t.Fatal(err)
			}
			environ := a.serve(t)
			run := func(command func(cli.Env) *cobra.Command, args ...string) (int, string, string) {
				return runWith(t, environ, command, args...)
			}
			for name, try := range map[string]func() (int, string, string){
				"explain --server": func() (int, string, string) {
					return run(NewExplain, "--server", "web", "--nova-config", conf, "-f", "json")
				},
				"explain --flavor": func() (int, string, string) {
					return run(NewExplain, "--flavor", "m1", "--nova-config", conf)
				},
				"capacity headroom": func() (int, string, string) {
					return run(newCapacityHeadroom, "--flavor", "m1", "--nova-config", conf)
				},
				"capacity drain": func() (int, string, string) { return run(newCapacityDrain, "cn1", "--nova-config", conf) },
				"audit":          func() (int, string, string) { return run(NewAudit, "--nova-config", conf, "--complete") },
				"heal":           func() (int, string, string) { return run(NewHeal, "--nova-config", conf) },
				"records tree":   func() (int, string, string) { return run(NewRecords, "tree", "cn1") },
				"records top":    func() (int, string, string) { return run(NewRecords, "top", "--class", "VCPU") },
				"records export --all": func() (int, string, string) {
					return run(NewRecords, "export", "--all", filepath.Join(t.TempDir(), "cloud.json"))
				},
			} {
				if code, out, notes := try(); code != cli.ExitOK {
					t.Errorf("%s: exit code %d\n%s%s", name, code, out, notes)
				}
			}
			a.checkRecords(t)
			a.checkWatch(t)
			for _, r := range required {
				_, out, notes := runWith(t, a.without(r.trait, "cn1", "cn2").serve(t), NewExplain, "--server", "web",
					"--nova-config", conf)
				if got, want := strings.Contains(out, r.trait), a.Release >= r.release; got != want {
					t.Errorf("explain requires %s: %v, want %v\n%s%s", r.trait, got, want, out, notes)
				}
			}
			_, out, notes := runWith(t, a.without("OWNER_NOVA", "cn2").serve(t), NewAudit)
			if got, want := strings.Contains(out, "owner-trait-missing"), a.Release >= "2026.2"; got != want {
				t.Errorf("audit finds a host without OWNER_NOVA: %v, want %v\n%s%s", got, want, out, notes)
			}
			_, out, _ = run(NewExplain, "--server", "web", "--nova-config", conf, "-f", "json")
			if !strings.Contains(out, "CUSTOM_PCI_8086_10CA") {
				t.Errorf("explain does not request the device:\n%s", out)
			}
			_, out, _ = run(NewDoctor)
			if i := slices.IndexFunc(strings.Split(out, "\n"), func(line string) bool {
				return strings.Contains(line, "compute: 2.1 to "+a.Version) && strings.Contains(line, a.Release)
			}); i < 0 {
				t.Errorf("doctor does not say that compute is of %s:\n%s", a.Release, out)
			}
		})
	}
}

// runWith runs a command with an environment, and returns its exit code and what it printed.
func runWith(
	t *testing.T, environ []string, command func(cli.Env) *cobra.Command, args ...string,
) (code int, out, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(cli.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Environ: environ})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&stderr)
	cmd.SetErr(&stderr)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		code = cli.ExitFailure
		if given, ok := cli.CodeOf(err); ok {
			code = given
		}
		stderr.WriteString(err.Error() + "\n")
	}
	return code, stdout.String(), stderr.String()
}
