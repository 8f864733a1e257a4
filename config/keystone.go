package config

import (
	"cmp"

	"github.com/berthcloud/berth/osloconfig"
)

// Keystone is the group [keystone_authtoken] (keystonemiddleware): how the tokens of callers are
// checked, and the service's own credentials for that.
type Keystone struct {
	WWWAuthenticateURI        string
	Interface                 string
	DelayAuthDecision         bool
	HTTPConnectTimeout        *int // seconds
	Timeout                   *int // seconds; when HTTPConnectTimeout is nil
	HTTPRequestMaxRetries     int
	CertFile                  string
	KeyFile                   string
	CAFile                    string
	Insecure                  bool
	RegionName                string
	TokenCacheTime            int // seconds; -1: no cache
	ServiceTokenRoles         []string
	ServiceTokenRolesRequired bool
	ServiceType               string

	AuthType    string // keystoneauth's name of a plugin: "password", "v3applicationcredential", …
	AuthSection string // group that Auth was read from, when it is another one
	Auth        Auth
}

// Auth are the credentials of a service at Keystone: the options of keystoneauth's plugins
// password, v3password, token, v3token, admin_token and v3applicationcredential. Those that the
// plugin of auth_type does not have are empty.
type Auth struct {
	AuthURL           string
	Username          string
	UserID            string
	Password          osloconfig.Secret
	UserDomainID      string
	UserDomainName    string
	ProjectName       string
	ProjectID         string
	ProjectDomainID   string
	ProjectDomainName string
	DomainID          string
	DomainName        string
	DefaultDomainID   string
	DefaultDomainName string
	SystemScope       string
	TrustID           string

	ApplicationCredentialID     string
	ApplicationCredentialName   string
	ApplicationCredentialSecret osloconfig.Secret
}

// defaultKeystone has keystonemiddleware's defaults.
func defaultKeystone() Keystone {
	return Keystone{
		Interface:             "internal",
		HTTPRequestMaxRetries: 3,
		TokenCacheTime:        300,
		ServiceTokenRoles:     []string{"service"},
	}
}

// keystone returns the rows of the group without the credentials, which may be in another group.
func (s *Service) keystone() []Setting {
	k := &s.Keystone
	const g = groupKeystone
	return []Setting{
		NewSetting(g, "www_authenticate_uri", osloconfig.String(&k.WWWAuthenticateURI),
			"Address of Keystone that a client without a token is sent to, in the header WWW-Authenticate; "+
				"auth_url when empty.").
			Formerly("auth_uri"),
		NewSetting(g, "interface", osloconfig.String(&k.Interface),
			"Endpoint of Keystone to use, of those in its catalogue: internal, public or admin."),
		NewSetting(g, "delay_auth_decision", osloconfig.Bool(&k.DelayAuthDecision),
			"Answer requests without a valid token in the API's own format, and with 401 instead of 503 while Keystone is "+
				"unavailable."),
		NewSetting(g, "http_connect_timeout", osloconfig.OptionalInt(&k.HTTPConnectTimeout),
			"Seconds that the making of a connection to Keystone may take; 10 when empty, and timeout is empty too. "+
				"An answer about a token is waited for this long once and http_request_max_retries times more, "+
				"as keystonemiddleware does, which sends the request again each time."),
		NewSetting(g, "timeout", osloconfig.OptionalInt(&k.Timeout),
			"The same, for files that do not have http_connect_timeout."),
		NewSetting(g, "http_request_max_retries", osloconfig.Int(&k.HTTPRequestMaxRetries),
			"How often a request that did not reach Keystone is sent again; see http_connect_timeout."),
		NewSetting(g, "certfile", osloconfig.String(&k.CertFile), "Client certificate to show to Keystone."),
		NewSetting(g, "keyfile", osloconfig.String(&k.KeyFile),
			"Private key of the client certificate; may be in certfile too."),
		NewSetting(g, "cafile", osloconfig.String(&k.CAFile),
			"Certificates of authorities that may sign Keystone's certificate; the system's when empty."),
		NewSetting(g, "insecure", osloconfig.Bool(&k.Insecure), "Do not check Keystone's certificate."),
		NewSetting(g, "region_name", osloconfig.String(&k.RegionName),
			"Region whose Keystone endpoint to use; the first one listed when empty."),
		NewSetting(g, "token_cache_time", osloconfig.Int(&k.TokenCacheTime),
			"Seconds for which the check of a token is cached at most; 0 and -1 turn the cache off."),
		NewSetting(g, "service_token_roles", osloconfig.List(&k.ServiceTokenRoles),
			"Roles of services that may pass on requests of users whose token has expired meanwhile."),
		NewSetting(g, "service_token_roles_required", osloconfig.Bool(&k.ServiceTokenRolesRequired),
			"Refuse service tokens without such a role."),
		NewSetting(g, "service_type", osloconfig.String(&k.ServiceType), "Name of this service in the access rules of "+
			"application credentials. Without it, tokens with such rules are refused."),
		NewSetting(g, "auth_section", osloconfig.String(&k.AuthSection),
			"Group to read the service's own credentials from, instead of this one."),
	}
}

