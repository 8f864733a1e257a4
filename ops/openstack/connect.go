// Package openstack reads the records of a cloud through the APIs of its services, and finds the cloud as every OpenStack
// client does: by a name in clouds.yaml, or by the OS_* variables. It decides nothing about the records; that is what the
// operators' tools are for.
package openstack

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/berthcloud/berth/identity/discovery"
	"github.com/berthcloud/berth/ops/cloud"
)

// concurrent is how many requests are sent at a time.
const concurrent = 16

// requestTime is how long an answer may take. Lists of a big cloud take the original services many seconds.
const requestTime = 2 * time.Minute

// Options say which cloud is meant. Empty ones are taken from the environment: OS_CLOUD, OS_REGION_NAME, OS_INTERFACE.
type Options struct {
	Cloud, Region, Interface string
	Getenv                   func(string) string
	// Wait waits before a request is tried again; nil waits on the clock.
	Wait func(context.Context, time.Duration) error
}

// ErrUnnamed is the error of Connect when neither a cloud is named nor OS_AUTH_URL set.
var ErrUnnamed = errors.New("no cloud is named")

// A LoginError is the error of Connect when the identity service cannot be reached or gives no token. The others are about settings.
type LoginError struct {
	// Surroundings have the problem.
	Surroundings cloud.Surroundings
	err          error
}

func (e *LoginError) Error() string { return e.err.Error() }
func (e *LoginError) Unwrap() error { return e.err }

// A Client has logged in to a cloud. It may be used by several goroutines.
type Client struct {
	provider *gophercloud.ProviderClient
	catalog  func() (*tokens.ServiceCatalog, error)
	endpoint gophercloud.EndpointOpts
	source   string
	name     string // of the cloud
	auth     string // the URL of the identity service, "" for none
	asked    time.Time
}

// Connect logs in. Errors do not contain passwords or tokens.
func Connect(ctx context.Context, o Options) (*Client, error) {
	name := cmp.Or(o.Cloud, o.Getenv("OS_CLOUD"))
	if s := o.standalone(name); s != nil {
		return o.connectAlone(name, s)
	}
	auth, endpoint, client, err := o.settings(name)
	if err != nil {
		return nil, err
	}
	c := &Client{endpoint: endpoint, source: "the cloud at " + plain(auth.IdentityEndpoint), name: name, auth: plain(auth.IdentityEndpoint), asked: time.Now().UTC()}
	if name != "" {
		c.source = "the cloud " + name + " at " + plain(auth.IdentityEndpoint)
	}
	provider, err := openstack.NewClient(auth.IdentityEndpoint)
	if err != nil {
		return nil, fmt.Errorf("auth_url: %w", err)
	}
	auth.AllowReauth = auth.TokenID == "" // reading a big cloud may take longer than a token is valid
	c.use(provider, client, o)
	if err := c.authenticate(ctx, auth); err != nil {
		err = told("Keystone", err)
		login := cloud.Login{Cloud: name, URL: c.auth, Asked: c.asked, Problem: problem(err)}
		return nil, &LoginError{cloud.Surroundings{Login: login}, fmt.Errorf("logging in to %s: %w", c.source, err)}
	}
	c.catalog = func() (*tokens.ServiceCatalog, error) {
		switch r := provider.GetAuthResult().(type) {
		case tokens.CreateResult:
			return r.ExtractServiceCatalog()
		case tokens.GetResult:
			return r.ExtractServiceCatalog()
		}
		return nil, errors.New("the identity service does not serve version 3 of its API")
	}
	return c, nil
}

