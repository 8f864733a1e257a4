package metrics_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/metrics"
)

// BenchmarkCompute computes and writes the metrics of 10,000 hosts with nine providers each,
// without flavors and with ten of them.
func BenchmarkCompute(b *testing.B) {
	c := &cloud.Cloud{Placement: cloudtest.Records(clouds.Bandwidth(10_000, 1).Snapshot())}
	s, err := c.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	var flavors []cloud.Flavor
	for i := range int64(10) {
		flavors = append(flavors, cloud.Flavor{
			Name: fmt.Sprintf("flavor%d", i), VCPUs: 1 + i, RAM: 1024 * (1 + i), Disk: 10 * (1 + i),
		})
	}
	for name, o := range map[string]metrics.Options{
		"sums": {}, "flavors": {Queries: metrics.FlavorQueries(c, flavors, request.Settings{}, "", "")},
		"without-hosts": {WithoutHosts: true},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var text bytes.Buffer
			for b.Loop() {
				families, err := metrics.Compute(b.Context(), s, c, o)
				if err != nil {
					b.Fatal(err)
				}
				text.Reset()
				if err := metrics.Write(&text, families); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(text.Len()), "text-B")
		})
	}
}
