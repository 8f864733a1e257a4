package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// A Placement is a client of a placement service. It may be used concurrently.
//
// It needs version 1.29 of the API. Two features need a newer one: before 1.37 a provider cannot
// move to another parent, and EnsureProvider returns an error; before 1.38 consumers have no type.
type Placement struct {
	service *service
	max     atomic.Int32 // newest minor version of the service; 0 until it is read
}

var _ network.Placement = (*Placement)(nil)

// NewPlacement returns a Placement. It sends no request, so that a service can start while
// placement is unavailable.
func NewPlacement(opts Options) *Placement {
	return &Placement{service: newService("placement", opts)}
}

// Close closes idle connections.
func (p *Placement) Close() { p.service.opts.HTTP.CloseIdleConnections() }

// codeConcurrent is placement's code for an outdated generation.
const codeConcurrent fault.Code = "placement.concurrent_update"

// call sends a request at version 1.minor, or the newest one before it that the service has.
func (p *Placement) call(ctx context.Context, minor int, q request, out checker) error {
	for again := true; ; again = false {
		newest, err := p.newest(ctx)
		if err != nil {
			return err
		}
		q.version = fmt.Sprintf("placement 1.%d", min(minor, newest))
		err = p.service.call(ctx, q, out)
		if refused(err, http.StatusNotAcceptable) == nil || !again {
			return err
		}
		p.max.Store(0) // another release answers now
	}
}

func (p *Placement) get(ctx context.Context, path string, out checker) error {
	return p.call(ctx, reparent, request{method: http.MethodGet, path: path}, out)
}

func (p *Placement) put(ctx context.Context, path string, body any) error {
	return p.call(ctx, reparent, request{method: http.MethodPut, path: path, body: body}, nil)
}

// swap runs change, which reads a generation and writes with it, until no other writer was in
// between.
func swap(ctx context.Context, change func() error) error {
	return allocations.Retry(ctx, allocations.Pause, func() error {
		err := change()
		if r := refused(err, http.StatusConflict); r != nil && r.Code == codeConcurrent {
			return &known{r, allocations.ErrGeneration}
		}
		return err
	})
}

// noProvider marks the refusal of a request for a missing provider.
func noProvider(err error) error {
	if r := refused(err, http.StatusNotFound); r != nil {
		return &known{r, allocations.ErrNoProvider}
	}
	return err
}

// inUse marks a conflict that is not about generations.
func inUse(err error) error {
	if r := refused(err, http.StatusConflict); r != nil && !errors.Is(err, allocations.ErrGeneration) && r.Code != codeConcurrent {
		return &known{r, allocations.ErrInUse}
	}
	return err
}