// authenticate finds version 3 of Keystone's API at the address of the options, and logs in there. Gophercloud's own discovery would follow the links of
// the version document to other servers, with the password.
func (c *Client) authenticate(ctx context.Context, auth gophercloud.AuthOptions) error {
	version := discovery.Version{URL: discovery.Below(auth.IdentityEndpoint)}
	if !discovery.Versioned(auth.IdentityEndpoint) {
		res, err := c.provider.Request(ctx, http.MethodGet, auth.IdentityEndpoint, &gophercloud.RequestOpts{
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
		if version, err = discovery.Find(auth.IdentityEndpoint, res.StatusCode, body); err != nil {
			return err
		}
		if version.URL == "" {
			return fmt.Errorf("%s does not answer with the versions of its API: auth_url has to be Keystone's", plain(auth.IdentityEndpoint))
		}
	}
	c.provider.IdentityEndpoint = version.URL + "/" // of an endpoint that ends in v3/ there is no discovery
	return openstack.Authenticate(ctx, c.provider, auth)
}

// Source names the cloud for people, without credentials.
func (c *Client) Source() string { return c.source }

// Project returns the id of the project that the client has logged in to, "" for none.
func (c *Client) Project() string {
	var project *tokens.Project
	switch r := c.provider.GetAuthResult().(type) {
	case tokens.CreateResult:
		project, _ = r.ExtractProject() // it is absent from what cannot be read
	case tokens.GetResult:
		project, _ = r.ExtractProject()
	}
	if project == nil {
		return ""
	}
	return project.ID
}

// use sets how the provider's client sends requests.
func (c *Client) use(provider *gophercloud.ProviderClient, client http.Client, o Options) {
	wait := o.Wait
	if wait == nil {
		wait = onClock
	}
	provider.HTTPClient = client
	provider.UserAgent.Prepend("berth")
	provider.UseTokenLock()
	provider.RetryFunc = func(ctx context.Context, method, _ string, _ *gophercloud.RequestOpts, err error, failed uint) error {
		most, pause := uint(0), firstPause<<(failed-1)
		var status gophercloud.ErrUnexpectedResponseCode
		switch {
		case ctx.Err() != nil: // its cause is in err, and may be that of another request
		case !errors.As(err, &status):
			if method == http.MethodGet && lost(err) {
				most = lostRetries
			}
		case status.Actual == http.StatusServiceUnavailable, status.Actual == http.StatusTooManyRequests:
			most = retries
			if s, bad := strconv.Atoi(status.ResponseHeader.Get("Retry-After")); bad == nil && s > 0 {
				pause = min(time.Duration(s)*time.Second, longestPause)
			}
		case method == http.MethodGet && (status.Actual == http.StatusBadGateway || status.Actual == http.StatusGatewayTimeout):
			most = lostRetries
		}
		if failed > most {
			return err
		}
		return wait(ctx, pause)
	}
	c.provider = provider
}

// A request that a service is too busy for is sent again after a pause, which doubles. One that only reads is also sent again when its answer was lost, by the
// service or a proxy before it, so that one of 100,000 requests does not end an audit.
const (
	retries      = 5
	lostRetries  = 2
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// lost reports whether an error is that a connection ended before the whole answer was there. A time-out is none: requestTime is long enough, and a
// service that does not answer would be waited for three times as long.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func onClock(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// settings finds how to log in: at the cloud of a name in clouds.yaml, or by the OS_* variables.
func (o *Options) settings(name string) (auth gophercloud.AuthOptions, endpoint gophercloud.EndpointOpts, client http.Client, err error) {
	opts := []clouds.ParseOption{
		clouds.WithRegion(cmp.Or(o.Region, o.Getenv("OS_REGION_NAME"))),
		clouds.WithEndpointType(cmp.Or(o.Interface, o.Getenv("OS_INTERFACE"))),
	}
	opts = append(opts, o.verification()...)
	where := "clouds.yaml"
	if name == "" {
		if o.Getenv("OS_AUTH_URL") == "" {
			return auth, endpoint, client, ErrUnnamed
		}
		// openstacksdk makes a cloud of this name of the variables too.
		name, where = "envvars", "the OS_* variables"
		opts = append(opts, clouds.WithCloudsYAML(strings.NewReader(o.variables(name))))
	} else if path := o.Getenv("OS_CLIENT_CONFIG_FILE"); path != "" {
		opts = append(opts, clouds.WithLocations(path))
	}
	auth, endpoint, secure, err := parseClouds(append(opts, clouds.WithCloudName(name)))
	if err == nil && auth.IdentityEndpoint == "" {
		err = fmt.Errorf("the cloud %s has no auth_url", name)
	}
	if err != nil {
		// The reader of YAML quotes values, which may be passwords.
		return auth, endpoint, client, fmt.Errorf("%s: %s", where, quoted.ReplaceAllString(err.Error(), "a value"))
	}
	// The domain with the id "default" is where the openstack client looks for names without a domain.
	if auth.Username != "" && auth.DomainID == "" && auth.DomainName == "" {
		auth.DomainID = "default"
	}
	if s := auth.Scope; s != nil && s.ProjectName != "" && s.DomainID == "" && s.DomainName == "" {
		s.DomainID = "default"
	}
	return auth, endpoint, newClient(secure), nil
}

// verification returns how the variables say that certificates are verified.
func (o *Options) verification() (opts []clouds.ParseOption) {
	if path := o.Getenv("OS_CACERT"); path != "" {
		opts = append(opts, clouds.WithCACertPath(path))
	}
	if insecure, _ := strconv.ParseBool(o.Getenv("OS_INSECURE")); insecure {
		opts = append(opts, clouds.WithInsecure(true))
	}
	return opts
}

var quoted = regexp.MustCompile("`[^`]*`")

// parseClouds is clouds.Parse, which panics for a cloud without the section auth.
func parseClouds(opts []clouds.ParseOption) (auth gophercloud.AuthOptions, endpoint gophercloud.EndpointOpts, secure *tls.Config, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the cloud has no section auth")
		}
	}()
	return clouds.Parse(opts...)
}

// newClient returns an HTTP client that keeps as many connections as there are requests at a time. It follows redirects within a server only:
// net/http would send the token, and the body with the password, to any other.
func newClient(secure *tls.Config) http.Client {
	return http.Client{
		Timeout: requestTime,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host || len(via) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
		Transport: &http.Transport{
			TLSClientConfig: secure, Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: concurrent, ForceAttemptHTTP2: true,
		},
	}
}

// variables returns the OS_* variables as a clouds.yaml (JSON is YAML).
func (o *Options) variables(name string) string {
	auth := map[string]string{}
	for _, key := range []string{
		"auth_url", "token", "username", "user_id", "password", "application_credential_id", "application_credential_name",
		"application_credential_secret", "system_scope", "project_name", "project_id", "user_domain_name", "user_domain_id",
		"project_domain_name", "project_domain_id", "domain_name", "domain_id", "trust_id",
	} {
		if value := o.Getenv("OS_" + strings.ToUpper(key)); value != "" {
			auth[key] = value
		}
	}
	text, _ := json.Marshal(map[string]any{"clouds": map[string]any{name: map[string]any{"auth": auth}}}) // strings only
	return string(text)
}

// service returns the client of a service in the catalog, at a microversion, or an error that says that it is not there.
func (c *Client) service(kind, microversion string) (*gophercloud.ServiceClient, error) {
	catalog, err := c.catalog()
	if err != nil {
		return nil, err
	}
	eo := c.endpoint
	eo.ApplyDefaults(kind)
	var elsewhere []string // regions that have one
	for _, entry := range catalog.Entries {
		if !slices.Contains(eo.Types(), entry.Type) {
			continue
		}
		for _, e := range entry.Endpoints {
			if e.Interface != string(eo.Availability) {
				continue
			}
			if eo.Region != "" && e.Region != eo.Region && e.RegionID != eo.Region {
				elsewhere = append(elsewhere, e.Region)
				continue
			}
			return &gophercloud.ServiceClient{ProviderClient: c.provider, Endpoint: gophercloud.NormalizeURL(e.URL), Type: kind, Microversion: microversion}, nil
		}
	}
	if c.auth == "" {
		return nil, &absent{fmt.Sprintf("the %s service is not known: there is no identity service with a catalog", kind)}
	}
	if elsewhere != nil {
		return nil, &absent{fmt.Sprintf("the catalog of %s has no %s endpoint of the %s service%s, but in %s", c.source, eo.Availability, kind, in(eo.Region), strings.Join(elsewhere, ", "))}
	}
	return nil, &absent{fmt.Sprintf("the catalog of %s has no %s endpoint of the %s service%s", c.source, eo.Availability, kind, in(eo.Region))}
}

// absent is the error about a service that is not in the catalog.
type absent struct{ text string }

func (e *absent) Error() string { return e.text }

func in(region string) string {
	if region == "" {
		return ""
	}
	return " in the region " + region
}

// get sends a GET and decodes the answer.
func get(ctx context.Context, s *gophercloud.ServiceClient, path string, into any) error {
	if _, err := s.Get(ctx, s.ServiceURL(path), into, nil); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return told("the "+s.Type+" service", fmt.Errorf("GET %s: %w", path, err))
	}
	return nil
}

