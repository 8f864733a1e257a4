// Package berthclient has the clients of Berth's own API, for its agents on the hosts: what a host
// reports to the network and the compute service, and what they want of it.
package berthclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/network/portlist"
)

// A Network reports to a network service of Berth's. It may be used
// concurrently.
type Network struct{ service *client.Service }

var _ agent.Service = (*Network)(nil)

// NewNetwork returns a Network. The address of the Access is that of the service without a version.
// It sends no request.
func NewNetwork(opts client.Options) *Network { return &Network{client.NewService("network", opts)} }

// Close closes idle connections.
func (n *Network) Close() { n.service.Close() }

type wireReported struct {
	Agent *portlist.Answer `json:"agent"`
}

func (w *wireReported) Valid() bool { return w.Agent != nil && w.Agent.ID != "" }

// Beat implements agent.Service. Options.Retries alone bounds its retries, since the next heartbeat
// follows anyway.
func (n *Network) Beat(ctx context.Context, h portlist.Heartbeat) (portlist.Answer, error) {
	var out wireReported
	q := client.Request{
		Method: http.MethodPost, Path: "/berth/v1/heartbeats", Body: map[string]portlist.Heartbeat{"agent": h},
	}
	if err := n.service.Call(ctx, q, &out); err != nil {
		return portlist.Answer{}, err
	}
	return *out.Agent, nil
}

type wirePorts portlist.List

func (w *wirePorts) Valid() bool { return w.Revision != "" && w.Ports != nil }

// Ports implements agent.Service. The wait is in whole seconds; the service waits for a minute at
// most.
func (n *Network) Ports(ctx context.Context, host, driver, known string, wait time.Duration) (portlist.List, error) {
	query := url.Values{"driver": {driver}, "wait": {strconv.Itoa(int(wait / time.Second))}}
	if known != "" {
		query.Set("revision", known)
	}
	var out wirePorts
	err := n.service.Call(ctx,
		client.Request{Method: http.MethodGet, Path: hostPath(host) + "?" + query.Encode(), Wait: wait}, &out)
	return portlist.List(out), err
}

// Wire implements agent.Service. The network service sets the status of a port by it, as by an RPC
// of Neutron's agents.
func (n *Network) Wire(ctx context.Context, host string, ports map[string]bool) error {
	states := make(map[string]string, len(ports))
	for id, plugged := range ports {
		states[id] = portlist.Status(plugged)
	}
	return n.service.Call(ctx,
		client.Request{Method: http.MethodPost, Path: hostPath(host), Body: map[string]any{"ports": states}}, nil)
}

func hostPath(host string) string { return "/berth/v1/hosts/" + url.PathEscape(host) + "/ports" }
