package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/config"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "placement.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNothingGivenIsDefault(t *testing.T) {
	p, warnings, err := config.LoadPlacement(nil, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("LoadPlacement = %v, warnings %q", err, warnings)
	}
	if diff := cmp.Diff(config.DefaultPlacement(), p); diff != "" {
		t.Errorf("LoadPlacement without files (-default +got):\n%s", diff)
	}
}

// realFile is the file of a Debian package with Keystone and MariaDB.
const realFile = `[DEFAULT]
debug = True
log_file = /var/log/placement/placement-api.log
pybasedir = /opt/placement
use_syslog = false
[api]
auth_strategy = keystone
[cors]
allowed_origin = https://a.example,https://b.example
[keystone_authtoken]
www_authenticate_uri = http://controller:5000
memcached_servers = controller:11211
auth_type = password
auth_url = http://controller:5000/v3
username = placement
password = pa$$s "x"
user_domain_name = Default
project_domain_name = Default
project_name = service
[oslo_policy]
policy_dirs = /etc/placement/policy.d
policy_dirs = /etc/placement/more.d
[placement]
randomize_allocation_candidates = yes
max_allocation_candidates = 1000
allocation_candidates_generation_strategy = breadth-first
[placement_database]
connection = mysql+pymysql://placement:s%40crt@controller/placement?charset=utf8
max_pool_size = 7
[workarounds]
optimize_for_wide_provider_trees = true
[profiler]
hmac_keys = SECRET_KEY
[berth]
listen = [::]:8778
shutdown_timeout = 2.5
`

func TestRealFile(t *testing.T) {
	path := write(t, realFile)
	got, warnings, err := config.LoadPlacement([]string{path}, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("LoadPlacement = %v, warnings %q", err, warnings)
	}
	want := config.DefaultPlacement()
	want.Files = []string{path}
	want.Default.Debug = true
	want.Default.LogFile = "/var/log/placement/placement-api.log"
	want.Paths.PyBaseDir = "/opt/placement"
	want.Paths.StatePath = "/opt/placement"
	want.CORS.AllowedOrigin = []string{"https://a.example", "https://b.example"}
	want.Keystone.WWWAuthenticateURI = "http://controller:5000"
	want.Keystone.AuthType = "password"
	want.Keystone.Auth = config.Auth{
		AuthURL: "http://controller:5000/v3", Username: "placement", Password: `pa$s "x"`,
		UserDomainName: "Default", ProjectDomainName: "Default", ProjectName: "service",
	}
	want.Policy.Dirs = []string{"/etc/placement/policy.d", "/etc/placement/more.d"}
	want.Placement.RandomizeAllocationCandidates = true
	want.Placement.MaxAllocationCandidates = 1000
	want.Placement.AllocationCandidatesGenerationStrategy = config.BreadthFirst
	want.Database.Connection = "mysql+pymysql://placement:s%40crt@controller/placement?charset=utf8"
	want.Database.MaxPoolSize = new(7)
	want.Berth.Listen = "[::]:8778"
	want.Berth.ShutdownTimeout = 2500 * time.Millisecond
	want.Ignored = []string{
		"[DEFAULT] use_syslog", "[workarounds] optimize_for_wide_provider_trees", "[keystone_authtoken] memcached_servers",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LoadPlacement (-want +got):\n%s", diff)
	}
	if shown := fmt.Sprintf("%v %+v %#v", *got, *got, *got); strings.Contains(shown, "pa$s") ||
		strings.Contains(shown, "s%40crt") {
		t.Errorf("a secret shows when the settings are printed: %s", shown)
	}
}

