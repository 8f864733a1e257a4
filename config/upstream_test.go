package config_test

import (
	"slices"
	"testing"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/config/configtest"
	"github.com/berthcloud/berth/osloconfig"
)

// placementApart lists the options that differ from Debian's upstream, with the
// reason.
var placementApart = map[string]string{
	"DEFAULT.config_file":              "belongs to the command line",
	"DEFAULT.config_dir":               "belongs to the command line",
	"DEFAULT.config_source":            "belongs to the command line",
	"DEFAULT.shell_completion":         "belongs to the command line",
	"DEFAULT.pybasedir":                "upstream computes it from where it is installed",
	"DEFAULT.state_path":               "upstream's default is $pybasedir; here it follows pybasedir",
	"DEFAULT.default_log_levels":       "upstream's service adds routes=INFO when it starts",
	"oslo_policy.policy_file":          "policy.json until oslo.policy changed to policy.yaml",
	"oslo_policy.enforce_scope":        "false until oslo.policy 4.4",
	"oslo_policy.enforce_new_defaults": "false until oslo.policy 4.4",
	"keystone_authtoken.auth_uri":      "an older name of www_authenticate_uri here",
	"keystone_authtoken.tenant_id":     "an older name of project_id here",
	"keystone_authtoken.tenant_name":   "an older name of project_name here",
}

// neutronApart does the same for Neutron.
var neutronApart = map[string]string{
	"DEFAULT.host":                      "upstream's is the name of the machine",
	"DEFAULT.bind_host":                 "upstream's is all addresses; here it is loopback, as for every service",
	"DEFAULT.control_exchange":          "Neutron sets it when it starts",
	"DEFAULT.default_log_levels":        "Neutron adds those of its own libraries when it starts",
	"DEFAULT.allowed_conntrack_helpers": "a list of dictionaries, which are written otherwise",
	"keystone_authtoken.auth_uri":       "an older name of www_authenticate_uri here",
	"keystone_authtoken.tenant_id":      "an older name of project_id here",
	"keystone_authtoken.tenant_name":    "an older name of project_name here",
	"placement.tenant_id":               "an older name of project_id here",
	"placement.tenant_name":             "an older name of project_name here",
	"nova.tenant_id":                    "an older name of project_id here",
	"nova.tenant_name":                  "an older name of project_name here",
}

// novaApart does the same for Nova.
var novaApart = map[string]string{
	"DEFAULT.host":                   "upstream's is the name of the machine",
	"DEFAULT.osapi_compute_listen":   "upstream's is all addresses; here it is loopback, as for every service",
	"DEFAULT.my_ip":                  "upstream's is the address of the machine",
	"DEFAULT.console_host":           "upstream's is the name of the machine",
	"DEFAULT.pybasedir":              "upstream computes it from where it is installed",
	"DEFAULT.state_path":             "upstream's default is $pybasedir; here it follows pybasedir",
	"DEFAULT.default_log_levels":     "Nova adds those of its own libraries when it starts",
	"keystone_authtoken.auth_uri":    "an older name of www_authenticate_uri here",
	"keystone_authtoken.tenant_id":   "an older name of project_id here",
	"keystone_authtoken.tenant_name": "an older name of project_name here",
	"placement.tenant_id":            "an older name of project_id here",
	"placement.tenant_name":          "an older name of project_name here",
	"neutron.tenant_id":              "an older name of project_id here",
	"neutron.tenant_name":            "an older name of project_name here",
}

// TestUpstreamOptions compares the table with the installed placement service: each
// of its options is known, with its default and its older names.
func TestUpstreamOptions(t *testing.T) {
	s := config.DefaultPlacement()
	compareOptions(t, s.Settings(), s.Ignores(), configtest.Placement(t), placementApart)
}

// TestNeutronOptions does the same with the installed Neutron server.
func TestNeutronOptions(t *testing.T) {
	s := config.DefaultNetwork()
	compareOptions(t, s.Settings(), s.Ignores(), configtest.Neutron(t), neutronApart)
}

// TestNovaOptions does the same with the installed Nova.
func TestNovaOptions(t *testing.T) {
	s := config.DefaultCompute()
	compareOptions(t, s.Settings(), s.Ignores(), configtest.Nova(t), novaApart)
}

func compareOptions(
	t *testing.T, settings []config.Setting, ignored osloconfig.Names, theirs []configtest.Option, apart map[string]string,
) {
	t.Helper()
	ours, names := configtest.Table(t, settings), configtest.Ignored(ignored)
	for _, u := range theirs {
		name := u.Key()
		if apart[name] != "" {
			continue
		}
		if names(name) {
			for _, older := range u.Older {
				if !slices.Contains(ignored.Groups, u.Group) && !names(older) {
					t.Errorf("upstream reads %s by the name %s, which is unknown here", name, older)
				}
			}
			continue
		}
		s, ok := ours[name]
		if !ok {
			t.Errorf("upstream has %s, the table does not", name)
			continue
		}
		if got := s.Display(); got != u.Default && !hidden(s, u) {
			t.Errorf("default of %s = %q, upstream's is %q", name, got, u.Default)
		}
		configtest.Older(t, name, s, u.Older)
	}
}

// hidden reports whether a secret has a default, as Neutron's transport_url has: the default is not
// shown.
func hidden(s config.Setting, u configtest.Option) bool { return s.Secret() && u.Default != "" }
