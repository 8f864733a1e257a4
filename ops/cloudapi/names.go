package cloudapi

import (
	"context"
	"net/url"
	"regexp"

	"github.com/gophercloud/gophercloud/v2"
)

// A Named is something of a cloud with its name, which may be "" and need not be unique.
type Named struct{ ID, Name string }

// The kinds of what Names lists.
const (
	Hosts    = "host" // root providers
	Servers  = "server"
	Flavors  = "flavor"
	Images   = "image"
	Ports    = "port"
	Networks = "network"
	Classes  = "class" // resource classes, whose ids are their names
)

// Names lists what there is of a kind whose name may begin with a text, for shells that complete
// names: it sends a request for a page, and has what was read before an error too. Services that
// cannot search by the beginning of a name list all.
func (c *Client) Names(ctx context.Context, kind, begun string) (all []Named, err error) {
	switch kind {
	case Hosts:
		return c.hosts(ctx)
	case Classes:
		return c.classes(ctx)
	}
	query := url.Values{}
	open := func() (*gophercloud.ServiceClient, error) { return c.service("compute", computeVersion) }
	switch kind {
	case Servers:
		query.Set("all_tenants", "1")
		if begun != "" {
			query.Set("name", "^"+regexp.QuoteMeta(begun))
		}
	case Flavors:
		query.Set("is_public", "None")
	case Images:
		open = c.image
	case Ports, Networks:
		open = c.network
		query["fields"] = []string{"id", "name"}
	}
	s, err := open()
	if err != nil {
		return nil, err
	}
	list := kind + "s"
	err = pages(ctx, s, list, query, list, func(item *struct{ ID, Name string }) string {
		all = append(all, Named{item.ID, item.Name})
		return item.ID
	})
	return all, err
}

// hosts lists the root providers.
func (c *Client) hosts(ctx context.Context) (all []Named, err error) {
	s, err := c.service("placement", placementVersion)
	if err != nil {
		return nil, err
	}
	var answer struct {
		List []listedProvider `json:"resource_providers"`
	}
	if err := get(ctx, s, "resource_providers", &answer); err != nil {
		return nil, err
	}
	for _, p := range answer.List {
		if p.Parent == "" {
			all = append(all, Named{p.UUID, p.Name})
		}
	}
	return all, nil
}

// classes lists the resource classes.
func (c *Client) classes(ctx context.Context) (all []Named, err error) {
	s, err := c.service("placement", placementVersion)
	if err != nil {
		return nil, err
	}
	var answer struct {
		List []struct{ Name string } `json:"resource_classes"`
	}
	if err := get(ctx, s, "resource_classes", &answer); err != nil {
		return nil, err
	}
	for _, class := range answer.List {
		all = append(all, Named{class.Name, class.Name})
	}
	return all, nil
}
