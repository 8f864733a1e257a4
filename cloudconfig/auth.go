package cloudconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// scopeSettings are the settings of all types with Keystone.
var scopeSettings = []string{
	"auth_url", "system_scope", "domain_id", "domain_name", "project_id", "project_name", "project_domain_id",
	"project_domain_name", "trust_id",
}

// genericSettings are those of the types that find the version of Keystone's API.
var genericSettings = slices.Concat(scopeSettings, []string{"default_domain_id", "default_domain_name"})

var userSettings = []string{"user_id", "username", "user_domain_id", "user_domain_name"}

// settingsOf are what the section auth may have, for each type.
var settingsOf = map[string][]string{
	Password:   slices.Concat(genericSettings, userSettings, []string{"password"}),
	Token:      slices.Concat(genericSettings, []string{"token"}),
	V3Password: slices.Concat(scopeSettings, userSettings, []string{"password"}),
	V3Token:    slices.Concat(scopeSettings, []string{"token"}),
	ApplicationCredential: slices.Concat(scopeSettings, userSettings,
		[]string{"application_credential_id", "application_credential_name", "application_credential_secret"}),
	None:       {"endpoint"},
	AdminToken: {"endpoint", "token"},
	HTTPBasic:  {"username", "password", "endpoint"},
}

// formerNames are older names of settings, where a type has them.
var formerNames = map[string]string{
	"username": "user_name", "project_id": "tenant_id", "project_name": "tenant_name", "endpoint": "url",
}

// formerName returns the older name of a setting, "" for none.
func formerName(kind, setting string) string {
	switch setting {
	case "project_id", "project_name":
		if kind != Password && kind != Token {
			return ""
		}
	case "endpoint":
		if kind != AdminToken {
			return ""
		}
	}
	return formerNames[setting]
}

// login reads how to log in.
func (r *reader) login(config section, c *Cloud) error {
	kind, version, err := authType(config)
	if err != nil {
		return err
	}
	settings := settingsOf[kind]
	if settings == nil {
		return fmt.Errorf("auth_type %s is not what berth can do; it has %s", kind,
			strings.Join(slices.Sorted(maps.Keys(settingsOf)), ", "))
	}
	if v := config["service_provider"]; v != nil && v != "" {
		return errors.New("service_provider: berth does not log in to a service provider by way of another Keystone")
	}
	if strings.HasPrefix(version, "2") && slices.Contains(settings, "auth_url") {
		return fmt.Errorf("identity_api_version is %s: berth has version 3 of Keystone's API only", version)
	}
	auth := maps.Clone(config["auth"].(section))
	domain, _ := textOf(config["default_domain"])
	if version == "3" && domain != "" && (kind == Password || kind == V3Password) {
		for _, key := range []string{"project_domain", "user_domain"} {
			if none(auth[key+"_id"]) && none(auth[key+"_name"]) {
				auth[key+"_id"] = domain
			}
		}
	}
	values, err := choose(kind, settings, config, auth)
	if err != nil {
		return err
	}
	c.Type = kind
	c.Auth = Auth{
		URL:    values["auth_url"],
		UserID: values["user_id"], Username: values["username"], UserDomainID: values["user_domain_id"],
		UserDomainName: values["user_domain_name"],
		Password:       values["password"], Token: values["token"],
		CredentialID: values["application_credential_id"], CredentialName: values["application_credential_name"],
		CredentialSecret: values["application_credential_secret"],
		ProjectID:        values["project_id"], ProjectName: values["project_name"],
		ProjectDomainID: values["project_domain_id"], ProjectDomainName: values["project_domain_name"],
		DomainID: values["domain_id"], DomainName: values["domain_name"], SystemScope: values["system_scope"],
		TrustID:  values["trust_id"],
		Endpoint: values["endpoint"],
	}
	for _, field := range []struct {
		into    *string
		setting string
	}{
		{&c.Auth.UserDomainID, "default_domain_id"},
		{&c.Auth.UserDomainName, "default_domain_name"},
		{&c.Auth.ProjectDomainID, "default_domain_id"},
		{&c.Auth.ProjectDomainName, "default_domain_name"},
	} {
		if kind == Password ||
			kind == Token && (field.into == &c.Auth.ProjectDomainID || field.into == &c.Auth.ProjectDomainName) {
			*field.into = cmp.Or(*field.into, values[field.setting])
		}
	}
	return c.check()
}

