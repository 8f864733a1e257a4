// Package exporter serves the metrics of a cloud to Prometheus: it reads the cloud again and again,
// one reading at a time, has package metrics compute the numbers, and answers scrapes from the last
// text that is complete. It decides nothing about the numbers, and where records are read is its
// caller's.
package exporter

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/metrics"
)

// A Reading is what was read of a cloud.
type Reading struct {
	// Cloud are the records. A part that could not be read is absent.
	Cloud *cloud.Cloud
	// Failed are the sources that could not be read, with the reason, and nil for those that were.
	Failed map[string]error
	// Queries are what free slots are counted of.
	Queries []metrics.Query
	// Projects are the projects that metrics are of; nil for all that have consumers.
	Projects *cloud.Projects
}

// Options say what is exported.
type Options struct {
	// Read reads the cloud. It is called by one goroutine, and ends when its context does.
	Read func(ctx context.Context) Reading
	// Requests returns how many requests were sent to APIs, nil where none are.
	Requests func() int64
	// Interval is the time from the begin of a reading to that of the next one, which begins later
	// when a reading takes longer.
	Interval time.Duration
	// Metrics are the options of the numbers; the queries and the projects are those of the reading.
	Metrics metrics.Options
	Log     *slog.Logger
	// Wait waits until a time or the end of ctx; nil waits on the clock.
	Wait func(ctx context.Context, until time.Time)
}

// An Exporter reads a cloud and answers scrapes. It may be used by several goroutines.
type Exporter struct {
	o     Options
	notes map[string]bool // what was logged: reasons, and sentences about what is not read

	mu   sync.Mutex
	last result
}

// A result is that of a reading.
type result struct {
	text      []byte // compressed; the numbers of the cloud
	failed    map[string]error
	unread    int
	read      time.Time // when the records were complete; zero before the first
	duration  time.Duration
	refreshes int64
}

// New returns an exporter, which reads nothing before [Exporter.Run].
func New(o Options) *Exporter {
	if o.Wait == nil {
		o.Wait = waitUntil
	}
	return &Exporter{o: o, notes: map[string]bool{}}
}

func waitUntil(ctx context.Context, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Run reads the cloud until ctx ends.
func (e *Exporter) Run(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		e.refresh(ctx, begun)
		e.o.Wait(ctx, begun.Add(e.o.Interval))
	}
}

// refresh reads the cloud once and replaces the snapshot, unless ctx ends.
func (e *Exporter) refresh(ctx context.Context, begun time.Time) {
	r := e.o.Read(ctx)
	if ctx.Err() != nil {
		return
	}
	next := result{failed: maps.Clone(r.Failed), read: time.Now()}
	notes := slices.Clone(r.Cloud.Unread)
	for _, source := range slices.Sorted(maps.Keys(r.Failed)) {
		if err := r.Failed[source]; err != nil {
			notes = append(notes, source+": "+err.Error())
		}
	}
	o := e.o.Metrics
	o.Queries, o.Projects = r.Queries, r.Projects
	families, err := compute(ctx, r.Cloud, o)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil: // records that contradict each other
		next.failed["placement"] = err
		notes = append(notes, "placement: "+err.Error())
	}
	next.text = compressed(families)
	next.unread, next.duration = len(notes), time.Since(begun)
	e.log(notes)
	e.mu.Lock()
	defer e.mu.Unlock()
	next.refreshes = e.last.refreshes + 1
	e.last = next
}

// compute returns the numbers of a cloud. With an error they are those without placement's
// providers.
func compute(ctx context.Context, c *cloud.Cloud, o metrics.Options) ([]metrics.Family, error) {
	if c.Placement == nil {
		return metrics.Compute(ctx, nil, c, o)
	}
	s, err := c.Snapshot()
	if err == nil {
		return metrics.Compute(ctx, s, c, o)
	}
	part := *c
	part.Placement = nil
	families, failed := metrics.Compute(ctx, nil, &part, o)
	if failed != nil {
		return nil, failed
	}
	return families, err
}

