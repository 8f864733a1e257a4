package cloudconfig

import (
	"slices"
	"strings"
)

// authOptions are the settings of the section auth of all authentication types, as far as they are
// options of the client's command line. Each is read from the variable OS_ and its name in upper
// case.
var authOptions = []string{
	"access_key", "access_secret", "access_token", "access_token_endpoint", "access_token_type",
	"application_credential_id",
	"application_credential_name", "application_credential_secret", "auth_methods", "auth_url", "client_id",
	"client_secret", "code", "consumer_key",
	"consumer_secret", "default_domain_id", "default_domain_name", "discovery_endpoint", "domain_id", "domain_name",
	"endpoint", "identity_provider",
	"identity_provider_url", "openid_scope", "passcode", "password", "project_domain_id", "project_domain_name",
	"project_id", "project_name",
	"protocol", "redirect_uri", "service_provider_endpoint", "service_provider_entity_id", "system_scope", "token",
	"trust_id", "user_domain_id",
	"user_domain_name", "user_id", "username",
}

// otherOptions are those that are not of the section auth.
var otherOptions = []string{
	"auth_type", "region_name", "interface", "cacert", "cert", "key", "identity_api_version", "service_provider",
	"remote_project_name",
	"remote_project_id", "remote_project_domain_name", "remote_project_domain_id",
}

// environment returns the variables of an environment; the last of a name counts.
func environment(environ []string) map[string]string {
	vars := map[string]string{}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// arguments returns the options of the client's command line, whose defaults are variables.
func (r *reader) arguments() map[string]string {
	args := map[string]string{"default_domain": "default"}
	set := func(key, value string) {
		if value != "" {
			args[key] = value
		}
	}
	for _, key := range slices.Concat(authOptions, otherOptions, []string{"default_domain"}) {
		set(key, r.vars["OS_"+strings.ToUpper(key)])
	}
	for _, key := range []string{"name", "id"} { // of a project, formerly a tenant
		if args["project_"+key] == "" {
			set("project_"+key, r.vars["OS_TENANT_"+strings.ToUpper(key)])
		}
		set("tenant_"+key, args["project_"+key])
	}
	set("region_name", r.options.Region)
	set("interface", r.options.Interface)
	set("cloud", r.name)
	return args
}

// ofEnvironment returns the cloud that openstacksdk makes of all variables, nil for none.
func (r *reader) ofEnvironment() section {
	s := section{"auth_type": Password, "interface": "public", "verify": true}
	found := false
	for name, value := range r.vars {
		if !strings.HasPrefix(name, "OS_") || ofTests(name) {
			continue
		}
		s[strings.ToLower(strings.TrimPrefix(name, "OS_"))] = value
		found = found || !slices.Contains(selectors, name)
	}
	if !found {
		return nil
	}
	return s
}

// selectors are the variables that select a cloud and are no part of one.
var selectors = []string{
	"OS_CLOUD", "OS_CLOUD_NAME", "OS_REGION_NAME", "OS_CLIENT_CONFIG_FILE", "OS_CLIENT_SECURE_FILE",
}

// ofTests reports whether a variable is of the tests of OpenStack, which openstacksdk leaves out.
func ofTests(name string) bool {
	return strings.HasPrefix(name, "OS_TEST") || strings.HasPrefix(name, "OS_STD") || strings.HasPrefix(name, "OS_LOG")
}
