package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthcloud/berth/ops/cloud"
)

// groupsVersion is the first at which a server names its server group.
const groupsVersion = "2.71"

// Flavor returns the flavor with an id or a name.
func (c *Client) Flavor(ctx context.Context, word string) (cloud.Flavor, error) {
	s, err := c.service("compute", computeVersion)
	if err != nil {
		return cloud.Flavor{}, err
	}
	var answer struct{ Flavor flavor }
	switch err := get(ctx, s, "flavors/"+url.PathEscape(word), &answer); {
	case err == nil:
		return answer.Flavor.record(), nil
	case !isStatus(err, http.StatusNotFound):
		return cloud.Flavor{}, err
	}
	var matches []cloud.Flavor
	err = pages(ctx, s, "flavors/detail", url.Values{"is_public": {"None"}}, "flavors", func(f *flavor) string {
		if f.Name == word {
			matches = append(matches, f.record())
		}
		return f.ID
	})
	return only(matches, err, "flavor", word)
}

// A flavor is a flavor as the API has it.
type flavor struct {
	ID        string
	Name      string
	VCPUs     int64
	RAM       int64
	Disk      int64
	Ephemeral int64             `json:"OS-FLV-EXT-DATA:ephemeral"`
	Swap      json.RawMessage   // "" for none
	Specs     map[string]string `json:"extra_specs"`
}

func (f *flavor) record() cloud.Flavor {
	var swap int64
	_ = json.Unmarshal(f.Swap, &swap) // "" is no number
	return cloud.Flavor{
		Name: f.Name, VCPUs: f.VCPUs, RAM: f.RAM, Disk: f.Disk, Ephemeral: f.Ephemeral, Swap: swap, Specs: f.Specs,
	}
}

// Image returns the image with an id or a name.
func (c *Client) Image(ctx context.Context, word string) (cloud.Image, error) {
	s, err := c.image()
	if err != nil {
		return cloud.Image{}, err
	}
	var answer map[string]any
	switch err := get(ctx, s, "images/"+url.PathEscape(word), &answer); {
	case err == nil:
		return image(answer), nil
	case !isStatus(err, http.StatusNotFound) && !isStatus(err, http.StatusBadRequest):
		return cloud.Image{}, err
	}
	var matches []cloud.Image
	err = pages(ctx, s, "images", url.Values{"name": {word}}, "images", func(object *map[string]any) string {
		matches = append(matches, image(*object))
		return matches[len(matches)-1].UUID
	})
	return only(matches, err, "image", word)
}

// image returns the record of an image, whose properties are next to its fields in the API.
func image(object map[string]any) cloud.Image {
	i := cloud.Image{Properties: map[string]string{}}
	for key, v := range object {
		text, ok := v.(string)
		switch {
		case !ok:
		case key == "id":
			i.UUID = text
		case key == "name":
			i.Name = text
		case key == "disk_format":
			i.DiskFormat = text
		default:
			i.Properties[key] = text
		}
	}
	return i
}

// Port returns the port with an id or a name. One of a QoS policy is refused to a user whom the
// service does not show what ports request.
func (c *Client) Port(ctx context.Context, word string) (cloud.Port, error) {
	s, err := c.network()
	if err != nil {
		return cloud.Port{}, err
	}
	p, err := named(ctx, s, "port", word, func(p *port) string { return p.UUID })
	// The service omits what ports request, as where they are bound. To users who see the binding
	// it shows null for nothing.
	if err == nil && p.Binding == nil && p.Policy+p.NetworkPolicy != "" {
		err = &refusal{
			fmt.Sprintf("the network service does not show this user what port %s requests; take an administrator", word),
			http.StatusForbidden,
		}
	}
	return p.record(), err
}

// named finds the object of a kind with an id, or else with a name.
func named[T any](ctx context.Context, s *gophercloud.ServiceClient, kind, word string, id func(*T) string) (T, error) {
	var answer map[string]T
	if err := get(ctx, s, kind+"s/"+url.PathEscape(word), &answer); err == nil || !isStatus(err, http.StatusNotFound) {
		return answer[kind], err
	}
	var matches []T
	err := pages(ctx, s, kind+"s", url.Values{"name": {word}}, kind+"s", func(item *T) string {
		matches = append(matches, *item)
		return id(item)
	})
	return only(matches, err, kind, word)
}

// only returns what was found when it is one.
func only[T any](matches []T, err error, subject, word string) (T, error) {
	var none T
	switch {
	case err != nil:
		return none, err
	case len(matches) == 0:
		return none, fmt.Errorf("there is no %s with the id or name %q", subject, word)
	case len(matches) > 1:
		return none, fmt.Errorf("%d %ss have the name %q; take the id of one", len(matches), subject, word)
	}
	return matches[0], nil
}

