package placementclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A wireProvider is a provider in placement's JSON.
type wireProvider struct {
	UUID       string  `json:"uuid,omitempty"`
	Name       string  `json:"name"`
	Parent     *string `json:"parent_provider_uuid"`
	Generation int64   `json:"generation,omitempty"`
}

func (w *wireProvider) Valid() bool { return w.UUID != "" }

type wireProviders struct {
	Providers []wireProvider `json:"resource_providers"`
}

func (w *wireProviders) Valid() bool { return w.Providers != nil }

func providerPath(uuid string) string { return "/resource_providers/" + url.PathEscape(uuid) }

// list returns the providers that match a filter, without their contents.
func (p *Client) list(ctx context.Context, filter, value string) ([]providertree.Provider, error) {
	var found wireProviders
	if err := p.get(ctx, "/resource_providers?"+filter+"="+url.QueryEscape(value), &found); err != nil {
		return nil, err
	}
	all := make([]providertree.Provider, len(found.Providers))
	for i, w := range found.Providers {
		all[i] = providertree.Provider{
			ID: placement.UUID(w.UUID), Name: w.Name, Parent: placement.UUID(or(w.Parent, "")), Generation: w.Generation,
		}
	}
	return all, nil
}

// Named is providertree.Placement's.
func (p *Client) Named(ctx context.Context, name string) (providertree.Provider, error) {
	all, err := p.list(ctx, "name", name)
	if err != nil {
		return providertree.Provider{}, err
	}
	if len(all) == 0 {
		return providertree.Provider{}, fmt.Errorf("%w: none is named %q", allocations.ErrNoProvider, name)
	}
	return all[0], nil
}

// Create is providertree.Placement's.
func (p *Client) Create(ctx context.Context, want providertree.Provider) (int64, error) {
	body := wireProvider{UUID: string(want.ID), Name: want.Name}
	if want.Parent != "" {
		body.Parent = (*string)(&want.Parent)
	}
	var made wireProvider
	err := p.call(ctx, reparent, client.Request{Method: http.MethodPost, Path: "/resource_providers", Body: body}, &made)
	if r := client.Refused(err, http.StatusConflict); r != nil {
		if p.get(ctx, providerPath(string(want.ID)), &made) == nil {
			return 0, client.Known(r, allocations.ErrGeneration)
		} // else the name is another's
	}
	return made.Generation, err
}

// Update is providertree.Placement's.
func (p *Client) Update(ctx context.Context, want providertree.Provider) (int64, error) {
	body := wireProvider{Name: want.Name}
	if want.Parent != "" {
		body.Parent = (*string)(&want.Parent)
	}
	var updated wireProvider
	err := p.call(ctx, reparent, client.Request{
		Method: http.MethodPut, Path: providerPath(string(want.ID)), Body: body,
	}, &updated)
	if r := client.Refused(err, http.StatusConflict); r != nil && r.Code == codeConcurrent {
		return 0, client.Known(r, allocations.ErrGeneration)
	}
	if r := client.Refused(err, http.StatusBadRequest); r != nil &&
		strings.Contains(r.Detail, "-parenting a provider is not currently allowed") {
		return 0, fmt.Errorf(
			"provider %s has another parent, and moving it needs version 1.%d of placement's API, which has 1.%d: %w",
			want.ID, reparent, p.max.Load(), err)
	}
	return updated.Generation, asConcurrentChange(err)
}

// Remove is providertree.Placement's.
func (p *Client) Remove(ctx context.Context, id placement.UUID) error {
	return inUse(swap(ctx, func() error {
		err := p.call(ctx, reparent, client.Request{Method: http.MethodDelete, Path: providerPath(string(id))}, nil)
		if r := client.Refused(err, http.StatusNotFound); r != nil && r.Detail != "" { // in placement's form
			return nil
		}
		return err
	}))
}

// asConcurrentChange turns the error for a removed provider into that for a concurrent change.
func asConcurrentChange(err error) error {
	if r := client.Refused(err, http.StatusNotFound); r != nil {
		return client.Known(r, allocations.ErrGeneration)
	}
	return err
}
