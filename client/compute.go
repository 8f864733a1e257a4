package client

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// A Compute sends events to a compute service. It may be used concurrently.
type Compute struct{ service *service }

var _ network.Compute = (*Compute)(nil)

// NewCompute returns a Compute. The address of the Access is that of the API's version 2.1, as it
// is in the catalogue. It sends no request.
func NewCompute(opts Options) *Compute { return &Compute{newService("compute", opts)} }

// Close closes idle connections.
func (c *Compute) Close() { c.service.opts.HTTP.CloseIdleConnections() }

type wireEvent struct {
	Name   string `json:"name"`
	Server string `json:"server_uuid"`
	Tag    string `json:"tag,omitempty"`
	Status string `json:"status,omitempty"`
}

// codeNoServer distinguishes compute's 404 from that of a web server at a wrong address.
const codeNoServer fault.Code = "itemNotFound"

// SendEvents implements network.Compute. Compute answers 207 when some of the servers do not exist, and
// 404 when none does.
func (c *Compute) SendEvents(ctx context.Context, events []network.ServerEvent) error {
	if len(events) == 0 {
		return nil
	}
	wire := make([]wireEvent, len(events))
	for i, e := range events {
		wire[i] = wireEvent(e)
	}
	body := map[string][]wireEvent{"events": wire}
	err := c.service.call(ctx, request{method: http.MethodPost, path: "/os-server-external-events", body: body}, nil)
	if r := refused(err, http.StatusNotFound); r != nil && r.Code == codeNoServer {
		return nil
	}
	return err
}