// Network returns the network with an id or a name.
func (c *Client) Network(ctx context.Context, word string) (cloud.NetworkOf, error) {
	s, err := c.network()
	if err != nil {
		return cloud.NetworkOf{}, err
	}
	n, err := named(ctx, s, "network", word, func(n *network) string { return n.UUID })
	return n.record(), err
}

// Policy returns the QoS policy with an id, with its rules that guarantee something.
func (c *Client) Policy(ctx context.Context, id string) (cloud.QoSPolicy, error) {
	s, err := c.network()
	if err != nil {
		return cloud.QoSPolicy{}, err
	}
	var answer struct{ Policy cloud.QoSPolicy }
	err = get(ctx, s, "qos/policies/"+url.PathEscape(id), &answer)
	keepGuarantees(&answer.Policy)
	return answer.Policy, err
}

// Segments returns the ids of the segments that a port in a network can be in: those of the
// network's subnets or, when the port has an address, that of its subnet. There are none in a
// network that is not routed.
func (c *Client) Segments(ctx context.Context, network, subnet string) (ids []string, err error) {
	s, err := c.network()
	if err != nil {
		return nil, err
	}
	query := url.Values{"network_id": {network}}
	if subnet != "" {
		query = url.Values{"id": {subnet}}
	}
	err = pages(ctx, s, "subnets", query, "subnets", func(item *struct {
		UUID    string `json:"id"`
		Segment string `json:"segment_id"`
	},
	) string {
		if item.Segment != "" && !slices.Contains(ids, item.Segment) {
			ids = append(ids, item.Segment)
		}
		return item.UUID
	})
	return ids, err
}

// Group returns the server group with an id.
func (c *Client) Group(ctx context.Context, id string) (cloud.ServerGroup, error) {
	s, err := c.service("compute", computeVersion)
	if err != nil {
		return cloud.ServerGroup{}, err
	}
	var answer struct {
		Group cloud.ServerGroup `json:"server_group"`
	}
	err = get(ctx, s, "os-server-groups/"+url.PathEscape(id), &answer)
	if isStatus(err, http.StatusNotFound) {
		err = fmt.Errorf("there is no server group with the id %q", id)
	}
	return answer.Group, err
}

// GroupOf returns the id of the server group that a server is in, "" for none.
func (c *Client) GroupOf(ctx context.Context, server string) (string, error) {
	s, err := c.service("compute", groupsVersion)
	if err != nil {
		return "", err
	}
	var answer struct {
		Server struct {
			Groups []string `json:"server_groups"`
		}
	}
	if err := get(ctx, s, "servers/"+url.PathEscape(server), &answer); err != nil || len(answer.Server.Groups) == 0 {
		return "", err
	}
	return answer.Server.Groups[0], nil
}

// ServerOfRequest returns which of the servers has an action with a request id; "" when none has.
// It requests several servers at a time, the first ones first.
func (c *Client) ServerOfRequest(ctx context.Context, servers []string, request string, p Progress) (string, error) {
	s, err := c.service("compute", computeVersion)
	if err != nil {
		return "", err
	}
	m := &meter{progress: p}
	done := m.begin("actions of servers", len(servers))
	err = each(ctx, len(servers), func(ctx context.Context, i int) error {
		var action struct{}
		err := get(ctx, s, "servers/"+servers[i]+"/os-instance-actions/"+url.PathEscape(request), &action)
		done()
		switch {
		case err == nil:
			return &hasAction{servers[i]}
		case isStatus(err, http.StatusNotFound):
			return nil
		}
		return err
	})
	var matches *hasAction
	if errors.As(err, &matches) {
		return matches.server, nil
	}
	return "", err
}

// A hasAction ends a search.
type hasAction struct{ server string }

func (h *hasAction) Error() string { return "it is server " + h.server }

// image returns the client of the image service.
func (c *Client) image() (*gophercloud.ServiceClient, error) {
	s, err := c.service("image", "")
	if err == nil {
		s.ResourceBase = strings.TrimSuffix(s.Endpoint, "v2/") + "v2/"
	}
	return s, err
}

// network returns the client of the network service.
func (c *Client) network() (*gophercloud.ServiceClient, error) {
	s, err := c.service("network", "")
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(s.Endpoint, "/v2.0/") {
		s.ResourceBase = s.Endpoint + "v2.0/"
	}
	return s, nil
}
