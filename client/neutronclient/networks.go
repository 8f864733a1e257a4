// Package neutronclient is the compute service's client of a network service: it implements
// compute.Network. It is used as Nova uses Neutron, by its network API.
package neutronclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/fault"
)

// A Client is the compute service's client of a network service. It may be used
// concurrently.
type Client struct {
	service  *client.Service
	prefixes prefixes
}

var _ compute.Network = (*Client)(nil)

// New returns a Client. The address of the Access is that of the service
// without a version. It sends no request.
func New(opts client.Options) *Client {
	opts.BeforeChange = operation.Leased
	return &Client{service: client.NewService("network", opts)}
}

// Close closes idle connections.
func (n *Client) Close() { n.service.Close() }

// wireNetwork is a network in Neutron's JSON.
type wireNetwork struct {
	ID              string   `json:"id"`
	Name            string   `json:"name"`
	Subnets         []string `json:"subnets"`
	Shared          bool     `json:"shared"`
	External        bool     `json:"router:external"`
	PhysicalNetwork string   `json:"provider:physical_network"`
}

type wireNetworks struct {
	Networks *[]wireNetwork `json:"networks"`
}

func (w *wireNetworks) Valid() bool { return w.Networks != nil }

func (n *Client) networks(ctx context.Context, query url.Values) ([]wireNetwork, error) {
	var answer wireNetworks
	err := n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: "/v2.0/networks?" + query.Encode()}, &answer)
	if err != nil {
		return nil, client.UnknownPath(err)
	}
	return *answer.Networks, nil
}

// Networks is that of compute.Network. Without ids, it excludes external networks of the project,
// as Nova does.
func (n *Client) Networks(ctx context.Context, project string, ids ...compute.ID) ([]compute.ProjectNetwork, error) {
	query := url.Values{}
	for _, id := range ids {
		query.Add("id", string(id))
	}
	own, shared := url.Values{"tenant_id": {project}, "shared": {"false"}}, url.Values{"shared": {"true"}}
	if len(ids) == 0 {
		own.Set("admin_state_up", "true")
		shared.Set("admin_state_up", "true")
	}
	var all []compute.ProjectNetwork
	for _, part := range []url.Values{own, shared} {
		part["id"] = query["id"]
		nets, err := n.networks(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, w := range nets {
			if len(ids) == 0 && w.External {
				continue
			}
			all = append(all, compute.ProjectNetwork{
				ID: compute.ID(w.ID), Name: w.Name, Subnets: len(w.Subnets), External: w.External && !w.Shared,
			})
		}
	}
	return all, nil
}

type wireQuota struct {
	Quota *struct {
		Port int64 `json:"port"`
	} `json:"quota"`
}

func (w *wireQuota) Valid() bool { return w.Quota != nil }

// FreePorts is compute.Network's.
func (n *Client) FreePorts(ctx context.Context, project string) (int64, error) {
	var limit wireQuota
	if err := n.service.Call(ctx, client.Request{
		Method: http.MethodGet, Path: "/v2.0/quotas/" + url.PathEscape(project),
	}, &limit); err != nil {
		return 0, client.UnknownPath(err)
	}
	if limit.Quota.Port < 0 {
		return -1, nil
	}
	var used wirePorts
	query := url.Values{"tenant_id": {project}, "fields": {"id"}}
	err := n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: "/v2.0/ports?" + query.Encode()}, &used)
	if err != nil {
		return 0, client.UnknownPath(err)
	}
	return max(0, limit.Quota.Port-int64(len(*used.Ports))), nil
}

type wireSecurityGroups struct {
	Groups *[]struct {
		ID   compute.ID `json:"id"`
		Name string     `json:"name"`
	} `json:"security_groups"`
}

func (w *wireSecurityGroups) Valid() bool { return w.Groups != nil }

// SecurityGroups is compute.Network's.
func (n *Client) SecurityGroups(ctx context.Context, project string, names []string) ([]compute.ID, error) {
	var have wireSecurityGroups
	query := url.Values{"tenant_id": {project}, "fields": {"id", "name"}}
	if err := n.service.Call(ctx, client.Request{
		Method: http.MethodGet, Path: "/v2.0/security-groups?" + query.Encode(),
	}, &have); err != nil {
		return nil, client.UnknownPath(err)
	}
	ids := make([]compute.ID, len(names))
	for i, name := range names {
		for _, g := range *have.Groups {
			if string(g.ID) == name || g.Name == name && ids[i] == "" {
				ids[i] = g.ID
			}
		}
		if ids[i] == "" {
			return nil, fault.New(fault.NotFound, "SecurityGroupNotFound", "Security group %s not found.", name)
		}
	}
	return ids, nil
}

// codeNoPort is the type of Neutron's error for a missing port.
const codeNoPort = "PortNotFound"

// noPort marks the refusal of a request for a missing port.
func noPort(err error) error {
	if r := client.Refused(err, http.StatusNotFound); r != nil && r.Code == codeNoPort {
		return client.Known(r, compute.ErrNoPort)
	}
	return client.UnknownPath(err)
}

func isNoPort(err error) bool { return errors.Is(err, compute.ErrNoPort) }
