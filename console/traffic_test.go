package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/console"
)

// Rates and times are those since the answer of before, and the first is about all that was
// counted. Without a page nothing is counted, and requests soon after one another get the same.
func TestTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := console.Counts{Since: time.Now().UTC(), Outcomes: []console.Outcome{{What: "searches", Count: 3}}}
		bounds, calls := []float64{0.1, 0.2, 0.4}, 0
		set := func(ok, conflicts, within int64) {
			counts.Requests = []console.RequestCount{{
				Service: "placement", Request: "PUT /a",
				Statuses: map[int]int64{204: ok, 409: conflicts, 400: 1, 503: 2, 0: 1},
				Bounds:   bounds, Within: []int64{0, within, ok + conflicts + 4},
			}, {Service: "other", Statuses: map[int]int64{200: 1000}, Bounds: bounds, Within: []int64{1000, 1000, 1000}}}
		}
		source := file(t, records())
		source.Counts = func() (console.Counts, error) {
			calls++
			return counts, nil
		}
		c := console.New(console.Options{Source: source, Access: console.Open{}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		defer running.Wait()
		defer cancel()
		read := func() (all console.Traffic) {
			t.Helper()
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, console.Path+"/api/traffic", nil))
			if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || w.Code != http.StatusOK {
				t.Fatalf("the answer is %d %s", w.Code, w.Body)
			}
			return all
		}
		set(90, 6, 50)
		time.Sleep(100 * time.Second) // of the test's clock
		want := console.Traffic{
			Measured: true, Since: counts.Since, Window: 100, Outcomes: counts.Outcomes,
			Requests: []console.RequestTraffic{
				{Service: "other", Rate: 10, Median: 0.05, P99: 0.099, Total: 1000},
				{
					Service: "placement", Request: "PUT /a", Rate: 1, Median: 0.2, P99: 0.396, Total: 100, Conflicts: 6,
					Refused: 1, Failed: 3,
				},
			},
		}
		if d := cmp.Diff(want, read()); d != "" {
			t.Error(d)
		}
		set(190, 6, 150)
		time.Sleep(5 * time.Second)
		if d := cmp.Diff(want, read()); d != "" {
			t.Error("soon after:", d)
		}
		time.Sleep(5 * time.Second)
		got := read()
		want.Window = 10
		want.Requests = []console.RequestTraffic{
			{
				Service: "placement", Request: "PUT /a", Rate: 10, Median: 0.15, P99: 0.199, Total: 200, Conflicts: 6,
				Refused: 1, Failed: 3,
			},
			{Service: "other", Total: 1000},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if calls != 2 {
			t.Errorf("it was counted %d times", calls)
		}
	})
}

// Nobody counts requests to a file.
func TestTrafficOfAFile(t *testing.T) {
	p := open(t, file(t, records()))
	var got console.Traffic
	p.get("traffic", &got)
	if d := cmp.Diff(console.Traffic{Requests: []console.RequestTraffic{}, Outcomes: []console.Outcome{}}, got); d != "" {
		t.Error(d)
	}
}
