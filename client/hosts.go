package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A Host is a client of Berth's compute service for one of its hosts. It may be used concurrently.
type Host struct {
	service *service
	says    HostSays
}

// HostSays is the content of a host's report and the receiver of its answer.
type HostSays struct {
	Name string // of the host
	// Report returns the report without the unknown servers.
	Report func() (compute.Report, error)
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

// maxUnknown is how many unknown servers a report may have.
const maxUnknown = 4096

type wireHostReported struct {
	Host *HostReported `json:"host"`
}

func (w *wireHostReported) check() bool { return w.Host != nil }

// Report implements host.Service. Heard gets the state of the sync to placement, which is no error.
func (h *Host) Report(ctx context.Context, unknown []string) error {
	r, err := h.says.Report()
	if err != nil {
		return err
	}
	for _, id := range unknown[:min(len(unknown), maxUnknown)] {
		r.Unknown = append(r.Unknown, compute.ID(id))
	}
	var out wireHostReported
	err = h.service.call(ctx, request{method: http.MethodPost, path: "/berth/v1/heartbeats", body: map[string]compute.Report{"host": r}}, &out)
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
