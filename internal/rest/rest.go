// Package rest is an HTTP client of Placement's API, and those of its peer services, for the
// black-box tests: one method, one path, one answer. It does not interpret answers and is not a
// client library; the real clients have tests of their own.
package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
)

// Versions that tests name often.
const (
	Oldest = "1.0"
	Newest = "1.39"
)

// requestTimeout bounds one request; a service that needs longer hangs.
const requestTimeout = 60 * time.Second

// A Client sends requests as an administrator who is also a service. It may be used concurrently.
type Client struct {
	base    string
	version string
	token   string // "" for the administrator's with noauth2
	http    *http.Client
}

// New returns a client of the service at base, a URL without a trailing slash, with the
// microversion version: of placement, unless it names another service, as "compute 2.72" does. An
// empty version sends no version header.
func New(base, version string) *Client {
	t := &http.Transport{MaxIdleConnsPerHost: 128}
	return &Client{base: base, version: version, http: &http.Client{Transport: t, Timeout: requestTimeout}}
}

// NewOneShot does what New does, but its client opens a connection for each request and accepts no
// compression. Upstream's application server closes a connection after an answer without announcing
// it.
func NewOneShot(base, version string) *Client {
	t := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	return &Client{base: base, version: version, http: &http.Client{Transport: t, Timeout: requestTimeout}}
}

// At returns a client that shares the connections of c and has another microversion.
func (c *Client) At(version string) *Client {
	return &Client{base: c.base, version: version, token: c.token, http: c.http}
}

// As returns a client that shares the connections of c and has its own token, for services that
// check tokens; "" is that of c.
func (c *Client) As(token string) *Client {
	other := *c
	if token != "" {
		other.token = token
	}
	return &other
}

// Close drops the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// An Answer is a service's answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request whose body, unless nil, is written as JSON. An error means that there was no
// complete answer: whether the service executed the request is then unknown.
func (c *Client) Do(method, path string, body any) (Answer, error) {
	req, err := c.request(method, path, body)
	if err != nil {
		return Answer{}, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = res.Body.Close() }() // all of it has been read
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("reading the answer to %s %s: %w", method, path, err)
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: text}, nil
}

func (c *Client) request(method, path string, body any) (*http.Request, error) {
	var r io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, c.base+path, r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Auth-Token", cmp.Or(c.token, "admin"))
	req.Header.Set("X-Roles", "admin,service")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.Contains(c.version, " "):
		req.Header.Set("OpenStack-API-Version", c.version)
	case c.version != "":
		req.Header.Set("OpenStack-API-Version", "placement "+c.version)
	}
	return req, nil
}

// Must sends a request and ends the test unless the status is in the hundred of want: Must(t, 204,
// …) accepts 200 and 201 too. It is for the preparation of a test.
func (c *Client) Must(t testing.TB, want int, method, path string, body any) Answer {
	t.Helper()
	a, err := c.Do(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status/100 != want/100 {
		t.Fatalf("%s %s at %q = %d, want %d\n%s", method, path, c.version, a.Status, want, a.Body)
	}
	return a
}

// Read gets path, which has to exist, and decodes the answer into v.
func (c *Client) Read(t testing.TB, path string, v any) {
	t.Helper()
	a := c.Must(t, http.StatusOK, "GET", path, nil)
	if err := json.Unmarshal(a.Body, v); err != nil {
		t.Fatalf("GET %s: %v\n%s", path, err, a.Body)
	}
}

// Each runs fn against upstream's Placement and against Berth, each in a subtest with the URL of a
// fresh service. A claim that is true of the first is a fact about Placement.
func Each(t *testing.T, fn func(t *testing.T, url string)) {
	t.Helper()
	t.Run("Upstream", func(t *testing.T) {
		fn(t, gateway(t, server.StartUpstream(t, server.Options{}).URL()))
	})
	t.Run("Berth", func(t *testing.T) {
		fn(t, several(t))
	})
}

// several starts Berth, or the number of instances in the environment variable BERTH_TEST_INSTANCES
// on one database, behind a load balancer without affinity, and returns its URL.
func several(t *testing.T) string {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("BERTH_TEST_INSTANCES"))
	if err != nil || n < 2 {
		return server.StartBerth(t, server.Options{}).URL()
	}
	database := server.NewDatabase(t, server.ChosenDatabase(t)).Berth
	var targets []string
	for range n {
		targets = append(targets, server.StartBerth(t, server.Options{Database: database}).URL())
	}
	return balancer(t, targets)
}
