package computeapi_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
)

// A listedOperation is an operation as it is listed, without its times.
type listedOperation struct {
	Server    string    `json:"server"`
	Project   string    `json:"project_id"`
	Kind      string    `json:"kind"`
	Step      string    `json:"step"`
	Direction string    `json:"direction"`
	State     string    `json:"state"`
	Worker    string    `json:"worker"`
	Until     time.Time `json:"until"`
	Created   time.Time `json:"created_at"`
	Awaits    *struct {
		Event, Host string
		Up          bool `json:"host_up"`
	} `json:"awaits"`
	Cause string `json:"cause"`
}

// TestOperationsAreListed lists operations in each of their states, the oldest first, to
// administrators.
func TestOperationsAreListed(t *testing.T) {
	s := newSide(t)
	s.Reset(t)
	now := s.service.catalog.Now().Truncate(time.Second)
	rows := []any{}
	for _, host := range []string{"cn1", "cn2"} {
		service, node := computetest.Host(host, int64(len(rows)))
		service.ReportedAt, service.ForcedDown = now, host == "cn2"
		rows = append(rows, service, node)
	}
	operation := func(name string, age time.Duration, row compute.OperationRow) {
		server := computetest.Server(name, "cn1")
		row.ID, row.Server, row.CreatedAt = computetest.ID("operation "+name), server.ID, now.Add(-age)
		if row.Body == nil {
			row.Body = []byte(`{"action": "", "image": {}}`)
		}
		rows = append(rows, server, &row)
		if row.Awaits == "" {
			return
		}
		action := &compute.ActionRow{ID: computetest.ID("action " + name), Server: server.ID, StartedAt: now, UpdatedAt: now}
		rows = append(rows, action, &compute.EventRow{
			ID: row.Awaits, Action: action.ID, Event: "compute_start_instance", StartedAt: now,
		})
	}
	running, hour := "run1#worker", time.Hour
	operation("ready", time.Minute, compute.OperationRow{Kind: "boot", Step: "bind"})
	operation("running", 2*time.Minute, compute.OperationRow{
		Kind: "boot", Step: "ports", Worker: running, Lease: now.Add(hour),
	})
	operation("delayed", 3*time.Minute, compute.OperationRow{
		Kind: "live", Step: "claim", Back: true, Lease: now.Add(hour),
		Body: []byte(`{"action": "", "image": {}, "unavailable": {"text": "for users", "details": "placement: ` +
			`connection refused"}}`),
	})
	operation("unanswered", 4*time.Minute, compute.OperationRow{
		Kind: "delete", Step: "claim", Back: true, Worker: "unanswered", Lease: now.Add(hour),
	})
	operation("waiting", 5*time.Minute, compute.OperationRow{
		Kind: "power", Step: "host", Awaits: computetest.ID("event up"),
	})
	operation("down", 6*time.Minute, compute.OperationRow{
		Kind: "power", Step: "host", Awaits: computetest.ID("event down"),
	})
	operation("answered", 7*time.Minute, compute.OperationRow{
		Kind: "power", Step: "host", Awaits: computetest.ID("event answered"),
	})
	rows = append(rows,
		&compute.HostedRow{
			Server: computetest.ID("waiting"), Host: "cn1", DesiredState: compute.DesiredRunning,
			Event: computetest.ID("event up"),
		},
		&compute.HostedRow{
			Server: computetest.ID("down"), Host: "cn2", DesiredState: compute.DesiredRunning,
			Event: computetest.ID("event down"),
		})
	computetest.Add(t, s.store, rows...)

	list := func(query string) (all []listedOperation, more bool) {
		t.Helper()
		status, answer := s.say(t, said{"admin", "GET", "/berth/v1/operations" + query, "", ""})
		var list struct {
			Operations []listedOperation
			More       bool
		}
		if err := json.Unmarshal([]byte(answer), &list); err != nil || status != http.StatusOK {
			t.Fatalf("GET /berth/v1/operations%s is answered %d %s: %v", query, status, answer, err)
		}
		return list.Operations, list.More
	}
	type host = struct {
		Event, Host string
		Up          bool `json:"host_up"`
	}
	want := []listedOperation{
		{Server: "answered", Kind: "power", Step: "host", Direction: "forward", State: "ready"},
		{
			Server: "down", Kind: "power", Step: "host", Direction: "forward", State: "waiting",
			Awaits: &host{"compute_start_instance", "cn2", false},
		},
		{
			Server: "waiting", Kind: "power", Step: "host", Direction: "forward", State: "waiting",
			Awaits: &host{"compute_start_instance", "cn1", true},
		},
		{Server: "unanswered", Kind: "delete", Step: "claim", Direction: "back", State: "delayed", Until: now.Add(hour)},
		{
			Server: "delayed", Kind: "live", Step: "claim", Direction: "back", State: "delayed", Until: now.Add(hour),
			Cause: "placement: connection refused",
		},
		{
			Server: "running", Kind: "boot", Step: "ports", Direction: "forward", State: "running", Until: now.Add(hour),
			Worker: running,
		},
		{Server: "ready", Kind: "boot", Step: "bind", Direction: "forward", State: "ready"},
	}
	for i := range want {
		want[i].Created = now.Add(-time.Duration(len(want)-i) * time.Minute)
		want[i].Server, want[i].Project = string(computetest.ID(want[i].Server)), computetest.Project
	}
	got, more := list("")
	if diff := cmp.Diff(want, got); diff != "" || more {
		t.Errorf("the list (-want +got):\n%s\nand there is more: %v", diff, more)
	}
	for query, only := range map[string][]listedOperation{
		"?limit=2":     want[:2],
		"?min_age=200": want[:4],
		"?server=" + string(computetest.ID("delayed")): want[4:5],
		"?server=" + string(computetest.ID("nobody")):  nil,
	} {
		got, more := list(query)
		if diff := cmp.Diff(only, got); len(got)+len(only) > 0 && diff != "" || more != (query == "?limit=2") {
			t.Errorf("%s (-want +got):\n%s\nand there is more: %v", query, diff, more)
		}
	}
	for _, refused := range []struct {
		who, query string
		status     int
	}{
		{"member", "", http.StatusForbidden},
		{"service", "", http.StatusForbidden},
		{"nobody", "", http.StatusUnauthorized},
		{"admin", "?server=web1", http.StatusBadRequest},
		{"admin", "?limit=-1", http.StatusBadRequest},
		{"admin", "?min_age=x", http.StatusBadRequest},
	} {
		if status, answer := s.say(t, said{refused.who, "GET", "/berth/v1/operations" +
			refused.query, "", ""}); status != refused.status {
			t.Errorf("GET /berth/v1/operations%s of %s is answered %d %s, want %d", refused.query, refused.who, status, answer,
				refused.status)
		}
	}
}
