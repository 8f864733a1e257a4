// Package cloudapi reads the records of a cloud through the APIs of its services, and finds the
// cloud as every OpenStack client does: by a name in clouds.yaml, or by the OS_* variables. It
// decides nothing about the records; that is what the operators' tools are for.
package cloudapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/berthcloud/berth/cloudconfig"
	"github.com/berthcloud/berth/ops/cloud"
)

// concurrent is how many requests are sent at a time.
const concurrent = 16

// requestTime is how long an answer may take. Lists of a big cloud take the original services many
// seconds.
const requestTime = 2 * time.Minute

// Options say which cloud is meant. Empty ones are taken from the environment: OS_CLOUD,
// OS_REGION_NAME, OS_INTERFACE.
type Options struct {
	Cloud, Region, Interface string
	// Environ is the environment, as [os.Environ] returns it.
	Environ []string
	// Warn is called with each setting that has no effect, and the like; nil drops them.
	Warn func(text string)
	// Rate is how many requests are sent to the cloud in a second, of all services together; 0 is no
	// bound.
	Rate float64
	// Wait waits before a request is tried again; nil waits on the clock.
	Wait func(context.Context, time.Duration) error
	site string // the system's directory of clouds.yaml, "" for the usual
}

// ErrUnnamed is the error of Connect when neither a cloud is named nor OS_AUTH_URL set.
var ErrUnnamed = cloudconfig.ErrUnnamed

// A LoginError is the error of Connect when the identity service cannot be reached or gives no
// token. The others are about settings.
type LoginError struct {
	// Environment have the problem.
	Environment cloud.Environment
	err         error
}

func (e *LoginError) Error() string { return e.err.Error() }
func (e *LoginError) Unwrap() error { return e.err }

// A Client has logged in to a cloud. It may be used by several goroutines.
type Client struct {
	provider    *gophercloud.ProviderClient
	catalog     func() (*tokens.ServiceCatalog, error)
	config      *cloudconfig.Cloud
	source      string
	name        string // of the cloud
	auth        string // the URL of the identity service, "" for none
	identityURL string // of version 3 of the identity service's API, with its slash
	requestedAt time.Time
	limiter     *limiter
}

// Requests returns how many requests were sent, with those for tokens and those that were sent
// again.
func (c *Client) Requests() int64 { return c.limiter.sent.Load() }

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
	c.limiter = &limiter{next: client.Transport, rate: o.Rate}
	client.Transport = c.limiter
	provider.HTTPClient = client
	provider.UserAgent.Prepend("berth")
	provider.UseTokenLock()
	provider.RetryFunc = func(
		ctx context.Context, method, _ string, _ *gophercloud.RequestOpts, err error, failed uint,
	) error {
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
		case method == http.MethodGet &&
			(status.Actual == http.StatusBadGateway || status.Actual == http.StatusGatewayTimeout):
			most = lostRetries
		}
		if failed > most {
			return err
		}
		return wait(ctx, pause)
	}
	c.provider = provider
}

// A request that a service is too busy for is sent again after a pause, which doubles. One that
// only reads is also sent again when its answer was lost, by the service or a proxy before it, so
// that one of 100,000 requests does not end an audit.
const (
	retries      = 5
	lostRetries  = 2
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// lost reports whether an error is that a connection ended before the whole answer was there. A
// time-out is none: requestTime is long enough, and a service that does not answer would be waited
// for three times as long.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

func onClock(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// newClient returns an HTTP client with a limit of time for an answer, that keeps as many
// connections as there are requests at a time. It follows redirects within a server only: net/http
// would send the token, and the body with the password, to any other.
func newClient(secure *tls.Config, limit time.Duration) http.Client {
	return http.Client{
		Timeout: limit,
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

// service returns the client of a service at the endpoint that the settings have, or of the
// catalog, at a microversion, or an error that says that it is not there.
func (c *Client) service(kind, microversion string) (*gophercloud.ServiceClient, error) {
	service := c.config.Find(kind)
	client := func(endpoint string) *gophercloud.ServiceClient {
		c.limiter.name(endpoint, kind)
		return &gophercloud.ServiceClient{
			ProviderClient: c.provider, Endpoint: gophercloud.NormalizeURL(endpoint), Type: kind, Microversion: microversion,
		}
	}
	if service.Endpoint != "" {
		return client(service.Endpoint), nil
	}
	if c.auth == "" {
		return nil, &absent{fmt.Sprintf("the %s service is not known: there is no identity service with a catalog", kind)}
	}
	c.limiter.name(c.auth, "identity")
	catalog, err := c.catalog()
	if err != nil {
		return nil, err
	}
	types := []string{service.Type}
	if service.Type == kind {
		var eo gophercloud.EndpointOpts
		eo.ApplyDefaults(kind)
		types = eo.Types()
	}
	var others []string // regions that have one
	for _, face := range service.Interfaces {
		for _, entry := range catalog.Entries {
			if !slices.Contains(types, entry.Type) || service.Name != "" && entry.Name != service.Name {
				continue
			}
			for _, e := range entry.Endpoints {
				switch {
				case e.Interface != face:
				case service.Region != "" && e.Region != service.Region && e.RegionID != service.Region:
					others = append(others, e.Region)
				default:
					return client(e.URL), nil
				}
			}
		}
	}
	text := fmt.Sprintf("the catalog of %s has no %s endpoint of the %s service%s", c.source,
		strings.Join(service.Interfaces, " or "), kind, in(service.Region))
	if others != nil {
		text += ", but in " + strings.Join(others, ", ")
	}
	return nil, &absent{text}
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
		return wrapError("the "+s.Type+" service", fmt.Errorf("GET %s: %w", path, err))
	}
	return nil
}

// wrapError returns the error of a request to a service in a sentence, with what the service said,
// in part.
func wrapError(service string, err error) error {
	var status gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &status) {
		var text *json.SyntaxError
		var kind *json.UnmarshalTypeError
		if errors.As(err, &text) || errors.As(err, &kind) {
			return fmt.Errorf("the answer of %s is not what its API has: %w", service, err)
		}
		return fmt.Errorf("querying %s: %w", service, err)
	}
	path := status.URL
	if u, bad := url.Parse(path); bad == nil {
		path = u.RequestURI()
	}
	text := fmt.Sprintf("%s answers %s %s with %d %s", service, status.Method, path, status.Actual,
		http.StatusText(status.Actual))
	if detail := message(status.Body); detail != "" {
		text += ": " + detail
	}
	if target, bad := url.Parse(status.ResponseHeader.Get("Location")); bad == nil && status.Actual/100 == 3 &&
		target.Host != "" {
		text += fmt.Sprintf("; it redirects to %s://%s, where no password or token is sent", target.Scheme, target.Host)
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

// redactURL returns a URL without user and password.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an unreadable URL"
	}
	u.User = nil
	return u.String()
}
