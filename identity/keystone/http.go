package keystone

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

const (
	maxAnswer      = 8 << 20 // bytes; the catalogue of a big cloud has some 100 kB
	maxConnections = 32      // at a time; further requests wait for one
	// firstRetry is the pause before the first retry; each further one is twice as long.
	firstRetry = 100 * time.Millisecond
)

// newHTTPClient returns the client for all requests to Keystone. The environment's proxies are used
// (HTTPS_PROXY, NO_PROXY). The error is about a file of certificates.
func newHTTPClient(o Options) (*http.Client, error) {
	tlsConfig, err := o.tls()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: o.Timeout}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: o.Timeout,
		MaxConnsPerHost:     maxConnections,
		MaxIdleConnsPerHost: maxConnections / 4,
		IdleConnTimeout:     15 * time.Second,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // services use the client too, for large answers on fast networks
	}
	var sender http.RoundTripper = transport
	if o.Wrap != nil {
		single := transport.Clone()
		single.DisableKeepAlives = true
		sender = wrapped{o.Wrap(transport), transport, o.Wrap(single)}
	}
	return &http.Client{Timeout: o.Timeout, CheckRedirect: sameOrigin, Transport: sender}, nil
}

// wrapped forwards CloseIdleConnections to the transport inside.
type wrapped struct {
	http.RoundTripper
	inside *http.Transport
	alone  http.RoundTripper // without the reuse of connections
}

// WithoutReuse returns the transport for requests that must be sent on connections of their own.
func (w wrapped) WithoutReuse() http.RoundTripper { return w.alone }

// CloseIdleConnections implements the interface that http.Client checks for.
func (w wrapped) CloseIdleConnections() { w.inside.CloseIdleConnections() }

// sameOrigin follows redirects within the server only, so that tokens and passwords are not sent
// elsewhere.
func sameOrigin(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// tls returns the configuration of TLS 1.2 or later for the options cafile, certfile, keyfile and
// insecure, which the errors name. insecure makes cafile irrelevant.
func (o *Options) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if o.CAFile != "" && !o.Insecure {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("cafile: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cafile: %s holds no certificate in PEM", o.CAFile)
		}
	}
	if o.CertFile != "" {
		key := o.KeyFile
		if key == "" {
			key = o.CertFile // one file may contain both
		}
		pair, err := tls.LoadX509KeyPair(o.CertFile, key)
		if err != nil {
			return nil, fmt.Errorf("certfile and keyfile: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// A call is one request to Keystone.
type call struct {
	method, url string
	header      http.Header
	body        []byte
	retries     int
}

// An answer is a response with its complete body.
type answer struct {
	status int
	header http.Header
	body   []byte
	tls    *tls.ConnectionState // nil without TLS
	at     time.Time            // time of receipt
}

// send sends a call, with retries while Keystone cannot be reached. A call that timed out is not
// retried: the caller has waited for its whole time-out.
func send(ctx context.Context, client *http.Client, c call) (*answer, error) {
	pause := firstRetry
	for remaining := c.retries; ; remaining-- {
		a, err := sendOnce(ctx, client, c)
		var late interface{ Timeout() bool }
		if err == nil || remaining <= 0 || ctx.Err() != nil || errors.As(err, &late) && late.Timeout() {
			return a, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// sendOnce sends a call and reads the whole answer, of any status. An answer of more than maxAnswer
// bytes is an error.
func sendOnce(ctx context.Context, client *http.Client, c call) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, c.method, c.url, bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "berth")
	if c.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%s %s: reading the answer: %w", c.method, c.url, err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%s %s: the answer has more than %d bytes", c.method, c.url, maxAnswer)
	}
	return &answer{status: res.StatusCode, header: res.Header, body: body, tls: res.TLS, at: time.Now()}, nil
}

// unexpected describes an answer for the log, without its content. Of a redirect that was not
// followed it names the server, since that is what the setting should have: a proxy that redirects
// http to https, for example.
func (a *answer) unexpected(c call) error {
	server := ""
	if target, err := url.Parse(a.header.Get("Location")); err == nil && a.status/100 == 3 && target.Host != "" {
		server = fmt.Sprintf("; it redirects to %s://%s, where no password or token is sent", target.Scheme, target.Host)
	}
	return fmt.Errorf("%s %s: Keystone answered %d %s%s", c.method, c.url, a.status, http.StatusText(a.status), server)
}
