package exporter

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/metrics"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A direct is the handler of a service that has a snapshot of its providers in memory.
type direct struct {
	read func(context.Context) (*snapshot.Snapshot, error)

	mu   sync.Mutex // locked while metrics are computed: one computation at a time
	last *snapshot.Snapshot
	text []byte // its metrics, compressed
}

// Direct returns a handler that answers with the metrics of placement's providers, in the snapshot
// that read returns: what they have, and what is free. They are computed once for each snapshot
// that is requested. An error of read is answered with 503.
func Direct(read func(context.Context) (*snapshot.Snapshot, error)) http.Handler {
	return &direct{read: read}
}

func (d *direct) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s, err := d.read(r.Context())
	var text []byte
	if err == nil {
		text, err = d.textOf(r.Context(), s)
	}
	if err != nil {
		http.Error(w, "The providers cannot be read: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	read := metrics.Family{
		Description: metrics.Description{
			Name: "berth_cloud_snapshot_timestamp_seconds", Help: "When the last reading of the cloud ended.",
		},
		Samples: []metrics.Sample{{Value: float64(time.Now().UnixMilli()) / 1000}},
	}
	write(w, r, text, []metrics.Family{read})
}

// textOf returns the metrics of a snapshot, compressed.
func (d *direct) textOf(ctx context.Context, s *snapshot.Snapshot) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == s {
		return d.text, nil
	}
	families, err := metrics.Compute(ctx, s, &cloud.Cloud{}, metrics.Options{})
	if err != nil {
		return nil, err
	}
	d.last, d.text = s, compressed(families)
	return d.text, nil
}
