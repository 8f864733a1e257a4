// Package berthclient has the clients of Berth's own API, for its agents on the hosts: what a host
// reports to the network and the compute service, and what they want of it.
package berthclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/network"
)

// A Network reports to a network service of Berth's. It may be used from many
// goroutines.
type Network struct{ service *client.Service }

// NewNetwork returns a Network. The address of the Access is that of the service without a version.
// It sends no request.
func NewNetwork(opts client.Options) *Network { return &Network{client.NewService("network", opts)} }

// Close closes idle connections.
func (n *Network) Close() { n.service.Close() }

// A Reported is the service's answer to a heartbeat: the agent, and the result of the last sync of
// its devices to placement.
type Reported struct {
	ID        string `json:"id"`
	Synced    *bool  `json:"resources_synced"` // nil: there was none
	SyncError string `json:"sync_error"`
}

type wireReported struct {
	Agent *Reported `json:"agent"`
}

func (w *wireReported) Valid() bool { return w.Agent != nil && w.Agent.ID != "" }

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

// Beat sends a heartbeat. Options.Retries alone bounds its retries, since the next heartbeat
// follows anyway.
func (n *Network) Beat(ctx context.Context, h network.Heartbeat) (Reported, error) {
	body := map[string]wireHeartbeat{"agent": {
		Type: h.Type, Binary: h.Binary, Host: h.Host, Topic: h.Topic, Zone: h.Zone,
		Configurations: h.Configurations, Versions: h.Versions, Start: h.Start,
	}}
	var out wireReported
	err := n.service.Call(ctx, client.Request{Method: http.MethodPost, Path: "/berth/v1/heartbeats", Body: body}, &out)
	if err != nil {
		return Reported{}, err
	}
	return *out.Agent, nil
}

// HostPorts are the ports that are bound to a host, as of a revision.
type HostPorts struct {
	Revision string     `json:"revision"`
	Ports    []HostPort `json:"ports"`
}

func (w *HostPorts) Valid() bool { return w.Revision != "" && w.Ports != nil }

// A HostPort is a port from an agent's view. Absent values are empty.
type HostPort struct {
	ID              string     `json:"id"`
	MAC             string     `json:"mac_address"`
	Status          string     `json:"status"` // "ACTIVE", "DOWN", …
	Driver          string     `json:"driver"` // that bound it
	VIF             string     `json:"vif_type"`
	VNIC            string     `json:"vnic_type"`
	PCISlot         string     `json:"pci_slot"`
	Providers       []string   `json:"providers"` // UUIDs of those that serve it
	PhysicalNetwork string     `json:"physical_network"`
	Rules           []HostRule `json:"rules"`
}

// A HostRule is a rule of the QoS policy in effect for a port. Only the fields of its type are set.
type HostRule struct {
	Type         string `json:"type"`
	Direction    string `json:"direction"`
	MinKbps      int64  `json:"min_kbps"`
	MaxKbps      int64  `json:"max_kbps"`
	MaxBurstKbps int64  `json:"max_burst_kbps"`
}

// HostPorts reads the ports of a host that one mechanism driver has bound. The service may delay
// the answer while the revision is the known one. The wait is in whole seconds; the service waits
// for a minute at most.
func (n *Network) HostPorts(ctx context.Context, host, driver, known string, wait time.Duration) (HostPorts, error) {
	query := url.Values{"driver": {driver}, "wait": {strconv.Itoa(int(wait / time.Second))}}
	if known != "" {
		query.Set("revision", known)
	}
	var out HostPorts
	err := n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: hostPath(host) + "?" + query.Encode(), Wait: wait}, &out)
	return out, err
}

// Wire reports which ports of a host are plugged in (true) and which are not.
func (n *Network) Wire(ctx context.Context, host string, ports map[string]bool) error {
	said := make(map[string]string, len(ports))
	for id, up := range ports {
		said[id] = network.PortDown
		if up {
			said[id] = network.PortActive
		}
	}
	return n.service.Call(ctx, client.Request{Method: http.MethodPost, Path: hostPath(host), Body: map[string]any{"ports": said}}, nil)
}

func hostPath(host string) string { return "/berth/v1/hosts/" + url.PathEscape(host) + "/ports" }
