package placementclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/network"
)

// A wireProvider is a provider in placement's JSON.
type wireProvider struct {
	UUID       string  `json:"uuid,omitempty"`
	Name       string  `json:"name"`
	Parent     *string `json:"parent_provider_uuid"`
	Generation int64   `json:"generation,omitempty"`
}

func (w *wireProvider) provider() network.Provider {
	p := network.Provider{UUID: w.UUID, Name: w.Name, Generation: w.Generation}
	if w.Parent != nil {
		p.Parent = *w.Parent
	}
	return p
}

type wireProviders struct {
	Providers []wireProvider `json:"resource_providers"`
}

func (w *wireProviders) Valid() bool { return w.Providers != nil }

func providerPath(uuid string) string { return "/resource_providers/" + url.PathEscape(uuid) }

// ProviderNamed is network.Placement's.
func (p *Client) ProviderNamed(ctx context.Context, name string) (network.Provider, error) {
	all, err := p.list(ctx, "name", name)
	if err != nil {
		return network.Provider{}, err
	}
	if len(all) == 0 {
		return network.Provider{}, fmt.Errorf("%w: none is named %q", allocations.ErrNoProvider, name)
	}
	return all[0], nil
}

// ProvidersBelow is network.Placement's.
func (p *Client) ProvidersBelow(ctx context.Context, root string) ([]network.Provider, error) {
	all, err := p.list(ctx, "in_tree", root)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%w: none has the UUID %s", allocations.ErrNoProvider, root)
	}
	return all, err
}

// list returns the providers that match a filter.
func (p *Client) list(ctx context.Context, filter, value string) ([]network.Provider, error) {
	var found wireProviders
	if err := p.get(ctx, "/resource_providers?"+filter+"="+url.QueryEscape(value), &found); err != nil {
		return nil, err
	}
	all := make([]network.Provider, len(found.Providers))
	for i := range all {
		all[i] = found.Providers[i].provider()
	}
	return all, nil
}

// EnsureProvider is network.Placement's.
func (p *Client) EnsureProvider(ctx context.Context, want network.Provider) error {
	body := wireProvider{Name: want.Name}
	if want.Parent != "" {
		body.Parent = &want.Parent
	}
	return swap(ctx, func() error {
		err := p.update(ctx, want.UUID, body)
		if client.Refused(err, http.StatusNotFound) == nil {
			return err
		}
		made := body
		made.UUID = want.UUID
		err = p.call(ctx, reparent, client.Request{Method: http.MethodPost, Path: "/resource_providers", Body: made}, nil)
		if client.Refused(err, http.StatusConflict) != nil {
			// Another instance created it concurrently, or the name is another provider's: the
			// update shows which.
			if late := p.update(ctx, want.UUID, body); client.Refused(late, http.StatusNotFound) == nil {
				return late
			}
		}
		return err
	})
}

// update sets a provider's name and parent.
func (p *Client) update(ctx context.Context, uuid string, body wireProvider) error {
	err := p.put(ctx, providerPath(uuid), body)
	if r := client.Refused(err, http.StatusBadRequest); r != nil && strings.Contains(r.Detail, "-parenting a provider is not currently allowed") {
		return fmt.Errorf("provider %s has another parent, and moving it needs version 1.%d of placement's API, which has 1.%d: %w",
			uuid, reparent, p.max.Load(), err)
	}
	return err
}

// RemoveProvider is network.Placement's.
func (p *Client) RemoveProvider(ctx context.Context, uuid string) error {
	return inUse(swap(ctx, func() error {
		err := p.call(ctx, reparent, client.Request{Method: http.MethodDelete, Path: providerPath(uuid)}, nil)
		if r := client.Refused(err, http.StatusNotFound); r != nil && r.Detail != "" { // in placement's form
			return nil
		}
		return err
	}))
}
