package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/inventory"
)

// A Host is a client of Berth's compute service for one of its hosts. It may be used concurrently.
type Host struct {
	service *service
	says    HostSays
}

// HostSays is the content of a host's report and the receiver of its answer.
type HostSays struct {
	Name string // of the host
	// Report returns the host and its inventory. Its Node has the name and the id of the Inventory.
	Report func() (compute.Report, inventory.Host, error)
	// Heard is called with the answer. Nil: it is ignored.
	Heard func(HostReported)
}

// HostReported is the service's answer to a report.
type HostReported struct {
	Synced    *bool    `json:"resources_synced"` // whether the host's inventory is in placement; nil: not yet synced
	SyncError string   `json:"sync_error"`
	Warnings  []string `json:"warnings"`
}

var _ host.Service = (*Host)(nil)

// NewHost returns the Host with these reports. The address of the Access is that of the service
// without a version. It sends no request.
func NewHost(opts Options, says HostSays) *Host { return &Host{newService("compute", opts), says} }

// Close closes idle connections.
func (h *Host) Close() { h.service.opts.HTTP.CloseIdleConnections() }

type wireNode struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Version  int             `json:"version"`
	Address  string          `json:"address"`
	VCPUs    int64           `json:"vcpus"`
	MemoryMB int64           `json:"memory_mb"`
	DiskGB   int64           `json:"disk_gb"`
	CPU      json.RawMessage `json:"cpu_info"`
	Devices  json.RawMessage `json:"devices,omitempty"`
}

type wireReport struct {
	Host      string         `json:"host"`
	Version   int            `json:"version"`
	Node      wireNode       `json:"node"`
	Inventory inventory.Host `json:"inventory"`
	Unknown   []string       `json:"unknown_servers,omitempty"`
}

// maxUnknown is how many unknown servers a report may have.
const maxUnknown = 4096

type wireHostReported struct {
	Host *HostReported `json:"host"`
}

func (w *wireHostReported) check() bool { return w.Host != nil }

// Report implements host.Service. Heard gets the state of the sync to placement, which is no error.
func (h *Host) Report(ctx context.Context, unknown []string) error {
	r, has, err := h.says.Report()
	if err != nil {
		return err
	}
	n := r.Node
	body := map[string]wireReport{"host": {r.Host, r.Version, wireNode{
		ID: string(n.ID), Name: n.Name, Type: n.Type, Version: n.Version, Address: n.Address,
		VCPUs: n.VCPUs, MemoryMB: n.MemoryMB, DiskGB: n.DiskGB, CPU: n.CPU, Devices: n.Devices,
	}, has, unknown[:min(len(unknown), maxUnknown)]}}
	var out wireHostReported
	err = h.service.call(ctx, request{method: http.MethodPost, path: "/berth/v1/heartbeats", body: body}, &out)
	if err == nil && h.says.Heard != nil {
		h.says.Heard(*out.Host)
	}
	return err
}

type wireList hostlist.List

func (w *wireList) check() bool { return w.Revision != "" && w.Servers != nil }

func (h *Host) path() string { return "/berth/v1/hosts/" + url.PathEscape(h.says.Name) + "/servers" }

// Wanted implements host.Service. The wait is in whole seconds; the service waits for a minute at
// most.
func (h *Host) Wanted(ctx context.Context, known string, wait time.Duration) (hostlist.List, error) {
	query := url.Values{"wait": {strconv.Itoa(int(wait / time.Second))}}
	if known != "" {
		query.Set("revision", known)
	}
	var out wireList
	err := h.service.call(ctx, request{method: http.MethodGet, path: h.path() + "?" + query.Encode(), held: wait}, &out)
	return hostlist.List(out), err
}

// Done is host.Service's.
func (h *Host) Done(ctx context.Context, results []hostlist.Result) error {
	return h.service.call(ctx, request{method: http.MethodPost, path: h.path(), body: map[string]any{"results": results}}, nil)
}
