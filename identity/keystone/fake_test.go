package keystone_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/identity/keystone"
)

// object is a piece of JSON.
type object = map[string]any

// A fake is a Keystone in memory.
type fake struct {
	mu      sync.Mutex // guards what follows
	calls   []string   // "GET /v3/auth/tokens", in order
	bodies  []string   // of the requests
	queries []string
	subject map[string]object // the tokens it has issued, with the answers about them
	own     string            // the service's token, of those issued
	issued  int
	ownLife time.Duration
	url     string   // of its endpoint in the catalogue
	catalog []object // instead of one with that endpoint

	// before may answer a request in place of the fake.
	before func(r *http.Request) (*http.Response, error)
}

func newFake() *fake {
	return &fake{subject: make(map[string]object), ownLife: time.Hour, url: "http://keystone.test/v3"}
}

// RoundTrip answers a request.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(data)
	}
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	f.bodies = append(f.bodies, body)
	f.queries = append(f.queries, r.URL.RawQuery)
	before := f.before
	f.mu.Unlock()
	if before != nil {
		if res, err := before(r); res != nil || err != nil {
			return res, err
		}
	}
	return f.answer(r), nil
}

func (f *fake) answer(r *http.Request) *http.Response {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.Method + " " + r.URL.Path {
	case "GET ", "GET /", "GET /v3":
		return reply(http.StatusMultipleChoices, versions("http://keystone.test/v3/"))
	case "POST /v3/auth/tokens":
		return f.issue()
	case "GET /v3/auth/tokens":
		return f.validate(r)
	}
	return reply(http.StatusNotFound, object{})
}

// issue issues a token for the service and invalidates the previous one.
func (f *fake) issue() *http.Response {
	f.issued++
	f.own = fmt.Sprintf("own-%d", f.issued)
	t := tokenOf("placement", f.ownLife)
	t["catalog"] = []object{
		{"type": "identity", "endpoints": []object{{"interface": "internal", "region": "RegionOne", "url": f.url}}},
	}
	if f.catalog != nil {
		t["catalog"] = f.catalog
	}
	res := reply(http.StatusCreated, object{"token": t})
	res.Header.Set("X-Subject-Token", f.own)
	return res
}

func (f *fake) validate(r *http.Request) *http.Response {
	t, known := f.subject[r.Header.Get("X-Subject-Token")]
	expired := known && expiryOf(t).Before(time.Now())
	switch {
	case r.Header.Get("X-Auth-Token") != f.own:
		return reply(http.StatusUnauthorized, object{})
	case !known, expired && !strings.Contains(r.URL.RawQuery, "allow_expired=1"):
		return reply(http.StatusNotFound, object{})
	}
	return reply(http.StatusOK, object{"token": t})
}

// know adds a token.
func (f *fake) know(id string, t object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subject[id] = t
}

// intercept sets the handler that answers first; nil removes it.
func (f *fake) intercept(before func(*http.Request) (*http.Response, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// count returns the number of calls.
func (f *fake) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c == call {
			n++
		}
	}
	return n
}

const (
	check = "GET /v3/auth/tokens"
	logIn = "POST /v3/auth/tokens"
)

func reply(status int, body any) *http.Response {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: status, Header: make(http.Header), Body: io.NopCloser(bytes.NewReader(data))}
}

func versions(href string) object {
	return object{"versions": object{"values": []object{{
		"id": "v3.14", "status": "stable", "links": []object{{"rel": "self", "href": href}},
	}}}}
}

// tokenOf returns Keystone's answer about a user's token for a project.
func tokenOf(user string, life time.Duration, roles ...string) object {
	names := []object{}
	for _, r := range roles {
		names = append(names, object{"id": "id-" + r, "name": r})
	}
	now := time.Now()
	return object{
		"user":       object{"id": "u-" + user, "name": user, "domain": object{"id": "default", "name": "Default"}},
		"project":    object{"id": "p-demo", "name": "demo", "domain": object{"id": "default", "name": "Default"}},
		"roles":      names,
		"issued_at":  stamp(now),
		"expires_at": stamp(now.Add(life)),
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func expiryOf(t object) time.Time {
	when, err := time.Parse(time.RFC3339, t["expires_at"].(string))
	if err != nil {
		panic(err)
	}
	return when
}

var errRefused = errors.New("connection refused")

// late is the error of a network time-out.
type late struct{ error }

func (late) Timeout() bool   { return true }
func (late) Temporary() bool { return true }

// options are those of the tests: a service that may check tokens.
func options() keystone.Options {
	return keystone.Options{
		Credentials: keystone.Credentials{
			Type: keystone.Password,
			Auth: keystone.Auth{
				AuthURL: "http://keystone.test", Username: "placement", Password: "pass-of-placement", UserDomainName: "Default",
				ProjectName: "service", ProjectDomainName: "Default",
			},
		},
		Timeout:      5 * time.Second,
		CacheTime:    5 * time.Minute,
		ServiceRoles: []string{"service"},
	}
}

// newValidator returns a Validator that sends its requests to f.
func newValidator(t testing.TB, f *fake, change ...func(*keystone.Options)) *keystone.Validator {
	t.Helper()
	opts := options()
	for _, c := range change {
		c(&opts)
	}
	v, err := keystone.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	v.SetTransport(f)
	return v
}

// logger returns a log that writes to a buffer.
func logger() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})), &b
}

func readBody(res *http.Response) string {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		panic(err)
	}
	return string(data)
}
