package cloudapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/berthcloud/berth/cloudconfig"
	"github.com/berthcloud/berth/identity/discovery"
	"github.com/berthcloud/berth/ops/cloud"
)

// Connect logs in. Errors do not contain passwords or tokens.
func Connect(ctx context.Context, o Options) (*Client, error) {
	config, warnings, err := cloudconfig.Read(cloudconfig.Options{
		Cloud: o.Cloud, Region: o.Region, Interface: o.Interface, Environ: o.Environ, Site: o.site,
	})
	if o.Warn != nil {
		for _, text := range warnings {
			o.Warn(text)
		}
	}
	if err != nil {
		return nil, err
	}
	secure, err := tlsConfig(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.From, err)
	}
	c := &Client{config: config, name: config.Name}
	c.use(&gophercloud.ProviderClient{}, newClient(secure, cmp.Or(config.Timeout, requestTime)), o)
	switch config.Type {
	case cloudconfig.None, cloudconfig.AdminToken, cloudconfig.HTTPBasic:
		return c, c.withoutIdentity()
	}
	c.auth, c.requestedAt = redactURL(config.Auth.URL), time.Now().UTC()
	c.source = "the cloud at " + c.auth
	if c.name != "" {
		c.source = "the cloud " + c.name + " at " + c.auth
	}
	if u, err := url.Parse(config.Auth.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: auth_url is no http or https URL", config.From)
	}
	if err := c.authenticate(ctx); err != nil {
		err = wrapError("Keystone", err)
		login := cloud.Login{Cloud: c.name, URL: c.auth, RequestedAt: c.requestedAt, Problem: problem(err)}
		return nil, &LoginError{cloud.Environment{Login: login}, fmt.Errorf("logging in to %s: %w", c.source, err)}
	}
	c.catalog = func() (*tokens.ServiceCatalog, error) {
		if r, ok := c.provider.GetAuthResult().(tokens.CreateResult); ok {
			return r.ExtractServiceCatalog()
		}
		return nil, errors.New("the identity service does not serve version 3 of its API")
	}
	return c, nil
}

// withoutIdentity prepares a client of a placement service without Keystone. Other services are
// there if the settings have their endpoints.
func (c *Client) withoutIdentity() error {
	a := &c.config.Auth
	endpoint := cmp.Or(c.config.Find("placement").Endpoint, a.Endpoint)
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" {
		return fmt.Errorf("%s: auth_type %s needs the URL of the placement service: the endpoint in auth, or OS_ENDPOINT",
			c.config.From, c.config.Type)
	}
	c.config.SetEndpoint("placement", endpoint)
	c.source = "the placement service at " + redactURL(endpoint)
	switch c.config.Type {
	case cloudconfig.None:
		c.provider.TokenID = "notused" // what the openstack client sends
	case cloudconfig.AdminToken:
		c.provider.TokenID = a.Token
	case cloudconfig.HTTPBasic:
		c.provider.HTTPClient.Transport = &basic{
			c.provider.HTTPClient.Transport, "Basic " + base64.StdEncoding.EncodeToString([]byte(a.Username+":"+a.Password)),
		}
	}
	return nil
}

// A basic sends requests with a user and a password.
type basic struct {
	http.RoundTripper
	authorization string
}

func (b *basic) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", b.authorization)
	return b.RoundTripper.RoundTrip(r)
}

// tlsConfig returns how connections are secured.
func tlsConfig(config *cloudconfig.Cloud) (*tls.Config, error) {
	secure := &tls.Config{InsecureSkipVerify: !config.Verify}
	if config.CA != "" {
		text, err := os.ReadFile(config.CA)
		if err != nil {
			return nil, fmt.Errorf("certificates of authorities: %w", err)
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("certificates of authorities: %s has none", config.CA)
		}
	}
	if config.Cert != "" {
		own, err := tls.LoadX509KeyPair(config.Cert, config.Key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate: %w", err)
		}
		secure.Certificates = []tls.Certificate{own}
	}
	return secure, nil
}

