package daemon

import (
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/berthcloud/berth/console"
)

// ConsoleCounts returns what services have counted of their requests, which are in one process, for
// the console.
func ConsoleCounts(services ...*Server) (console.Counts, error) {
	c := console.Counts{Since: processStart}
	for _, s := range services {
		families, err := s.metrics.registry.Gather()
		if err != nil {
			return c, err
		}
		requests := map[[2]string]*console.RequestCount{}
		for _, family := range families {
			for _, m := range family.Metric {
				switch family.GetName() {
				case "berth_http_requests_total":
					r := requestCount(requests, m)
					status, _ := strconv.Atoi(labelOf(m, "status")) // it is a number
					r.Statuses[status] += int64(m.GetCounter().GetValue())
				case "berth_http_request_seconds":
					r := requestCount(requests, m)
					for _, bucket := range m.GetHistogram().Bucket {
						r.Bounds = append(r.Bounds, bucket.GetUpperBound())
						r.Within = append(r.Within, int64(bucket.GetCumulativeCount()))
					}
				case "berth_candidates_empty_total":
					c.Outcomes = append(c.Outcomes, console.Outcome{
						What:  "searches without candidates: " + labelOf(m, "constraint"),
						Count: int64(m.GetCounter().GetValue()),
					})
				case "berth_claims_total":
					c.Outcomes = append(c.Outcomes, console.Outcome{
						What: "writes of allocations: " + labelOf(m, "outcome"), Count: int64(m.GetCounter().GetValue()),
					})
				}
			}
		}
		for _, r := range requests {
			c.Requests = append(c.Requests, *r)
		}
	}
	return c, nil
}

// processStart is about when metrics began to count.
var processStart = time.Now()

// requestCount returns the count of a metric's kind of request.
func requestCount(all map[[2]string]*console.RequestCount, m *dto.Metric) *console.RequestCount {
	key := [2]string{labelOf(m, "service"), labelOf(m, "method") + " " + labelOf(m, "route")}
	if all[key] == nil {
		all[key] = &console.RequestCount{Service: key[0], Request: key[1], Statuses: map[int]int64{}}
	}
	return all[key]
}

// labelOf returns the value of a metric's label.
func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
