package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/berthcloud/berth/network"
)

// A Network reports to a network service of Berth's. It may be used from many
// goroutines.
type Network struct{ service *service }

// NewNetwork returns a Network. The address of the Access is that of the service
// without a version. Nothing is asked yet.
func NewNetwork(opts Options) *Network { return &Network{newService("network", opts)} }

// Close gives the connections back.
func (n *Network) Close() { n.service.opts.HTTP.CloseIdleConnections() }

// A Reported is what the service says to a heartbeat: which agent it was, and how
// the last sync of its devices to placement went.
type Reported struct {
	ID        string `json:"id"`
	Synced    *bool  `json:"resources_synced"` // nil: there was none
	SyncError string `json:"sync_error"`
}

type wireReported struct {
	Agent *Reported `json:"agent"`
}

func (w *wireReported) check() bool { return w.Agent != nil && w.Agent.ID != "" }

type wireHeartbeat struct {
	Type           string          `json:"agent_type"`
	Binary         string          `json:"binary"`
	Host           string          `json:"host"`
	Topic          string          `json:"topic"`
	Zone           string          `json:"availability_zone"`
	Configurations json.RawMessage `json:"configurations,omitempty"`
	Versions       json.RawMessage `json:"resource_versions,omitempty"`
	Start          bool            `json:"start_flag"`
}

// Beat delivers a heartbeat. It is sent again only as Options.Retries says; who
// reports at intervals comes again anyhow.
func (n *Network) Beat(ctx context.Context, h network.Heartbeat) (Reported, error) {
	body := map[string]wireHeartbeat{"agent": {
		Type: h.Type, Binary: h.Binary, Host: h.Host, Topic: h.Topic, Zone: h.Zone,
		Configurations: h.Configurations, Versions: h.Versions, Start: h.Start,
	}}
	var out wireReported
	err := n.service.call(ctx, request{method: http.MethodPost, path: "/berth/v1/heartbeats", body: body}, &out)
	if err != nil {
		return Reported{}, err
	}
	return *out.Agent, nil
}
