// Package client sends requests to OpenStack's services over REST, and has the errors of these
// requests. The packages below it are the clients of the services: placementclient, neutronclient,
// novaclient and glanceclient implement the interfaces that packages network and compute declare,
// with Berth's services and with upstream's; berthclient is for Berth's own API. They are no
// clients for the rest of these APIs. Nothing here logs in: an Access has the token.
//
// All waiting is bounded, and so is the number of concurrent requests. A request is retried when
// the connection was refused, when the service is too busy, and when the connection was cut and the
// request is idempotent. Errors are faults: Unavailable when the service could not be reached, is
// broken or does not accept the token, a *Refusal when it answered.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/berthcloud/berth/fault"
)

// Defaults of Options.
const (
	DefaultTimeout     = 10 * time.Second
	DefaultConcurrency = 8
)

// Options are the settings of a client. Access is required.
type Options struct {
	Access Access

	// HostKey returns the key of the host that requests are sent for; nil: it has none. The error is
	// a fault.
	HostKey func() (string, error)

	// HTTP sends the requests; nil means a client that trusts the system's
	// authorities. It must not follow redirects to other servers: requests
	// carry the token.
	HTTP *http.Client

	Timeout     time.Duration // of each attempt, and of the wait for a free slot; 0: DefaultTimeout
	Retries     int           // attempts after the first, where another one is safe
	Concurrency int           // requests at a time; further ones wait; 0: DefaultConcurrency

	// RequestID returns the id of the request that a context belongs to, ""
	// for none, to be passed on to the service. Nil: none is.
	RequestID func(context.Context) string

	// Observe, when not nil, is called after each attempt. The status is 0 without an answer. It may
	// be called concurrently.
	Observe func(method string, status int, took time.Duration)

	// BeforeChange, when not nil, is called before each request that changes something, after all
	// waiting; its error is returned instead of sending the request.
	BeforeChange func(context.Context) error

	Log *slog.Logger // of retries; nil discards

	unshared *http.Client // a connection for each request; nil when the transport of HTTP is unknown
}

// unshared returns a client whose requests have connections of their own, nil when a client's
// transport is unknown.
func unshared(c *http.Client) *http.Client {
	res := *c
	switch t := c.Transport.(type) {
	case *http.Transport:
		t = t.Clone()
		t.DisableKeepAlives = true
		res.Transport = t
	case interface{ WithoutReuse() http.RoundTripper }:
		res.Transport = t.WithoutReuse()
	default:
		return nil
	}
	return &res
}

// An Access has the address of a service and the token for it. It may be used concurrently. The
// keystone package's Session is one.
type Access interface {
	// Access returns the address of the service, without a trailing slash, and a token. The error
	// is a fault.
	Access(ctx context.Context) (endpoint, token string, err error)
	// Discard reports that the service has refused a token.
	Discard(token string)
}

// NoAuth is the administrator's token of services with auth_strategy = noauth2.
const NoAuth = "admin"

// Fixed returns an Access to a service at a known address with a token that never
// changes, NoAuth as a rule.
func Fixed(endpoint, token string) (Access, error) {
	if !isURL(endpoint) {
		return nil, errors.New("endpoint_override: want a URL that begins with http:// or https://, " +
			"without user and password")
	}
	return fixed{strings.TrimRight(endpoint, "/"), token}, nil
}

// isURL reports whether requests can be sent to an address. One with a password is refused:
// addresses are logged.
func isURL(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Host != "" && !strings.Contains(endpoint, "@") && (u.Scheme == "http" || u.Scheme == "https")
}

// FromFile returns an Access to an address with the token in a file, which is read for
// each request, so that it may be replaced.
func FromFile(endpoint, path string) (Access, error) {
	if !isURL(endpoint) {
		return nil, errors.New("want a URL that begins with http:// or https://, without user and password")
	}
	return fromFile{strings.TrimRight(endpoint, "/"), path}, nil
}

type fromFile struct{ endpoint, path string }

// maxToken bounds the file of a token.
const maxToken = 64 << 10

func (f fromFile) Access(context.Context) (endpoint, token string, err error) {
	token, err = readSecret(f.path, "token")
	return f.endpoint, token, err
}

// HostKeyFromFile returns an Options.HostKey with the key in a file, which is read for each
// request, so that it may be replaced.
func HostKeyFromFile(path string) func() (string, error) {
	return func() (string, error) { return readSecret(path, "host key") }
}

// readSecret reads the file of a token or key.
func readSecret(path, what string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.Unavailable, "", "the file with the %s cannot be read: %v", what, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil {
		return "", fault.New(fault.Unavailable, "", "the file with the %s cannot be read: %v", what, err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fault.New(fault.Unavailable, "", "%s has no %s in it", path, what)
	}
	return secret, nil
}

func (fromFile) Discard(string) {}

type fixed struct{ endpoint, token string }

func (f fixed) Access(context.Context) (endpoint, token string, err error) {
	return f.endpoint, f.token, nil
}

func (fixed) Discard(string) {}

// complete sets the defaults.
func (o *Options) complete() {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.HostKey == nil {
		o.HostKey = func() (string, error) { return "", nil }
	}
	if o.RequestID == nil {
		o.RequestID = func(context.Context) string { return "" }
	}
	if o.Observe == nil {
		o.Observe = func(string, int, time.Duration) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP = newHTTPClient(o.Concurrency)
	}
	o.unshared = unshared(o.HTTP)
}

// A Trust has the authorities that an HTTP client trusts and its client certificate: files in PEM.
// The zero Trust is the system's authorities without a client certificate.
type Trust struct {
	CAFile            string // authorities; "" for the system's
	CertFile, KeyFile string // the client's own certificate; "" for none
}

// NewHTTP returns a client for Options.HTTP.
func NewHTTP(connections int, t Trust) (*http.Client, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	h := newHTTPClient(connections)
	h.Transport.(*http.Transport).TLSClientConfig = c
	return h, nil
}

func newHTTPClient(connections int) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = connections
	t.IdleConnTimeout = 15 * time.Second
	// A thousand candidates have megabytes: compressing them and back takes more time than the search.
	t.DisableCompression = true
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
