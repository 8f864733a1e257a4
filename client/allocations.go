package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berthcloud/berth/allocations"
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

func (w *wireAllocations) check() bool { return w.Allocations != nil }

func allocationsPath(consumer string) string { return "/allocations/" + url.PathEscape(consumer) }

// unknownType is placement's value for a consumer without a type.
const unknownType = "unknown"

// Allocations is allocations.Placement's.
func (p *Placement) Allocations(ctx context.Context, consumer string) (allocations.Consumer, error) {
	var is wireAllocations
	if err := p.call(ctx, typed, request{method: http.MethodGet, path: allocationsPath(consumer)}, &is); err != nil {
		return allocations.Consumer{}, err
	}
	c := allocations.Consumer{Project: is.Project, User: is.User, Generation: is.Generation}
	if is.Type != unknownType {
		c.Type = is.Type
	}
	for provider, h := range is.Allocations {
		if c.Amounts == nil {
			c.Amounts = make(allocations.Amounts)
		}
		c.Amounts[provider] = h.Resources
	}
	return c, nil
}

// SetAllocations is allocations.Placement's.
func (p *Placement) SetAllocations(ctx context.Context, consumer string, c allocations.Consumer) error {
	minor, err := p.typedVersion(ctx, c)
	if err != nil {
		return err
	}
	q := request{method: http.MethodPut, path: allocationsPath(consumer), body: wireConsumer(c, minor), once: true}
	return notSet(p.call(ctx, minor, q, nil))
}

// SetManyAllocations is allocations.Placement's. Consumers get their types when all of them have one.
func (p *Placement) SetManyAllocations(ctx context.Context, consumers map[string]allocations.Consumer) error {
	minor := typed
	for _, c := range consumers {
		m, err := p.typedVersion(ctx, c)
		if err != nil {
			return err
		}
		minor = min(minor, m)
	}
	body := make(map[string]wireAllocations, len(consumers))
	for id, c := range consumers {
		body[id] = wireConsumer(c, minor)
	}
	return notSet(p.call(ctx, minor, request{method: http.MethodPost, path: "/allocations", body: body, once: true}, nil))
}

// typedVersion returns the version of a write: the one with types of consumers when it is supported and
// the consumer has a type.
func (p *Placement) typedVersion(ctx context.Context, c allocations.Consumer) (int, error) {
	newest, err := p.newest(ctx)
	if newest >= typed && c.Type != "" {
		return typed, err
	}
	return reparent, err
}

func wireConsumer(c allocations.Consumer, minor int) wireAllocations {
	w := wireAllocations{Allocations: make(map[string]wireHolding, len(c.Amounts)), Project: c.Project, User: c.User, Generation: c.Generation}
	if minor >= typed {
		w.Type = c.Type
	}
	for provider, resources := range c.Amounts {
		w.Allocations[provider] = wireHolding{resources}
	}
	return w
}

// notSet converts the error of a write of allocations.
func notSet(err error) error {
	r := refused(err, http.StatusConflict)
	switch {
	case r == nil:
		return err
	case r.Code == codeConcurrent:
		return &known{r, allocations.ErrGeneration}
	}
	return &known{r, allocations.ErrCapacity}
}
