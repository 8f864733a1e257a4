package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berthcloud/berth/network"
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

// Allocations is network.Placement's.
func (p *Placement) Allocations(ctx context.Context, consumer string) (network.Allocations, error) {
	var is wireAllocations
	if err := p.call(ctx, typed, request{method: http.MethodGet, path: allocationsPath(consumer)}, &is); err != nil {
		return network.Allocations{}, err
	}
	held := network.Allocations{Project: is.Project, User: is.User, Generation: is.Generation}
	if is.Type != unknownType {
		held.Type = is.Type
	}
	for provider, h := range is.Allocations {
		if held.Providers == nil {
			held.Providers = make(map[string]map[string]int64)
		}
		held.Providers[provider] = h.Resources
	}
	return held, nil
}

// SetAllocations implements network.Placement. A consumer for which no type is given keeps its
// type.
func (p *Placement) SetAllocations(ctx context.Context, consumer string, a network.Allocations) error {
	body := wireAllocations{
		Allocations: make(map[string]wireHolding, len(a.Providers)),
		Project:     a.Project, User: a.User, Generation: a.Generation,
	}
	for provider, resources := range a.Providers {
		body.Allocations[provider] = wireHolding{resources}
	}
	newest, err := p.newest(ctx)
	if err != nil {
		return err
	}
	minor := reparent
	if newest >= typed && a.Type != "" {
		minor, body.Type = typed, a.Type
	}
	q := request{method: http.MethodPut, path: allocationsPath(consumer), body: body, once: true}
	err = p.call(ctx, minor, q, nil)
	r := refused(err, http.StatusConflict)
	switch {
	case r == nil:
		return err
	case r.Code == codeConcurrent:
		return &known{r, network.ErrGeneration}
	}
	return &known{r, network.ErrCapacity}
}