// authenticate finds version 3 of Keystone's API at auth_url, and logs in there. Gophercloud's own
// discovery would follow the links of the version document to other servers, with the password.
func (c *Client) authenticate(ctx context.Context) error {
	address := c.config.Auth.URL
	version := discovery.Version{URL: discovery.Below(address)}
	if (c.config.Type == cloudconfig.Password || c.config.Type == cloudconfig.Token) && !discovery.Versioned(address) {
		res, err := c.provider.Request(ctx, http.MethodGet, address, &gophercloud.RequestOpts{
			OkCodes: []int{http.StatusOK, http.StatusMultipleChoices}, KeepResponseBody: true,
		})
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err != nil {
			return err
		}
		if version, err = discovery.Find(address, res.StatusCode, body); err != nil {
			return err
		}
		if version.URL == "" {
			return fmt.Errorf("%s does not answer with the versions of its API: auth_url has to be Keystone's",
				redactURL(address))
		}
	}
	login := credentials{c.config.Auth, c.config.Type}
	c.identityURL = strings.TrimSuffix(strings.TrimRight(version.URL, "/"), "/v3") + "/v3/"
	enter := func(ctx context.Context, provider *gophercloud.ProviderClient) error {
		return provider.SetTokenAndAuthResult(tokens.Create(ctx,
			&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: c.identityURL}, login))
	}
	if err := enter(ctx, c.provider); err != nil {
		return err
	}
	if c.config.Type == cloudconfig.Token || c.config.Type == cloudconfig.V3Token {
		return nil // the token that was given ends as well
	}
	// Reading a big cloud may take longer than a token is valid.
	again := *c.provider
	again.SetThrowaway(true)
	if err := again.SetTokenAndAuthResult(nil); err != nil {
		return err
	}
	c.provider.ReauthFunc = func(ctx context.Context) error {
		if err := enter(ctx, &again); err != nil {
			return err
		}
		c.provider.CopyTokenFrom(&again)
		return nil
	}
	return nil
}

// credentials make the body of a login, as keystoneauth does. They are a
// [tokens.AuthOptionsBuilder].
type credentials struct {
	cloudconfig.Auth
	kind string
}

// ToTokenV3CreateMap returns the body with a scope.
func (c credentials) ToTokenV3CreateMap(scope map[string]any) (map[string]any, error) {
	method, value := "password", map[string]any{}
	switch c.kind {
	case cloudconfig.Token, cloudconfig.V3Token:
		method, value = "token", map[string]any{"id": c.Token}
	case cloudconfig.ApplicationCredential:
		method, value = "application_credential", map[string]any{"secret": c.CredentialSecret}
		if c.CredentialID != "" {
			value["id"] = c.CredentialID
		} else {
			value["name"], value["user"] = c.CredentialName, c.user()
		}
	default:
		user := c.user()
		user["password"] = c.Password
		value["user"] = user
	}
	auth := map[string]any{"identity": map[string]any{"methods": []string{method}, method: value}}
	if scope != nil {
		auth["scope"] = scope
	}
	return map[string]any{"auth": auth}, nil
}

// user returns the user, by its id or by its name in a domain.
func (c credentials) user() map[string]any {
	switch {
	case c.UserID != "":
		return map[string]any{"id": c.UserID}
	case c.Username != "":
		return inDomain(c.Username, c.UserDomainID, c.UserDomainName)
	}
	return map[string]any{}
}

// inDomain returns what has a name in a domain, which may be unknown.
func inDomain(name, id, domain string) map[string]any {
	v := map[string]any{"name": name}
	if id != "" {
		v["domain"] = map[string]any{"id": id}
	} else if domain != "" {
		v["domain"] = map[string]any{"name": domain}
	}
	return v
}

// ToTokenV3ScopeMap returns what the token is for, nil for the user's default.
func (c credentials) ToTokenV3ScopeMap() (map[string]any, error) {
	switch {
	case c.DomainID != "":
		return map[string]any{"domain": map[string]any{"id": c.DomainID}}, nil
	case c.DomainName != "":
		return map[string]any{"domain": map[string]any{"name": c.DomainName}}, nil
	case c.ProjectID != "":
		return map[string]any{"project": map[string]any{"id": c.ProjectID}}, nil
	case c.ProjectName != "":
		return map[string]any{"project": inDomain(c.ProjectName, c.ProjectDomainID, c.ProjectDomainName)}, nil
	case c.TrustID != "":
		return map[string]any{"OS-TRUST:trust": map[string]any{"id": c.TrustID}}, nil
	case c.SystemScope == "all":
		return map[string]any{"system": map[string]any{"all": true}}, nil
	}
	return nil, nil
}

// ToTokenV3HeadersMap returns no headers.
func (c credentials) ToTokenV3HeadersMap(map[string]any) (map[string]string, error) { return nil, nil }

// CanReauth is false: the client logs in again by itself.
func (c credentials) CanReauth() bool { return false }
