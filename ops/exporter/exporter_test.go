package exporter_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/exporter"
	"github.com/berthcloud/berth/ops/metrics"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
	"github.com/berthcloud/berth/sqlstore"
)

// A running is an exporter whose readings a test hands over, one by one.
type running struct {
	t        *testing.T
	handler  http.Handler
	readings chan exporter.Reading
	begun    chan struct{} // a value for each reading that begins
}

func start(t *testing.T, log *slog.Logger) *running {
	x := &running{t: t, readings: make(chan exporter.Reading), begun: make(chan struct{})}
	var reading atomic.Bool
	e := exporter.New(exporter.Options{
		Read: func(ctx context.Context) exporter.Reading {
			if !reading.CompareAndSwap(false, true) {
				t.Error("two readings at a time")
			}
			defer reading.Store(false)
			select {
			case x.begun <- struct{}{}:
			case <-ctx.Done():
				return exporter.Reading{}
			}
			select {
			case r := <-x.readings:
				return r
			case <-ctx.Done():
				return exporter.Reading{}
			}
		},
		Requests: func() int64 { return 7 },
		Log:      log,
		Wait:     func(context.Context, time.Time) {},
	})
	x.handler = e.Handler()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	<-x.begun
	return x
}

// refresh hands over a reading, and returns when the next one has begun.
func (x *running) refresh(r exporter.Reading) {
	x.readings <- r
	<-x.begun
}

func (x *running) get(path string, header http.Header) *httptest.ResponseRecorder {
	x.t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header = header
	x.handler.ServeHTTP(w, r)
	return w
}

// scrape returns the text of a scrape, after a check of its form, and that its compressed form is
// the same.
func (x *running) scrape() string {
	x.t.Helper()
	w := x.get("/metrics", nil)
	text := w.Body.String()
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK ||
		kind != "text/plain; version=0.0.4; charset=utf-8" {
		x.t.Fatalf("%d, %s: %s", w.Code, kind, text)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		x.t.Errorf("the linter finds %v, %v", problems, err)
	}
	z, err := gzip.NewReader(x.get("/metrics", http.Header{"Accept-Encoding": {"gzip"}}).Body)
	if err != nil {
		x.t.Fatal(err)
	}
	unpacked, err := io.ReadAll(z)
	if err != nil || lines(string(unpacked)) != lines(text) {
		x.t.Errorf("compressed, %v: %s\nand plain: %s", err, unpacked, text)
	}
	return text
}

// lines are those of a text that do not change from scrape to scrape.
func lines(text string) string {
	var same strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "berth_cloud_snapshot_") {
			same.WriteString(line)
		}
	}
	return same.String()
}

// want reports which lines a text lacks, and which it must not have.
func want(t *testing.T, text string, has, lacks []string) {
	t.Helper()
	for _, line := range has {
		if !strings.Contains(text, line) {
			t.Errorf("there is no %q in\n%s", line, text)
		}
	}
	for _, line := range lacks {
		if strings.Contains(text, line) {
			t.Errorf("there is %q in\n%s", line, text)
		}
	}
}

// reading is one of a whole cloud.
func reading() exporter.Reading {
	c := audittest.Whole().Done()
	return exporter.Reading{
		Cloud: c, Failed: map[string]error{"placement": nil, "compute": nil, "network": nil},
		Queries: metrics.FlavorQueries(c, []cloud.Flavor{cloudtest.FlavorSmall}, request.Settings{}, "", ""),
	}
}

// Scrapes are answered at once: before the first reading, from the last one while the next is under
// way, and with what is known when a service fails. What changes is logged once.
func TestScrapes(t *testing.T) {
	var log bytes.Buffer // written before a reading begins
	x := start(t, slog.New(slog.NewTextHandler(&log, nil)))
	if w := x.get("/readyz", nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("/readyz is %d before the first reading", w.Code)
	}
	want(t, x.scrape(), []string{"berth_cloud_refreshes_total 0\n", "berth_cloud_requests_total 7\n"},
		[]string{"berth_cloud_source_up", "berth_cloud_snapshot", "berth_cloud_providers"})

	x.refresh(reading())
	if w := x.get("/readyz", nil); w.Code != http.StatusOK {
		t.Errorf("/readyz is %d", w.Code)
	}
	want(t, x.scrape(), []string{
		"# TYPE berth_cloud_refreshes_total counter\n", "berth_cloud_refreshes_total 1\n",
		"berth_cloud_snapshot_timestamp_seconds 1",
		`berth_cloud_source_up{source="compute"} 1`, `berth_cloud_source_up{source="network"} 1`,
		`berth_cloud_source_up{source="placement"} 1`,
		"berth_cloud_providers ", `berth_cloud_flavor_slots{flavor="small"} `,
		`berth_cloud_hosts{status="disabled",state="up"} 1`, "berth_cloud_unread 0\n",
	}, nil)
	if text := log.String(); text != "" {
		t.Errorf("the log has %s", text)
	}

	for range 2 {
		r := reading()
		r.Cloud.Compute, r.Queries, r.Failed["compute"] = nil, nil, errors.New("no route to host")
		r.Cloud.Unread = []string{"Trunks are not shown."}
		x.refresh(r)
	}
	want(t, x.scrape(), []string{
		"berth_cloud_refreshes_total 3\n", `berth_cloud_source_up{source="compute"} 0`,
		`berth_cloud_source_up{source="placement"} 1`, "berth_cloud_providers ", "berth_cloud_unread 2\n",
	}, []string{"berth_cloud_hosts{", "berth_cloud_flavor_slots"})
	x.refresh(reading())
	want(t, x.scrape(),
		[]string{`berth_cloud_source_up{source="compute"} 1`, "berth_cloud_hosts{", "berth_cloud_unread 0\n"}, nil)
	text := log.String()
	for _, line := range []string{"compute: no route to host", "Trunks are not shown."} {
		if n := strings.Count(text, line); n != 2 { // begun and ended
			t.Errorf("%q is logged %d times: %s", line, n, text)
		}
	}

	broken := reading()
	broken.Cloud.Placement.Providers = append(broken.Cloud.Placement.Providers, broken.Cloud.Placement.Providers[0])
	x.refresh(broken)
	want(t, x.scrape(), []string{`berth_cloud_source_up{source="placement"} 0`, "berth_cloud_hosts{"},
		[]string{"berth_cloud_providers", "berth_cloud_project_used"})
}

