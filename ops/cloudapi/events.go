package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthcloud/berth/ops/cloud"
)

// ErrNoEvents is the error of Events where the placement service is not Berth's.
var ErrNoEvents = errors.New("the placement service has no stream of events")

// Refused reports whether an error is an answer that the same request will get again.
func Refused(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status < http.StatusInternalServerError && r.status != http.StatusTooManyRequests
}

// Events opens the stream of events of Berth's placement service after the event with the id last,
// unless that is empty. Its body is to be closed, and ends with ctx.
func (c *Client) Events(ctx context.Context, query url.Values, last string) (io.ReadCloser, error) {
	s, err := c.service("placement", placementVersion)
	if err != nil {
		return nil, err
	}
	path := "berth/v1/events"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	client := c.provider.HTTPClient
	client.Timeout = 0 // the answer has no end
	for try := 0; ; try++ {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ServiceURL(path), nil)
		if err != nil {
			return nil, err
		}
		token := c.provider.Token()
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("Accept", "text/event-stream, application/json;q=0.9") // errors have the second
		r.Header.Set("User-Agent", c.provider.UserAgent.Join())
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		answer, err := client.Do(r)
		if err != nil {
			return nil, fmt.Errorf("querying the placement service: %w", err)
		}
		kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
		if answer.StatusCode == http.StatusOK && kind == "text/event-stream" {
			return answer.Body, nil
		}
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
		answer.Body.Close()
		switch {
		case answer.StatusCode == http.StatusUnauthorized && try == 0 && c.provider.ReauthFunc != nil:
			if err := c.provider.Reauthenticate(ctx, token); err != nil {
				return nil, fmt.Errorf("logging in to %s: %w", c.source, wrapError("Keystone", err))
			}
			continue
		case answer.StatusCode == http.StatusNotFound && !strings.Contains(message(body), "There is no provider"),
			answer.StatusCode == http.StatusOK:
			return nil, ErrNoEvents
		}
		return nil, wrapError("the placement service", gophercloud.ErrUnexpectedResponseCode{
			URL: r.URL.String(), Method: r.Method, Actual: answer.StatusCode, Body: body, ResponseHeader: answer.Header,
		})
	}
}

// everythingEach is how many readings of a Poller there are for each that reads everything, where
// there are more than everythingBelow providers.
const (
	everythingEach  = 10
	everythingBelow = 100
)

// A Poller reads the records of the placement service again and again, with few requests: providers
// whose generation did not change are not read again, but for each tenth time. Allocations that are
// deleted raise no generation in the original service. Of up to 100 providers all are read each
// time. It is for one goroutine.
type Poller struct {
	client *Client
	tree   string
	root   string // of the tree
	n      int
	last   *placementReader
}

// Poller returns a poller of all providers, or of the tree of one with that name or UUID.
func (c *Client) Poller(tree string) *Poller { return &Poller{client: c, tree: tree} }

// Read reads the records.
func (p *Poller) Read(ctx context.Context) (*cloud.Placement, error) {
	s, err := p.client.service("placement", placementVersion)
	if err != nil {
		return nil, err
	}
	r := &placementReader{ServiceClient: s, consumers: true}
	if err := r.lists(ctx, p.tree); err != nil {
		return nil, err
	}
	if len(r.listed) == 0 && p.root != "" { // the provider has another name by now
		if err := r.lists(ctx, p.root); err != nil {
			return nil, err
		}
	}
	if p.tree != "" && len(r.listed) > 0 {
		p.root = r.listed[0].Root
	}
	if p.last != nil && len(r.listed) > everythingBelow && p.n%everythingEach != 0 {
		r.know(p.last)
	}
	var m meter
	if err := r.readProviders(ctx, func() {}); err != nil {
		return nil, err
	}
	if err := r.readConsumers(ctx, &m); err != nil {
		return nil, err
	}
	p.n, p.last = p.n+1, r
	return r.records(), nil
}
