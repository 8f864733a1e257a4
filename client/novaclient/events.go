// Package novaclient is the network service's client of a compute service: it implements
// network.Compute, which sends the events of ports, and network.Aggregates.
package novaclient

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// A Client is a client of a compute service. It may be used concurrently.
type Client struct{ service *client.Service }

var _ network.Compute = (*Client)(nil)

// New returns a Client. The address of the Access is that of the API's version 2.1, as it
// is in the catalogue. It sends no request.
func New(opts client.Options) *Client { return &Client{client.NewService("compute", opts)} }

// Close closes idle connections.
func (c *Client) Close() { c.service.Close() }

type wireEvent struct {
	Name   string `json:"name"`
	Server string `json:"server_uuid"`
	Tag    string `json:"tag,omitempty"`
	Status string `json:"status,omitempty"`
}

// codeNotFound distinguishes compute's 404 from that of a web server at a wrong address.
const codeNotFound fault.Code = "itemNotFound"

// SendEvents implements network.Compute. Compute answers 207 when some of the servers do not exist,
// and 404 when none does.
func (c *Client) SendEvents(ctx context.Context, events []network.ServerEvent) error {
	if len(events) == 0 {
		return nil
	}
	wire := make([]wireEvent, len(events))
	for i, e := range events {
		wire[i] = wireEvent(e)
	}
	body := map[string][]wireEvent{"events": wire}
	err := c.service.Call(ctx, client.Request{
		Method: http.MethodPost, Path: "/os-server-external-events", Body: body,
	}, nil)
	if r := client.Refused(err, http.StatusNotFound); r != nil && r.Code == codeNotFound {
		return nil
	}
	return err
}