// log logs what is new among the reasons why something is absent, and which of them have ended.
func (e *Exporter) log(notes []string) {
	current := map[string]bool{}
	for _, text := range notes {
		current[text] = true
		if !e.notes[text] {
			e.o.Log.Warn("a part of the cloud has no metrics", "reason", text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(e.notes)) {
		if !current[text] {
			e.o.Log.Info("a part of the cloud has metrics again", "reason before", text)
		}
	}
	e.notes = current
}

// compressed returns the text of families, as a member of a gzip file.
func compressed(families []metrics.Family) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_ = metrics.Write(z, families) // a buffer takes all
	_ = z.Close()
	return b.Bytes()
}

// current returns the last result.
func (e *Exporter) current() result {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// own are the metrics of the exporter itself.
func (e *Exporter) own(s result, now time.Time) []metrics.Family {
	gauge := func(name, help string, value float64) metrics.Family {
		return metrics.Family{
			Description: metrics.Description{Name: name, Help: help}, Samples: []metrics.Sample{{Value: value}},
		}
	}
	refreshes := gauge("berth_cloud_refreshes_total", "Readings of the cloud that have ended.", float64(s.refreshes))
	refreshes.Counter = true
	families := []metrics.Family{refreshes}
	if e.o.Requests != nil {
		requests := gauge("berth_cloud_requests_total", "Requests that were sent to the cloud's APIs.",
			float64(e.o.Requests()))
		requests.Counter = true
		families = append(families, requests)
	}
	if s.read.IsZero() {
		return families
	}
	up := metrics.Family{Description: metrics.Description{
		Name: "berth_cloud_source_up", Help: "Whether the last reading of a source succeeded.", Labels: []string{"source"},
	}}
	for _, source := range slices.Sorted(maps.Keys(s.failed)) {
		sample := metrics.Sample{Labels: []string{source}}
		if s.failed[source] == nil {
			sample.Value = 1
		}
		up.Samples = append(up.Samples, sample)
	}
	return append(families, up,
		gauge("berth_cloud_unread", "Reasons why something has no metrics; the log has them.", float64(s.unread)),
		gauge("berth_cloud_snapshot_timestamp_seconds", "When the last reading of the cloud ended.",
			float64(s.read.UnixMilli())/1000),
		gauge("berth_cloud_snapshot_age_seconds", "How old the last reading of the cloud is.", now.Sub(s.read).Seconds()),
		gauge("berth_cloud_refresh_duration_seconds", "How long the last reading took, with the computation.",
			s.duration.Seconds()))
}

// Handler returns the handler of scrapes: /metrics, /healthz, and /readyz, which answers 503 before
// the first reading has ended. It has no authentication.
func (e *Exporter) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", e.scrape)
	text := func(status func() (int, string)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			code, body := status()
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(code)
			io.WriteString(w, body+"\n") // the client may have disconnected
		}
	}
	mux.HandleFunc("GET /healthz", text(func() (int, string) { return http.StatusOK, "ok" }))
	mux.HandleFunc("GET /readyz", text(func() (int, string) {
		if e.current().read.IsZero() {
			return http.StatusServiceUnavailable, "the cloud is being read for the first time"
		}
		return http.StatusOK, "ok"
	}))
	return mux
}

// scrape answers from the last snapshot.
func (e *Exporter) scrape(w http.ResponseWriter, r *http.Request) {
	s := e.current()
	write(w, r, s.text, e.own(s, time.Now()))
}

// write answers with a text that is cached compressed, and with more metrics: members of a gzip
// file may follow each other, so that they are another member.
func write(w http.ResponseWriter, r *http.Request, text []byte, more []metrics.Family) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(text) // the client may have disconnected
		w.Write(compressed(more))
		return
	}
	if len(text) > 0 {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			_, err = io.Copy(w, z)
		}
		if err != nil { // of the client: the text was written here
			return
		}
	}
	_ = metrics.Write(w, more)
}
