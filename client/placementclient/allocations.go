package placementclient

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
)

// wireAllocations are those of a consumer in placement's JSON.
type wireAllocations struct {
	Allocations map[string]wireHolding `json:"allocations"`
	Project     string                 `json:"project_id"`
	User        string                 `json:"user_id"`
	Generation  *int64                 `json:"consumer_generation"`
	Type        string                 `json:"consumer_type,omitempty"`
}

type wireHolding struct {
	Resources map[string]int64 `json:"resources"`
}

func (w *wireAllocations) Valid() bool { return w.Allocations != nil }

func allocationsPath(consumer string) string { return "/allocations/" + url.PathEscape(consumer) }

// unknownType is placement's value for a consumer without a type.
const unknownType = "unknown"

// Allocations is allocations.Placement's.
func (p *Client) Allocations(ctx context.Context, consumer string) (allocations.Consumer, error) {
	var cur wireAllocations
	if err := p.call(ctx, typed, client.Request{
		Method: http.MethodGet, Path: allocationsPath(consumer),
	}, &cur); err != nil {
		return allocations.Consumer{}, err
	}
	c := allocations.Consumer{Project: cur.Project, User: cur.User, Generation: cur.Generation}
	if cur.Type != unknownType {
		c.Type = cur.Type
	}
	for provider, h := range cur.Allocations {
		if c.Amounts == nil {
			c.Amounts = make(allocations.Amounts)
		}
		c.Amounts[provider] = h.Resources
	}
	return c, nil
}

// SetAllocations is allocations.Placement's.
func (p *Client) SetAllocations(ctx context.Context, consumer string, c allocations.Consumer) error {
	minor, err := p.typedVersion(ctx, c)
	if err != nil {
		return err
	}
	body := wireConsumer(c, minor)
	send := func() error {
		return p.call(ctx, minor, client.Request{
			Method: http.MethodPut, Path: allocationsPath(consumer), Body: body, Once: true,
		}, nil)
	}
	if err = send(); c.Generation == nil && isKept(err) {
		body.Generation = new(int64)
		err = send()
	}
	return notSet(err)
}

// isKept reports whether a write of a new consumer was refused since upstream's placement has kept
// the consumer of an earlier write, of generation 0 and without allocations: it does so when the
// write names a provider that does not exist, for instance of a host that got another shape
// meanwhile (placement/handlers/allocation.py). Answers without allocations do not have the
// generation. The write may be repeated with generation 0: the first one that succeeds increments
// it, so that nobody's allocations are replaced.
func isKept(err error) bool {
	r := client.Refused(err, http.StatusConflict)
	return r != nil && r.Code == codeConcurrent && strings.HasSuffix(r.Detail, " expected 0 but got None")
}

// SetManyAllocations is allocations.Placement's. Consumers get their types when all of them have
// one.
func (p *Client) SetManyAllocations(ctx context.Context, consumers map[string]allocations.Consumer) error {
	minor := typed
	for _, c := range consumers {
		m, err := p.typedVersion(ctx, c)
		if err != nil {
			return err
		}
		minor = min(minor, m)
	}
	body := make(map[string]wireAllocations, len(consumers))
	var added []string
	for id, c := range consumers {
		body[id] = wireConsumer(c, minor)
		if c.Generation == nil {
			added = append(added, id)
		}
	}
	send := func() error {
		return p.call(ctx, minor, client.Request{Method: http.MethodPost, Path: "/allocations", Body: body, Once: true}, nil)
	}
	err := send()
	if len(added) == 1 && isKept(err) { // the answer does not say which it is
		w := body[added[0]]
		w.Generation = new(int64)
		body[added[0]] = w
		err = send()
	}
	return notSet(err)
}

// typedVersion returns the version of a write: the one with types of consumers when it is supported
// and the consumer has a type.
func (p *Client) typedVersion(ctx context.Context, c allocations.Consumer) (int, error) {
	newest, err := p.newest(ctx)
	if newest >= typed && c.Type != "" {
		return typed, err
	}
	return reparent, err
}

func wireConsumer(c allocations.Consumer, minor int) wireAllocations {
	w := wireAllocations{
		Allocations: make(map[string]wireHolding, len(c.Amounts)), Project: c.Project, User: c.User, Generation: c.Generation,
	}
	if minor >= typed {
		w.Type = c.Type
	}
	for provider, resources := range c.Amounts {
		w.Allocations[provider] = wireHolding{resources}
	}
	return w
}

// notSet converts the error of a write of allocations. A provider that does not exist any more,
// since its tree has another shape, has as little left as one that is full: that has no code of its
// own.
func notSet(err error) error {
	r := client.Refused(err, http.StatusBadRequest)
	if r != nil && strings.HasPrefix(r.Detail, "Allocation for resource provider ") &&
		strings.HasSuffix(r.Detail, " that does not exist.") {
		return client.Known(r, allocations.ErrCapacity)
	}
	r = client.Refused(err, http.StatusConflict)
	switch {
	case r == nil:
		return err
	case r.Code == codeConcurrent:
		return client.Known(r, allocations.ErrGeneration)
	}
	return client.Known(r, allocations.ErrCapacity)
}
