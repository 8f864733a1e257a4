package keystone

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/osloconfig"
)

// DefaultTimeout bounds one request to Keystone when Options do not.
const DefaultTimeout = 10 * time.Second

// Options are the settings of requests to Keystone and of the validation of its answers.
// Credentials are required.
//
// Of [keystone_authtoken] these are, in the order of the fields: interface, region_name, cafile,
// certfile, keyfile, insecure, http_connect_timeout, http_request_max_retries, token_cache_time,
// service_token_roles, service_token_roles_required, service_type and delay_auth_decision.
type Options struct {
	Credentials Credentials

	Interface string // of Keystone's endpoint in the catalogue: "internal", the default, "public" or "admin"
	Region    string // of that endpoint; empty: any

	CAFile            string // PEM; empty: the system's authorities
	CertFile, KeyFile string // PEM of a client certificate
	Insecure          bool   // do not check Keystone's certificate

	Section string // group of the settings that the credentials are from, for error texts; empty: keystone_authtoken

	// Timeout bounds the establishing of a connection, and a request of a Session; 0 is
	// DefaultTimeout. A Validator waits Timeout × (1 + Retries) for an answer: as long as
	// keystonemiddleware with these settings, but in one request instead of several.
	Timeout time.Duration
	Retries int // of a request that did not reach Keystone

	CacheTime time.Duration // how long an answer is cached at most; 0 or less: not at all

	ServiceRoles         []string // that make a service token trusted
	ServiceRolesRequired bool     // refuse service tokens without such a role
	ServiceType          string   // of this service, in access rules of application credentials
	DelayDecision        bool     // a caller that cannot be checked is Unauthentic, not Unavailable

	Log     *slog.Logger // nil discards
	Metrics Metrics
	// Wrap, when not nil, wraps the transport of the requests, to trace them.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// A Secret is a text that prints as asterisks.
type Secret = osloconfig.Secret

// The kinds of credentials, by the names of keystoneauth's plugins.
const (
	Password              = "password" // finds the version out
	V3Password            = "v3password"
	ApplicationCredential = "v3applicationcredential"
	Token                 = "token" // finds the version out; for Sessions only
	V3Token               = "v3token"
)

// Credentials are the service's own, for its logins at Keystone.
type Credentials struct {
	Type  string // Password, V3Password, ApplicationCredential, Token or V3Token
	Token Secret // of Token and V3Token
	Auth
}

// Auth are the options of keystoneauth's plugins, in the order of config.Auth, which converts to
// it. Those that the Type does not have are empty.
type Auth struct {
	AuthURL           string // with or without a trailing /v3
	Username          string
	UserID            string
	Password          Secret
	UserDomainID      string
	UserDomainName    string
	ProjectName       string
	ProjectID         string
	ProjectDomainID   string
	ProjectDomainName string
	DomainID          string
	DomainName        string
	DefaultDomainID   string // domain of user and project that name none, by id or by name
	DefaultDomainName string
	SystemScope       string // "all" or empty
	TrustID           string

	ApplicationCredentialID     string
	ApplicationCredentialName   string
	ApplicationCredentialSecret Secret
}

// answerTimeout is how long a Validator waits for one answer, with its retries.
func (o *Options) answerTimeout() time.Duration { return o.Timeout * time.Duration(1+o.Retries) }

// complete sets defaults and checks the rest.
func (o *Options) complete() error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Interface = strings.TrimSuffix(o.Interface, "URL"); o.Interface == "" {
		o.Interface = "internal"
	}
	if o.Section == "" {
		o.Section = "keystone_authtoken"
	}
	o.Retries = max(o.Retries, 0)
	var errs []error
	if !slices.Contains(interfaces, o.Interface) {
		errs = append(errs, wrongInterface("interface", o.Interface))
	}
	if (o.CertFile == "") != (o.KeyFile == "") && o.CertFile == "" {
		errs = append(errs, errors.New("keyfile is set without certfile"))
	}
	return errors.Join(append(errs, o.Credentials.check()...)...)
}

