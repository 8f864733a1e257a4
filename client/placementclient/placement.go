// Package placementclient is the client of a placement service: it implements the interfaces to
// placement that packages allocations, providertree and compute declare.
package placementclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Client is a client of a placement service. It may be used concurrently.
//
// It needs version 1.29 of the API. Two features need a newer one: before 1.37 a provider cannot
// move to another parent, and Update returns an error; before 1.38 consumers have no type.
type Client struct {
	service *client.Service
	max     atomic.Int32 // newest minor version of the service; 0 until it is read
}

var (
	_ allocations.Placement  = (*Client)(nil)
	_ providertree.Placement = (*Client)(nil)
)

// New returns a Client. It sends no request, so that a service can start while
// placement is unavailable.
func New(opts client.Options) *Client {
	return &Client{service: client.NewService("placement", opts)}
}

// Close closes idle connections.
func (p *Client) Close() { p.service.Close() }

// The codes of placement for an outdated generation, and for an inventory to be removed that has
// allocations.
const (
	codeConcurrent fault.Code = "placement.concurrent_update"
	codeInUse      fault.Code = "placement.inventory.inuse"
)

// call sends a request at version 1.minor, or the newest one before it that the service has.
func (p *Client) call(ctx context.Context, minor int, q client.Request, out client.Document) error {
	for again := true; ; again = false {
		newest, err := p.newest(ctx)
		if err != nil {
			return err
		}
		q.Version = fmt.Sprintf("placement 1.%d", min(minor, newest))
		err = p.service.Call(ctx, q, out)
		if client.Refused(err, http.StatusNotAcceptable) == nil || !again {
			return err
		}
		p.max.Store(0) // another release answers now
	}
}

func (p *Client) get(ctx context.Context, path string, out client.Document) error {
	return p.call(ctx, reparent, client.Request{Method: http.MethodGet, Path: path}, out)
}

func (p *Client) put(ctx context.Context, path string, body any) error {
	return p.call(ctx, reparent, client.Request{Method: http.MethodPut, Path: path, Body: body}, nil)
}

// swap runs change, which reads a generation and writes with it, until no other writer was in
// between.
func swap(ctx context.Context, change func() error) error {
	return allocations.Retry(ctx, allocations.Pause, func() error {
		err := change()
		if r := client.Refused(err, http.StatusConflict); r != nil && r.Code == codeConcurrent {
			return client.Known(r, allocations.ErrGeneration)
		}
		return err
	})
}

// inUse marks a conflict that is not about generations.
func inUse(err error) error {
	if r := client.Refused(err, http.StatusConflict); r != nil && !errors.Is(err, allocations.ErrGeneration) &&
		r.Code != codeConcurrent {
		return client.Known(r, allocations.ErrInUse)
	}
	return err
}
