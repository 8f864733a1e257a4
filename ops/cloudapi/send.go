package cloudapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthcloud/berth/ops/cloud"
)

// claims is how often a request is sent that placement refuses for what others do at the same time.
const claims = 5

// namesTime is how long a request waits before it is sent again because placement does not know a
// class that was created.
const namesTime = 200 * time.Millisecond

// grace is how long requests that were sent may take when no more are wanted.
const grace = 10 * time.Second

// Send sends requests, several at a time, and calls done after each that was accepted, one call at
// a time. After the first error, and when ctx ends, it sends no more and waits for the answers to
// those that were sent, the latter for ten seconds at most: later, requests may be carried out
// whose answers are not known. A service that is busy is queried again.
func (c *Client) Send(ctx context.Context, requests []cloud.Request, done func()) error {
	sending, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, abandon) })()
	var mu sync.Mutex
	return each(ctx, len(requests), func(_ context.Context, i int) error {
		if err := c.send(sending, requests[i]); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		done()
		return nil
	})
}

func (c *Client) send(ctx context.Context, r cloud.Request) error {
	for n := 1; ; n++ {
		res, err := c.request(ctx, r)
		if err == nil {
			return res.Body.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// Requests at the same time with allocations of the same provider disturb each other. In
		// upstream's Placement a class that was created a moment ago may be unknown: threads share
		// what the service has read of the names.
		var status gophercloud.ErrUnexpectedResponseCode
		disturbed := errors.As(err, &status) && r.Method == http.MethodPut &&
			(status.Actual == http.StatusConflict && strings.HasPrefix(r.Path, "/allocations/") &&
				bytes.Contains(status.Body, []byte("placement.concurrent_update")) ||
				status.Actual == http.StatusBadRequest && bytes.Contains(status.Body, []byte("No such resource class")))
		if !disturbed || n == claims {
			return wrapError("the "+r.Service+" service", fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
		}
		if status.Actual == http.StatusBadRequest {
			select {
			case <-time.After(namesTime):
			case <-ctx.Done():
			}
		}
	}
}

// request sends a request once, or again when the service is busy.
func (c *Client) request(ctx context.Context, r cloud.Request) (*http.Response, error) {
	s, err := c.endpointOf(r.Service, r.Microversion)
	if err != nil {
		return nil, err
	}
	options := &gophercloud.RequestOpts{
		OkCodes:          []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent},
		KeepResponseBody: true,
		// net/http sends a request with this header again on another connection when the server has
		// closed the one that was kept, as uWSGI does after each answer. If both are carried out,
		// the generation in the body has the second refused.
		MoreHeaders: map[string]string{"Accept": "application/json", "Idempotency-Key": rand.Text()},
	}
	for name, value := range r.Headers {
		options.MoreHeaders[name] = value
	}
	if r.Body != nil {
		options.RawBody = bytes.NewReader(r.Body)
		options.MoreHeaders["Content-Type"] = "application/json"
	}
	return s.Request(ctx, r.Method, strings.TrimSuffix(s.ServiceURL(""), "/")+r.Path, options)
}

// Do sends one request and returns the status and the body of the answer, also of one that is a
// refusal. The error is that there is no answer. A service that is busy is queried again.
func (c *Client) Do(ctx context.Context, r cloud.Request) (status int, body []byte, err error) {
	res, err := c.request(ctx, r)
	var refused gophercloud.ErrUnexpectedResponseCode
	switch {
	case errors.As(err, &refused):
		return refused.Actual, refused.Body, nil
	case err != nil && ctx.Err() != nil:
		return 0, nil, ctx.Err()
	case err != nil:
		return 0, nil, wrapError("the "+r.Service+" service", fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		return 0, nil, wrapError("the "+r.Service+" service", fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
	}
	return res.StatusCode, body, nil
}

// Endpoint returns the URL of a service, without a slash at its end, below which the paths of
// requests are.
func (c *Client) Endpoint(service string) (string, error) {
	s, err := c.endpointOf(service, "")
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(s.ServiceURL(""), "/"), nil
}

// endpointOf returns the client of a service. That of the network service ends in its version.
func (c *Client) endpointOf(service, microversion string) (*gophercloud.ServiceClient, error) {
	if service == "network" {
		return c.network()
	}
	return c.service(service, microversion)
}

// Message returns what the body of a refusal says, in one line, and without one what its status
// means.
func Message(status int, body []byte) string {
	if detail := message(body); detail != "" {
		return detail
	}
	return http.StatusText(status)
}
