package daemon

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/config/configtest"
	"github.com/berthcloud/berth/identity/keystone"
)

// TestKeystoneOptions follows the settings to where they have an effect.
func TestKeystoneOptions(t *testing.T) {
	cfg := configtest.ReadPlacement(t, `[keystone_authtoken]
auth_section = other
interface = public
region_name = one
cafile = ca.pem
certfile = cert.pem
keyfile = key.pem
insecure = true
timeout = 7
http_request_max_retries = 2
token_cache_time = 60
service_token_roles = service, nova
service_token_roles_required = true
service_type = placement
delay_auth_decision = true
[other]
auth_type = v3password
auth_url = http://keystone.test
username = u
user_id = ui
user_domain_id = udi
user_domain_name = udn
password = p
application_credential_id = aci
application_credential_name = acn
application_credential_secret = acs
project_id = pi
project_name = pn
project_domain_id = pdi
project_domain_name = pdn
domain_id = di
domain_name = dn
system_scope = all
trust_id = ti
default_domain_id = ddi
default_domain_name = ddn
`)
	want := keystone.Options{
		Credentials: keystone.Credentials{
			Type: "v3password",
			Auth: keystone.Auth{
				AuthURL: "http://keystone.test", Username: "u", UserID: "ui", UserDomainID: "udi", UserDomainName: "udn",
				Password: "p", ApplicationCredentialID: "aci", ApplicationCredentialName: "acn", ApplicationCredentialSecret: "acs",
				ProjectID: "pi", ProjectName: "pn", ProjectDomainID: "pdi", ProjectDomainName: "pdn",
				DomainID: "di", DomainName: "dn", SystemScope: "all", TrustID: "ti", DefaultDomainID: "ddi",
				DefaultDomainName: "ddn",
			},
		},
		Interface: "public", Region: "one", CAFile: "ca.pem", CertFile: "cert.pem", KeyFile: "key.pem", Insecure: true,
		Timeout: 7 * time.Second, Retries: 2, CacheTime: time.Minute,
		ServiceRoles: []string{"service", "nova"}, ServiceRolesRequired: true, ServiceType: "placement", DelayDecision: true,
	}
	if diff := cmp.Diff(want, keystoneOptions(&cfg.Keystone)); diff != "" {
		t.Errorf("keystoneOptions (-want +got):\n%s", diff)
	}
	cfg.Keystone.HTTPConnectTimeout = new(3)
	if got := keystoneOptions(&cfg.Keystone).Timeout; got != 3*time.Second {
		t.Errorf("with http_connect_timeout the time-out is %v, want 3s", got)
	}
}

func TestUserToken(t *testing.T) {
	for name, tc := range map[string]struct {
		header http.Header
		want   string
	}{
		"none":        {http.Header{}, ""},
		"usual":       {http.Header{"X-Auth-Token": {"a"}, "X-Storage-Token": {"b"}}, "a"},
		"older":       {http.Header{"X-Storage-Token": {"b"}}, "b"},
		"empty usual": {http.Header{"X-Auth-Token": {""}, "X-Storage-Token": {"b"}}, ""},
		"twice":       {http.Header{"X-Auth-Token": {"a", "b"}}, "a,b"},
	} {
		if got := userToken(tc.header); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
