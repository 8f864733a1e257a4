package instances

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// The start with many providers may take this long and this much memory, which is
// several times what it takes.
const (
	startLimit  = 60 * time.Second
	memoryLimit = 2 << 30
)

// TestStartWithManyProviders starts an instance on a large cloud. Until it has read it, it reports
// its progress, and refuses requests.
func TestStartWithManyProviders(t *testing.T) {
	many := 100_000
	if testing.Short() {
		many = 10_000
	}
	s := dbtest.NewMariaDB(t, dbtest.Fast())
	d := s.CreateDatabase(t)
	newInstance(t, "the one that makes the tables", d.URL(s.Address())).Stop()
	fill(t, s, d, many)

	seen := make(chan []string, 1)
	ops := servertest.FreeAddress(t)
	stop := make(chan struct{})
	go watch("http://"+ops, stop, seen)
	begin := time.Now()
	i := server.StartBerth(t, server.Options{
		Database: d.URL(s.Address()),
		Config:   map[string]map[string]string{"berth": {"metrics_listen": ops}},
	})
	until(t, startLimit, "/readyz answers 200", func() bool {
		status, _ := ready("http://" + ops)
		return status == 200
	})
	took := time.Since(begin)
	close(stop)
	checkProgress(t, <-seen, many)

	status, text := ready("http://" + ops)
	if want := fmt.Sprint(many); status != 200 || !strings.Contains(text, want) {
		t.Errorf("/readyz = %d %q, want 200 and %s", status, text, want)
	}
	memory := metric(t, "http://"+ops, "process_resident_memory_bytes")
	if memory > memoryLimit {
		t.Errorf("the instance takes %.0f MiB, want %d at most", memory/(1<<20), memoryLimit>>20)
	}
	t.Logf("%d providers: ready after %v, %.0f MiB", many, took.Round(time.Millisecond), memory/(1<<20))
	requestOne(t, i.URL(), many)
}

// fill creates providers with an inventory of three classes each.
func fill(t *testing.T, s *dbtest.Server, d dbtest.Database, many int) {
	t.Helper()
	begin := time.Now()
	numbers := fmt.Sprintf("seq_1_to_%d", many)
	s.Exec(t, "USE "+d.Name, `
INSERT INTO resource_providers (created_at, id, uuid, name, generation, root_provider_id)
SELECT NOW(), seq, CONCAT('000000d1-0000-4000-8000-', LPAD(HEX(seq), 12, '0')), CONCAT('host ', seq), 1, seq
FROM `+numbers)
	for class, total := range []int{64, 262144, 4000} { // VCPU, MEMORY_MB, DISK_GB
		s.Exec(t, "USE "+d.Name, fmt.Sprintf(`
INSERT INTO inventories (created_at, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT NOW(), seq, %d, %d, 0, 1, %[2]d, 1, 1.0
FROM `, class, total)+numbers)
	}
	t.Logf("filled in %v", time.Since(begin).Round(time.Millisecond))
}

// watch collects the texts of /readyz while it returns 503.
func watch(ops string, stop <-chan struct{}, seen chan<- []string) {
	var all []string
	for {
		select {
		case <-stop:
			seen <- all
			return
		case <-time.After(5 * time.Millisecond):
		}
		if status, text := ready(ops); status == 503 && (len(all) == 0 || all[len(all)-1] != text) {
			all = append(all, text)
		}
	}
}

// checkProgress expects increasing counts.
func checkProgress(t *testing.T, seen []string, many int) {
	t.Helper()
	last, counts := 0, 0
	for _, text := range seen {
		n, err := strconv.Atoi(regexp.MustCompile(`\d+|$`).FindString(text))
		if err != nil {
			continue // it has not begun to count
		}
		if n < last {
			t.Errorf("the count falls from %d to %d: %q", last, n, seen)
		}
		last = n
		counts++
	}
	if counts == 0 {
		t.Errorf("/readyz never said how far the start had come: %q", seen)
	}
	t.Logf("/readyz on the way: %q", seen)
}

// metric returns the value of a metric without labels.
func metric(t *testing.T, ops, name string) float64 {
	t.Helper()
	a := rest.New(ops, "").Must(t, 200, "GET", "/metrics", nil)
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(a.Body)
	if m == nil {
		t.Fatalf("there is no %s", name)
	}
	value, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// askOne claims of the last provider that was filled in.
func requestOne(t *testing.T, url string, many int) {
	t.Helper()
	c := rest.New(url, rest.Newest)
	defer c.Close()
	begin := time.Now()
	p := rest.UUID("d1", many)
	c.Must(t, 204, "PUT", "/allocations/"+rest.UUID("d2", 1), rest.Claim(nil, map[string]rest.Resources{p: {"VCPU": 60}}))
	if got := c.Usages(t, p)["VCPU"]; got != 60 {
		t.Errorf("%d of the last provider in use, want 60", got)
	}
	var found struct {
		Requests []any `json:"allocation_requests"`
	}
	c.Read(t, "/allocation_candidates?resources=VCPU:8,MEMORY_MB:4096,DISK_GB:20&limit=10", &found)
	if len(found.Requests) != 10 {
		t.Errorf("%d candidates, want 10", len(found.Requests))
	}
	t.Logf("a claim, usages and ten candidates took %v", time.Since(begin).Round(time.Millisecond))
}
