package networkapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/service"
)

// An API answers for one network service. Its fields are set before Routes is
// called and not changed after.
type API struct {
	Network *service.Service
	Policy  resource.Policy
	// OldRequests shows resource_request in the format that was before groups,
	// which is for compute services before Yoga.
	OldRequests bool
	// LinkPrefix is the prefix of links, a URL; "" for the address of the request.
	LinkPrefix string
	// MaxLimit is the most objects in one answer, 0 for any number.
	MaxLimit int
	// Without are service plugins and extension drivers that are off: their
	// extensions are not listed, and their paths and attributes are not there.
	Without []string
	// Reported is called with an agent whose devices should be brought into
	// placement, and whether it has just started. It must not wait. Nil: they
	// are not.
	Reported func(agent agents.Agent, started bool)
	// Removed is called with an agent whose record was deleted. It must not block. Nil: there is no
	// listener.
	Removed func(agent agents.Agent)
	// HostPoll answers agents that wait for a change of their ports.
	HostPoll httpapi.LongPoll
}

// kinds is what the kinds of objects share.
func (a *API) kinds() resource.API {
	return resource.API{
		Access: a.access(), MaxLimit: a.MaxLimit, Link: a.link,
		NotFound: func(kind, id string) error { return network.NotFound(kind, network.ID(id)) },
		SetTags: func(
			ctx context.Context, kind, id string, change func([]string) ([]string, error), only resource.Condition,
		) ([]string, error) {
			return a.Network.SetTags(ctx, kind, network.ID(id), change, unchanged(only))
		},
	}
}

// unchanged is a condition of a request for the service.
func unchanged(only resource.Condition) network.Condition {
	return func(row *network.Common) error { return only.Check(row.Revision) }
}

// access decides by the rules of the API.
func (a *API) access() resource.Access { return resource.Access{Policy: a.Policy} }

// link is the URL of a path.
func (a *API) link(r *http.Request, path string) string {
	if a.LinkPrefix == "" {
		return httpserver.AbsoluteURL(r, path)
	}
	return strings.TrimRight(strings.TrimRight(a.LinkPrefix, "/")+path, "/")
}