// Scrapes begin no reading, and any number of them is answered while one is under way.
func TestScrapesReadNothing(t *testing.T) {
	x := start(t, logtest.Logger())
	x.refresh(reading())
	for range 20 {
		want(t, x.scrape(), []string{"berth_cloud_refreshes_total 1\n"}, nil)
	}
	if w := x.get("/nothing", nil); w.Code != http.StatusNotFound {
		t.Errorf("/nothing is %d", w.Code)
	}
}

// BenchmarkScrape scrapes the metrics of 10,000 hosts with nine providers each.
func BenchmarkScrape(b *testing.B) {
	c := &cloud.Cloud{Placement: cloudtest.Records(clouds.Bandwidth(10_000, 1).Snapshot())}
	ctx, cancel := context.WithCancel(b.Context())
	e := exporter.New(exporter.Options{
		Read: func(context.Context) exporter.Reading {
			return exporter.Reading{Cloud: c, Failed: map[string]error{"placement": nil}}
		},
		Log: logtest.Logger(), Wait: func(context.Context, time.Time) { cancel() },
	})
	e.Run(ctx)
	for name, header := range map[string]http.Header{"gzip": {"Accept-Encoding": {"gzip"}}, "plain": nil} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Header = header
			for b.Loop() {
				w := httptest.NewRecorder()
				w.Body = bytes.NewBuffer(make([]byte, 0, 32<<20))
				e.Handler().ServeHTTP(w, r)
				if w.Code != http.StatusOK || w.Body.Len() < 1<<16 {
					b.Fatal(w.Code, w.Body.Len())
				}
				b.ReportMetric(float64(w.Body.Len()), "text-B")
			}
		})
	}
}

// TestDocument compares the tables of the page with the metrics that there are: names and labels.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/exporter.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	row := func(labels []string) string {
		if len(labels) == 0 {
			return "–"
		}
		return "`" + strings.Join(labels, "`, `") + "`"
	}
	written := map[string]string{}
	for _, d := range metrics.Described() {
		written[d.Name] = row(d.Labels)
	}
	x := start(t, logtest.Logger())
	x.refresh(reading())
	for _, m := range regexp.MustCompile(`(?m)^# HELP (\w+) `).FindAllStringSubmatch(x.scrape(), -1) {
		if written[m[1]] == "" { // the exporter's own
			written[m[1]] = row(nil)
		}
	}
	written["berth_cloud_source_up"] = row([]string{"source"})
	if diff := cmp.Diff(written, documented); diff != "" {
		t.Errorf("the page (-written +documented):\n%s", diff)
	}
}

// BenchmarkFirstReading reads 10,000 hosts with nine providers each from a database file, and
// computes and renders their metrics.
func BenchmarkFirstReading(b *testing.B) {
	file := filepath.Join(b.TempDir(), "placement.db")
	if err := clouds.Bandwidth(10_000, 1).Save(b.Context(), file); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		exporter.New(exporter.Options{
			Read: func(ctx context.Context) exporter.Reading {
				tables, err := dbtool.OpenTables(ctx, sqlstore.Options{Path: file}, dbtool.Look)
				if err != nil {
					b.Fatal(err)
				}
				defer tables.Close()
				c := &cloud.Cloud{}
				if c.Placement, err = tables.Placement(ctx, true, nil); err != nil || len(c.Placement.Providers) != 90_000 {
					b.Fatal(err)
				}
				return exporter.Reading{Cloud: c, Failed: map[string]error{"database": nil}}
			},
			Log: logtest.Logger(), Wait: func(context.Context, time.Time) { cancel() },
		}).Run(ctx)
	}
}

// A service's own snapshot is computed once, again when it has changed, and an error is no empty
// answer.
func TestDirect(t *testing.T) {
	c := audittest.Whole().Done()
	current, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var failure error
	x := &running{
		t: t, handler: exporter.Direct(func(context.Context) (*snapshot.Snapshot, error) { return current, failure }),
	}
	for range 2 {
		want(t, x.scrape(), []string{
			fmt.Sprintf("berth_cloud_providers %d\n", len(c.Placement.Providers)), "berth_cloud_snapshot_timestamp_seconds 1",
		}, []string{"berth_cloud_hosts{", "berth_cloud_audit"})
	}
	b := placementtest.NewBuilder()
	b.Provider("only").Inventory("VCPU", 8)
	current = b.Snapshot()
	want(t, x.scrape(),
		[]string{"berth_cloud_providers 1\n", `berth_cloud_host_resource_free{host="only",resource_class="VCPU"} 8`}, nil)
	failure = errors.New("the database is away")
	if w := x.get("/metrics", nil); w.Code != http.StatusServiceUnavailable ||
		!strings.Contains(w.Body.String(), "the database is away") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
