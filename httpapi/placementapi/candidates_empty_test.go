package placementapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/service"
)

// sender returns a function that sends requests to an API which logs to a buffer.
func sender(t *testing.T, log *bytes.Buffer, opts logging.Options) func(method, path, query, body string) int {
	api := placementapitest.New(t, service.DefaultSettings(), func(c *httpapi.Config) {
		c.Log = slog.New(logging.NewHandler(log, opts))
	})
	return func(method, path, query, body string) int {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.URL.RawQuery = query
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w.Code
	}
}

// The access line has the number of candidates, and what was requested in vain.
func TestCandidatesInTheAccessLine(t *testing.T) {
	var log bytes.Buffer
	send := sender(t, &log, logging.Options{})
	const host = "6f1b1a5e-0000-4000-8000-000000000001"
	send("POST", "/resource_providers", "", `{"name": "h", "uuid": "`+host+`"}`)
	send("PUT", "/resource_providers/"+host+"/inventories", "",
		`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}`)
	long := "resources=VCPU:5&required=" + strings.Repeat("!HW_CPU_X86_AVX,", 100) + "!HW_CPU_X86_AVX2"
	for query, want := range map[string]map[string]any{
		"resources=VCPU:1":   {"status": 200.0, "candidates": 1.0},
		"resources=VCPU:5":   {"status": 200.0, "candidates": 0.0, "query": "resources=VCPU:5"},
		"resources=V%43PU:5": {"status": 200.0, "candidates": 0.0, "query": "resources=V%43PU:5"},
		long: {
			"status": 200.0, "candidates": 0.0, "query": long[:1024], "query_bytes": float64(len(long)),
		},
		"resources=CUSTOM_GIVEN": {"status": 400.0},
	} {
		log.Reset()
		send(http.MethodGet, "/allocation_candidates", query, "")
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%s: the log is not one line: %v\n%s", query, err, &log)
		}
		got := make(map[string]any)
		for _, name := range []string{"status", "candidates", "query", "query_bytes"} {
			if v, ok := line[name]; ok {
				got[name] = v
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.60s (-want +got):\n%s", query, diff)
		}
	}
}

// What a client writes into its query cannot begin a line of the log or steer a
// terminal. The spaces of all scripts around a number are part of a valid query.
func TestQueriesAreEscapedInTheLog(t *testing.T) {
	for _, opts := range []logging.Options{{}, {Text: true}} {
		var log bytes.Buffer
		query := sender(t, &log, opts)
		for space, want := range map[string]string{
			"\n": "%0A", "\x1c": "%1C", "\r\n": "%0D%0A", "\u0085": "%C2%85", "\u2028": "%E2%80%A8", " ": "%20", "%0A": "%0A",
		} {
			log.Reset()
			if code := query(http.MethodGet, "/allocation_candidates", "resources=VCPU:5"+space, ""); code != http.StatusOK {
				t.Errorf("%q is answered with %d", space, code)
			}
			line := strings.TrimSuffix(log.String(), "\n")
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 }) ||
				!strings.Contains(line, `"resources=VCPU:5`+want+`"`) {
				t.Errorf("%q is logged as %q", space, line)
			}
		}
	}
}

// A client that requests the impossible all the time gets few explanations, every
// other answer is counted, and Run ends while it pauses.
func TestExplanationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := placementtest.NewBuilder()
		b.Provider("a").Inventory("VCPU", 4)
		w := b.Snapshot()
		var log bytes.Buffer
		observed := make(chan candidates.Constraint, 2000)
		e := placementapi.NewExplainer(slog.New(logging.NewHandler(&log, logging.Options{})), func(c candidates.Constraint) {
			observed <- c
		})
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { e.Run(ctx) })
		q := placement.Query{
			Groups: []placement.RequestGroup{{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 5}}}},
		}
		const polls = 1000
		for i := range polls {
			request, end := context.WithCancel(context.WithValue(t.Context(), logging.Key{},
				&logging.Origin{RequestID: fmt.Sprint(i)}))
			e.Add(request, w, q)
			end() // the answer is written
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		e.Add(t.Context(), w, q)
		synctest.Wait()
		cancel()
		run.Wait()

		counts := make(map[candidates.Constraint]int)
		close(observed)
		for c := range observed {
			counts[c]++
		}
		lines, unexplained := 0, 0
		for d := json.NewDecoder(&log); d.More(); lines++ {
			var line struct {
				Msg, Constraint, Reason string
				RequestID               string `json:"request_id"`
				Unexplained             int
			}
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			if line.Msg != "no allocation candidates" || line.Constraint != "capacity" ||
				line.Reason != "VCPU: no host remains; 1 host (1 provider) dropped: no free capacity for VCPU:5" ||
				line.RequestID == "" && lines < counts[candidates.NoCapacity]-1 {
				t.Errorf("line %d is %+v", lines, line)
			}
			unexplained += line.Unexplained
		}
		if lines < 40 || lines > 60 || lines+unexplained != polls+1 ||
			counts[candidates.NoCapacity] != lines || counts[candidates.UnknownConstraint] != unexplained {
			t.Errorf("of %d answers within 10 s, %d have a line, and %d are counted in lines; observed: %v", polls, lines,
				unexplained, counts)
		}
	})
}

// What an explanation does with a request that is longer than anybody writes is bounded
// in time and in what the log gets.
func TestLongReasonsAreCut(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("a").Inventory("VCPU", 4)
	b.Provider("b").Inventory("MEMORY_MB", 4)
	q := placement.Query{}
	for i := range 1000 {
		q.Groups = append(q.Groups, placement.RequestGroup{
			Suffix:    fmt.Sprintf("_%d", i),
			Resources: []placement.ClassAmount{{Class: []string{"VCPU", "MEMORY_MB"}[i%2], Amount: 1}},
		})
	}
	var log bytes.Buffer
	observed := make(chan candidates.Constraint)
	e := placementapi.NewExplainer(slog.New(logging.NewHandler(&log, logging.Options{})), func(c candidates.Constraint) {
		observed <- c
	})
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { e.Run(ctx) })
	e.Add(t.Context(), b.Snapshot(), q)
	if c := <-observed; c != candidates.OneTree {
		t.Errorf("the constraint is %s", c)
	}
	cancel()
	run.Wait()
	if n := log.Len(); n == 0 || n > 1500 {
		t.Errorf("the line has %d bytes", n)
	}
}
