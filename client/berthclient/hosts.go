package berthclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A Host is a client of Berth's compute service for one of its hosts. It may be used concurrently.
type Host struct {
	service  *client.Service
	reporter HostReporter
}

// HostReporter is the content of a host's report and the receiver of its answer.
type HostReporter struct {
	Name string // of the host
	// Report returns the report without the unknown servers.
	Report func() (compute.Report, error)
	// OnAnswer is called with the answer. Nil: it is ignored.
	OnAnswer func(ReportAnswer)
}

// ReportAnswer is the service's answer to a report.
type ReportAnswer struct {
	Synced    *bool    `json:"resources_synced"` // whether the host's inventory is in placement; nil: not yet synced
	SyncError string   `json:"sync_error"`
	Warnings  []string `json:"warnings"`
	Plan      []string `json:"plan"` // of a dry run: what the report would change in placement
}

var _ host.Service = (*Host)(nil)

// NewHost returns the Host with these reports. The address of the Access is that of the service
// without a version. It sends no request.
func NewHost(opts client.Options, reporter HostReporter) *Host {
	return &Host{client.NewService("compute", opts), reporter}
}

// Close closes idle connections.
func (h *Host) Close() { h.service.Close() }

// maxUnknown is how many unknown servers a report may have.
const maxUnknown = 4096

type wireReportAnswer struct {
	Host *ReportAnswer `json:"host"`
}

func (w *wireReportAnswer) Valid() bool { return w.Host != nil }

// Report implements host.Service. OnAnswer gets the state of the sync to placement, which is no
// error.
func (h *Host) Report(ctx context.Context, unknown []string) error {
	r, err := h.reporter.Report()
	if err != nil {
		return err
	}
	for _, id := range unknown[:min(len(unknown), maxUnknown)] {
		r.Unknown = append(r.Unknown, compute.ID(id))
	}
	out, err := h.send(ctx, r)
	if err == nil && h.reporter.OnAnswer != nil {
		h.reporter.OnAnswer(*out.Host)
	}
	return err
}

// Preview returns what a report of a host that starts would change in placement, in lines, or why
// the host could not start. It changes nothing.
func (h *Host) Preview(ctx context.Context) (ReportAnswer, error) {
	r, err := h.reporter.Report()
	if err != nil {
		return ReportAnswer{}, err
	}
	r.DryRun = true
	out, err := h.send(ctx, r)
	if err != nil {
		return ReportAnswer{}, err
	}
	return *out.Host, nil
}

// send sends a report. A service that is older than the agent answers 400 to members that it does
// not know; the error then says what to do.
func (h *Host) send(ctx context.Context, r compute.Report) (out wireReportAnswer, err error) {
	err = h.service.Call(ctx, client.Request{
		Method: http.MethodPost, Path: "/berth/v1/heartbeats", Body: map[string]compute.Report{"host": r},
	}, &out)
	if client.Refused(err, http.StatusBadRequest) != nil {
		err = fmt.Errorf("%w. A compute service that is older than its agents refuses what it does not know: "+
			"upgrade all its instances, which has to be before the agents. Until then the servers of this host run on, "+
			"and it reports again", err)
	}
	return out, err
}

type wireList hostlist.List

func (w *wireList) Valid() bool { return w.Revision != "" && w.Servers != nil }

func (h *Host) path() string {
	return "/berth/v1/hosts/" + url.PathEscape(h.reporter.Name) + "/servers"
}

// Wanted implements host.Service. The wait is in whole seconds; the service waits for a minute at
// most.
func (h *Host) Wanted(ctx context.Context, known string, wait time.Duration) (hostlist.List, error) {
	query := url.Values{"wait": {strconv.Itoa(int(wait / time.Second))}}
	if known != "" {
		query.Set("revision", known)
	}
	var out wireList
	err := h.service.Call(ctx, client.Request{
		Method: http.MethodGet, Path: h.path() + "?" + query.Encode(), Wait: wait,
	}, &out)
	return hostlist.List(out), err
}

// Done is host.Service's.
func (h *Host) Done(ctx context.Context, results []hostlist.Result) error {
	return h.service.Call(ctx,
		client.Request{Method: http.MethodPost, Path: h.path(), Body: map[string]any{"results": results}}, nil)
}
