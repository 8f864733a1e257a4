package placementapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/placement/service"
)

// A sink is the ResponseWriter of a client that reads everything at once.
type sink struct {
	header http.Header
	bytes  *atomic.Int64
}

func (s sink) Header() http.Header { return s.header }

func (s sink) WriteHeader(int) {}

func (s sink) Write(p []byte) (int, error) { s.bytes.Add(int64(len(p))); return len(p), nil }

func (s sink) Flush() {}

// BenchmarkClaimsWatched is a claim and its release through the API, with streams of events that
// are open meanwhile.
func BenchmarkClaimsWatched(b *testing.B) {
	for _, watchers := range []int{0, 1, 100} {
		b.Run(fmt.Sprint(watchers), func(b *testing.B) {
			set := service.DefaultSettings()
			set.Cause = causeOfTests
			api := placementapitest.New(b, set)
			request := func(method, path, body string) {
				w := httptest.NewRecorder()
				r := newRequest(method, path, body)
				api.ServeHTTP(w, r)
				if w.Code >= 300 {
					b.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
				}
			}
			for _, text := range changes()[:4] {
				request(splitRequest(text))
			}
			ctx, stop := context.WithCancel(context.Background())
			var bytes atomic.Int64
			done := make(chan struct{}, watchers)
			for range watchers {
				go func() {
					r := newRequest(http.MethodGet, "/berth/v1/events", "").WithContext(ctx)
					api.ServeHTTP(sink{http.Header{}, &bytes}, r)
					done <- struct{}{}
				}()
			}
			b.ResetTimer()
			for i := range b.N {
				vm := fmt.Sprintf("6f1b1a5e-0000-4000-8000-%012x", i)
				request(http.MethodPut, "/allocations/"+vm, `{"allocations":{"`+cn1+
					`":{"resources":{"VCPU":2,"DISK_GB":1}}},"project_id":"p","user_id":"u","consumer_generation":null,`+
					`"consumer_type":"INSTANCE"}`)
				request(http.MethodDelete, "/allocations/"+vm, "")
			}
			b.StopTimer()
			b.ReportMetric(float64(bytes.Load())/float64(b.N), "sent-B/op")
			stop()
			for range watchers {
				<-done
			}
		})
	}
}