// interfaces are the kinds of endpoints of a service in a catalogue.
var interfaces = []string{"internal", "public", "admin"}

func wrongInterface(option, value string) error {
	return fmt.Errorf("%s = %q: want internal, public or admin", option, value)
}

// check returns the errors that Keystone would return in any case.
func (c *Credentials) check() []error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	u, err := url.Parse(c.AuthURL)
	want(c.AuthURL != "", "auth_url is not set: want the address of Keystone, as in https://keystone.example:5000/v3")
	want(c.AuthURL == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"),
		"auth_url: want a URL that begins with http:// or https://")
	want(!strings.Contains(c.AuthURL, "@"),
		"auth_url: want no user and password in the address, which is logged; set username and password")
	switch c.Type {
	case Password, V3Password:
		errs = append(errs, c.checkUser()...)
	case ApplicationCredential:
		want(c.ApplicationCredentialID != "" || c.ApplicationCredentialName != "", "application_credential_id is not set")
		want(c.ApplicationCredentialID != "" || c.UserID != "" || c.Username != "",
			"application_credential_name: want user_id, or username and its domain, as well")
		want(c.ApplicationCredentialSecret != "", "application_credential_secret is not set")
	case Token, V3Token:
		want(c.Token != "", "token is not set")
	case "":
		want(false, "auth_type is not set: want %s, %s or %s", Password, V3Password, ApplicationCredential)
	default:
		want(false, "auth_type = %q: Berth has %s, %s and %s", c.Type, Password, V3Password, ApplicationCredential)
	}
	return append(errs, c.checkScope()...)
}

// fixed reports whether the credentials are a token, which cannot be renewed.
func (c *Credentials) fixed() bool { return c.Type == Token || c.Type == V3Token }

// finds reports whether the kind of credentials finds the version of the API out,
// rather than having it in its name.
func (c *Credentials) finds() bool { return c.Type == Password || c.Type == Token }

// checkUser returns the errors about a user with a password. A name needs a domain, since names are
// unique within one only.
func (c *Credentials) checkUser() []error {
	var errs []error
	if c.Username == "" && c.UserID == "" {
		errs = append(errs, errors.New("username is not set"))
	}
	if c.Password == "" {
		errs = append(errs, errors.New("password is not set"))
	}
	if c.UserID == "" && c.Username != "" && c.userDomain() == nil {
		errs = append(errs, errors.New(
			"user_domain_name is not set: want it or user_domain_id, as in user_domain_name = Default"))
	}
	return errs
}

// checkScope accepts at most one scope. One is required, since Keystone lets only a token with a
// role validate others, and roles belong to scopes.
func (c *Credentials) checkScope() []error {
	if c.Type == ApplicationCredential {
		return nil // the credential has its own
	}
	var errs []error
	targets := 0
	for _, given := range []bool{c.DomainID+c.DomainName != "", c.ProjectID+c.ProjectName != "", c.TrustID != ""} {
		if given {
			targets++
		}
	}
	if targets > 1 {
		errs = append(errs, errors.New(
			"the token cannot be for several of project, domain and trust: set one of project_name, domain_name and trust_id"))
	}
	if targets == 0 && c.SystemScope == "" {
		errs = append(errs, errors.New("project_name is not set: a token for nothing cannot check others; want "+
			"project_name and project_domain_name, or system_scope = all"))
	}
	if c.SystemScope != "" && c.SystemScope != "all" {
		errs = append(errs, fmt.Errorf("system_scope = %q: want all", c.SystemScope))
	}
	if c.ProjectName != "" && c.ProjectID == "" && c.projectDomain() == nil {
		errs = append(errs, errors.New(
			"project_domain_name is not set: want it or project_domain_id, as in project_domain_name = Default"))
	}
	return errs
}