// none reports whether a setting has no value.
func none(v any) bool { return v == nil || v == "" }

// authType returns the authentication type, and identity_api_version.
func authType(config section) (kind, version string, err error) {
	if v := config["identity_api_version"]; v != nil {
		text, ok := textOf(v)
		if !ok {
			return "", "", fmt.Errorf("identity_api_version is %s, and no text", describe(v))
		}
		version = text
	}
	switch v := config["auth_type"].(type) {
	case nil:
	case string:
		kind = v
	default:
		return "", "", fmt.Errorf("auth_type is %s, and no text", describe(v))
	}
	switch kind {
	case "":
		if kind = Password; version == "3" && !none(config["username"]) {
			kind = V3Password
		}
	case "None":
		kind = None
	case "token_endpoint":
		kind = AdminToken
	}
	return kind, version, nil
}

// choose returns the values of a type's settings: what is next to the section auth has precedence
// over what is in it. Anything else in there is an error, as it is for the client: it may be what
// somebody meant to log in with.
func choose(kind string, settings []string, config, auth section) (map[string]string, error) {
	values := map[string]string{}
	for _, setting := range settings {
		former := formerName(kind, setting)
		for _, in := range []section{config, auth} {
			v, ok := in[setting]
			if !ok && former != "" {
				v = in[former]
			}
			if none(v) {
				continue
			}
			text, ok := textOf(v)
			if !ok {
				return nil, fmt.Errorf("%s is %s, and no text; quotes make it one", setting, describe(v))
			}
			values[setting] = text
			break
		}
		delete(auth, setting)
		delete(auth, former)
	}
	if more := slices.Sorted(maps.Keys(auth)); len(more) > 0 {
		text := fmt.Sprintf("auth_type %s does not take %s", kind, strings.Join(more, ", "))
		for _, hint := range []struct{ setting, kind string }{
			{"application_credential_id", ApplicationCredential},
			{"application_credential_name", ApplicationCredential},
			{"token", Token},
			{"password", Password},
		} {
			if slices.Contains(more, hint.setting) {
				text += ", which are of the auth_type " + hint.kind
				break
			}
		}
		return nil, errors.New(text)
	}
	return values, nil
}

// check returns an error for credentials with which the client does not log in.
func (c *Cloud) check() error {
	a := &c.Auth
	for _, rule := range []struct {
		types   []string
		missing bool
		text    string
	}{
		{
			[]string{Password, V3Password, HTTPBasic},
			a.UserID == "" && a.Username == "",
			"there is neither a username nor a user_id",
		},
		{[]string{Password, V3Password, HTTPBasic}, a.Password == "", "there is no password"},
		{[]string{Token, V3Token, AdminToken}, a.Token == "", "there is no token"},
		{[]string{Password, V3Password, Token, V3Token, ApplicationCredential}, a.URL == "", "there is no auth_url"},
		{[]string{ApplicationCredential}, a.CredentialSecret == "", "there is no application_credential_secret"},
		{
			[]string{ApplicationCredential},
			a.CredentialID == "" && a.CredentialName == "",
			"there is neither an application_credential_id nor an application_credential_name",
		},
		{
			[]string{V3Password, ApplicationCredential},
			a.Username != "" && a.UserDomainID == "" && a.UserDomainName == "",
			"the username has no domain: user_domain_id or user_domain_name is missing",
		},
		{
			[]string{V3Password, V3Token, ApplicationCredential},
			a.ProjectName != "" && a.ProjectDomainID == "" && a.ProjectDomainName == "",
			"the project_name has no domain: project_domain_id or project_domain_name is missing",
		},
	} {
		if rule.missing && slices.Contains(rule.types, c.Type) {
			return fmt.Errorf("auth_type %s: %s", c.Type, rule.text)
		}
	}
	scopes := 0
	for _, given := range []bool{a.DomainID+a.DomainName != "", a.ProjectID+a.ProjectName != "", a.TrustID != ""} {
		if given {
			scopes++
		}
	}
	if scopes > 1 {
		return errors.New("a token is for one of a project, a domain and a trust, and several are set")
	}
	return nil
}