// told returns the error of a request to a service in a sentence, with what the service said, in part.
func told(service string, err error) error {
	var status gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &status) {
		var text *json.SyntaxError
		var kind *json.UnmarshalTypeError
		if errors.As(err, &text) || errors.As(err, &kind) {
			return fmt.Errorf("the answer of %s is not what its API has: %w", service, err)
		}
		return fmt.Errorf("asking %s: %w", service, err)
	}
	path := status.URL
	if u, bad := url.Parse(path); bad == nil {
		path = u.RequestURI()
	}
	text := fmt.Sprintf("%s answers %s %s with %d %s", service, status.Method, path, status.Actual, http.StatusText(status.Actual))
	if said := message(status.Body); said != "" {
		text += ": " + said
	}
	if to, bad := url.Parse(status.ResponseHeader.Get("Location")); bad == nil && status.Actual/100 == 3 && to.Host != "" {
		text += fmt.Sprintf("; it redirects to %s://%s, where no password or token is sent", to.Scheme, to.Host)
	}
	switch status.Actual {
	case http.StatusNotAcceptable:
		text += "; it is older than this program works with (OpenStack Zed)"
	case http.StatusForbidden:
		text += "; take a user that may, such as an administrator"
	}
	return &refusal{text, status.Actual}
}

// A refusal is an answer that is no success.
type refusal struct {
	text   string
	status int
}

func (e *refusal) Error() string { return e.text }

// isStatus reports whether an error is an answer with a status.
func isStatus(err error, status int) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == status
}

// message finds the text in the body of an error, whose form differs between services.
func message(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	// Some end in a line break of HTML, and most in a full stop, after which sentences go on here.
	text := strings.Join(strings.Fields(strings.ReplaceAll(deepest(v), "<br />", " ")), " ")
	text = strings.TrimSuffix(text, ".")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// deepest returns the first message in a value.
func deepest(v any) string {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"detail", "message"} {
			if text, ok := v[key].(string); ok && text != "" {
				return text
			}
		}
		for _, inner := range v {
			if text := deepest(inner); text != "" {
				return text
			}
		}
	case []any:
		for _, inner := range v {
			if text := deepest(inner); text != "" {
				return text
			}
		}
	}
	return ""
}

// plain returns a URL without user and password.
func plain(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an unreadable URL"
	}
	u.User = nil
	return u.String()
}