// credentials returns the rows of the service's own credentials, in the group that auth_section
// names.
func (s *Service) credentials() []Setting {
	k := &s.Keystone
	group := cmp.Or(k.AuthSection, groupKeystone)
	kind := NewSetting(group, "auth_type", osloconfig.String(&k.AuthType),
		"Kind of the service's own credentials: password, v3password or v3applicationcredential.").
		Formerly("auth_plugin")
	return append([]Setting{kind}, k.Auth.settings(group)...)
}

// settings returns the rows of the plugins' options in a group.
func (a *Auth) settings(group string) []Setting {
	text := func(name string, v *string, help string) Setting {
		return NewSetting(group, name, osloconfig.String(v), help)
	}
	hidden := func(name string, v *osloconfig.Secret, help string) Setting {
		return NewSetting(group, name, osloconfig.Hidden(v), help)
	}
	return []Setting{
		text("auth_url", &a.AuthURL, "Address of Keystone, with or without /v3."),
		text("username", &a.Username, "Name of the service's user.").Formerly("user-name", "user_name"),
		text("user_id", &a.UserID, "Id of the service's user."),
		hidden("password", &a.Password, "Password of the service's user. A dollar sign is written $$."),
		text("user_domain_id", &a.UserDomainID, "Id of the domain of the user."),
		text("user_domain_name", &a.UserDomainName, "Name of the domain of the user."),
		text("project_name", &a.ProjectName, "Name of the service's project.").Formerly("tenant-name", "tenant_name"),
		text("project_id", &a.ProjectID, "Id of the service's project.").Formerly("tenant-id", "tenant_id"),
		text("project_domain_id", &a.ProjectDomainID, "Id of the domain of the project."),
		text("project_domain_name", &a.ProjectDomainName, "Name of the domain of the project."),
		text("domain_id", &a.DomainID, "Id of the domain that the token is for."),
		text("domain_name", &a.DomainName, "Name of the domain that the token is for."),
		text("default_domain_id", &a.DefaultDomainID, "Domain of user and project when they name none, by id."),
		text("default_domain_name", &a.DefaultDomainName, "Domain of user and project when they name none, by name."),
		text("system_scope", &a.SystemScope, "The word all requests a token that is valid for the system."),
		text("trust_id", &a.TrustID, "Id of a trust to act under."),
		text("application_credential_id", &a.ApplicationCredentialID, "Id of an application credential."),
		text("application_credential_name", &a.ApplicationCredentialName, "Name of an application credential."),
		hidden("application_credential_secret", &a.ApplicationCredentialSecret, "Secret of the application credential."),
	}
}