func TestWrongValuesAreReportedAtOnce(t *testing.T) {
	path := write(t, `[DEFAULT]
oops
debug = maybe
auth_strategy = none
[placement_database]
connection = mysql://placement:hunter2@controller:hunter2/placement
[placement]
allocation_candidates_generation_strategy = Depth-First
max_alocation_candidates = 3
[berth]
listen = 8778
metrics_listen = localhost
max_body_size = 0
`)
	p, warnings, err := config.LoadPlacement([]string{path}, nil)
	if p != nil || err == nil {
		t.Fatalf("LoadPlacement = %v, %v, want an error and nothing else", p, err)
	}
	want := []string{
		`:2: neither a heading nor a comment, and no = or : in it`,
		`:3: [DEFAULT] debug = "maybe": want a boolean: true, yes, on, 1 or false, no, off, 0`,
		`:4: [api] auth_strategy = "none": want one of keystone, noauth2`,
		`:6: [placement_database] connection = ***: the port must be a number from 1 to 65535; a / or : ` +
			`in a password is written %2F or %3A`,
		`:8: [placement] allocation_candidates_generation_strategy = "Depth-First": want one of depth-first, breadth-first`,
		`:11: [berth] listen = "8778": want host:port, with [ ] around an IPv6 address, or unix:/path`,
		`:12: [berth] metrics_listen = "localhost": want host:port, with [ ] around an IPv6 address, or unix:/path`,
		`:13: [berth] max_body_size = "0": want an integer from 1 to 1073741824`,
	}
	if diff := cmp.Diff(want, strings.Split(strings.ReplaceAll(err.Error(), path, ""), "\n")); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	wantWarnings := []string{
		path + ":4: [DEFAULT] auth_strategy is an older name of [api] auth_strategy",
		path + ":9: there is no option [placement] max_alocation_candidates; did you mean max_allocation_candidates?",
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestAuthSectionMovesCredentials(t *testing.T) {
	path := write(t, `[keystone_authtoken]
auth_section = Service_Auth
region_name = one
[service_auth]
auth_url = http://k
application_credential_id = id
application_credential_secret = hunter2
`)
	p, warnings, err := config.LoadPlacement([]string{path}, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("LoadPlacement = %v, warnings %q", err, warnings)
	}
	want := config.Auth{AuthURL: "http://k", ApplicationCredentialID: "id", ApplicationCredentialSecret: "hunter2"}
	if p.Keystone.Auth != want || p.Keystone.RegionName != "one" {
		t.Errorf("credentials = %+v in %q, want those of [service_auth]", p.Keystone.Auth, p.Keystone.RegionName)
	}
}

func TestEnvironmentWins(t *testing.T) {
	t.Setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:////env.db")
	t.Setenv("OS_API__AUTH_STRATEGY", "noauth2")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "10.conf"), []byte("[api]\nauth_strategy = keystone\n[DEFAULT]\ndebug=on\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	p, _, err := config.LoadPlacement([]string{write(t, "[placement_database]\nconnection = sqlite:////file.db\n")},
		[]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if p.Database.Connection != "sqlite:////env.db" || p.API.AuthStrategy != config.StrategyNoAuth2 || !p.Default.Debug {
		t.Errorf("connection %q, strategy %q, debug %t; want the environment's, the environment's, the directory's",
			p.Database.Connection.Reveal(), p.API.AuthStrategy, p.Default.Debug)
	}
}

func TestStatePathFollowsPyBaseDir(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "sqlite:////usr/lib/python3/dist-packages/p.db",
		"pybasedir = /opt":                    "sqlite:////opt/p.db",
		"pybasedir = /opt\nstate_path = /var": "sqlite:////var/p.db",
		"state_path = $pybasedir/x\npybasedir=/y": "sqlite:////y/x/p.db",
	} {
		path := write(t, "[DEFAULT]\n"+text+"\n[placement_database]\nconnection = sqlite:///$state_path/p.db\n")
		p, _, err := config.LoadPlacement([]string{path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Database.Connection.Reveal(); got != want {
			t.Errorf("with %q: connection %q, want %q", text, got, want)
		}
	}
}

func TestMissingFileIsAnError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.conf")
	if _, _, err := config.LoadPlacement([]string{missing}, nil); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("LoadPlacement of a missing file = %v, want an error that names it", err)
	}
}

// TestRemovedOptionsAreNamed loads a file with options that [berth] had: each is a warning with its
// line, whether the service has them or a similar one.
func TestRemovedOptionsAreNamed(t *testing.T) {
	removed := []string{"http2_max_streams", "read_header_timeout", "read_timeout", "write_timeout", "idle_timeout"}
	text := "[berth]\n"
	for _, name := range removed {
		text += name + " = 5\n"
	}
	p, warnings, err := config.LoadPlacement([]string{write(t, text)}, nil)
	if err != nil || len(warnings) != len(removed) {
		t.Fatalf("LoadPlacement = %v, warnings %q, want one for each option", err, warnings)
	}
	for i, name := range removed {
		if !strings.Contains(warnings[i], fmt.Sprintf(":%d: there is no option [berth] %s", i+2, name)) {
			t.Errorf("warning %q does not name %s", warnings[i], name)
		}
	}
	if diff := cmp.Diff(config.DefaultPlacement().Berth, p.Berth); diff != "" {
		t.Errorf("the settings (-default +got):\n%s", diff)
	}
}
