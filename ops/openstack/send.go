package openstack

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthcloud/berth/ops/cloud"
)

// claims is how often allocations are sent that placement refuses because their providers changed meanwhile.
const claims = 5

// grace is how long requests that were sent may take when no more are wanted.
const grace = 10 * time.Second

// Send sends requests, several at a time, and calls done after each that was accepted, one call at a time. After the first error, and when
// ctx ends, it sends no more and waits for the answers to those that were sent, the latter for ten seconds at most: later,
// requests may be carried out whose answers are not known. A service that is busy is asked again.
func (c *Client) Send(ctx context.Context, requests []cloud.Request, done func()) error {
	sending, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, abandon) })()
	var one sync.Mutex
	return each(ctx, len(requests), func(_ context.Context, i int) error {
		if err := c.send(sending, requests[i]); err != nil {
			return err
		}
		one.Lock()
		defer one.Unlock()
		done()
		return nil
	})
}

func (c *Client) send(ctx context.Context, r cloud.Request) error {
	s, err := c.service(r.Service, r.Microversion)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		options := &gophercloud.RequestOpts{
			OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent},
			// net/http sends a request with this header again on another connection when the server has closed the one that was kept, as uWSGI
			// does after each answer. If both are carried out, the generation in the body has the second refused.
			MoreHeaders: map[string]string{"Accept": "application/json", "Idempotency-Key": rand.Text()},
		}
		if r.Body != nil {
			options.RawBody = bytes.NewReader(r.Body)
			options.MoreHeaders["Content-Type"] = "application/json"
		}
		_, err := s.Request(ctx, r.Method, strings.TrimSuffix(s.ServiceURL(""), "/")+r.Path, options)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// Requests at the same time with allocations of the same provider disturb each other.
		var status gophercloud.ErrUnexpectedResponseCode
		disturbed := errors.As(err, &status) && status.Actual == http.StatusConflict && r.Method == http.MethodPut &&
			strings.HasPrefix(r.Path, "/allocations/") && bytes.Contains(status.Body, []byte("placement.concurrent_update"))
		if !disturbed || n == claims {
			return told("the "+r.Service+" service", fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
		}
	}
}
