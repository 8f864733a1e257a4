package daemon

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// A consoleCloud is a placement service without an API, that counts the statements of its store.
type consoleCloud struct {
	*testing.T
	*PlacementServer
	statements atomic.Int64
}

// newConsoleCloud returns a service with a host of a provider and bridges below it, that have each
// 100 of VCPU.
func newConsoleCloud(t *testing.T, bridges int) *consoleCloud {
	t.Helper()
	c := &consoleCloud{T: t}
	store, err := sqlstore.Open(t.Context(), sqlstore.Options{
		Path: sqlstore.Memory,
		Trace: func(_ context.Context, statement string) func(error) {
			if strings.Contains(statement, "SELECT") {
				c.statements.Add(1)
			}
			return func(error) {}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := service.New(t.Context(), store, service.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	c.PlacementServer = &PlacementServer{service: s}
	names := []string{"host"}
	for i := range bridges {
		names = append(names, fmt.Sprint("bridge", i))
	}
	for i, name := range names {
		parent := placement.UUID("")
		if i > 0 {
			parent = "host"
		}
		_, err := s.CreateProvider(t.Context(), placement.NewProvider{UUID: placement.UUID(name), Name: name, Parent: parent})
		c.must(err)
		_, err = s.AddInventory(t.Context(), placement.UUID(name), placement.InventoryOf{
			Class:     "VCPU",
			Inventory: placement.Inventory{Total: 100, MinUnit: 1, MaxUnit: 100, StepSize: 1, AllocationRatio: 1},
		}, placement.InventoryRule{})
		c.must(err)
	}
	return c
}

func (c *consoleCloud) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// claim has a consumer of a type get a VCPU of each of some providers.
func (c *consoleCloud) claim(consumer placement.UUID, kind string, providers ...placement.UUID) {
	c.Helper()
	var list []placement.ProviderAllocation
	for _, p := range providers {
		list = append(list, placement.ProviderAllocation{
			Provider: p, Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}},
		})
	}
	c.must(c.service.SetAllocations(c.Context(), placement.Claim{
		Consumer: consumer, Project: "project", User: "user", Type: kind, Allocations: list,
	}))
}

// The consumers of a host are read in as many statements for a big tree as for a small one.
func TestConsumersOnATree(t *testing.T) {
	c := newConsoleCloud(t, 20)
	_, err := c.service.CreateProvider(t.Context(), placement.NewProvider{UUID: "other", Name: "other"})
	c.must(err)
	var want []string
	for i := range 20 {
		id := placement.UUID(fmt.Sprintf("vm%02d", i))
		c.claim(id, "INSTANCE", "host", placement.UUID(fmt.Sprint("bridge", i)))
		want = append(want, string(id))
	}
	source := c.consoleSource()
	reading, err := source.Read(t.Context())
	c.must(err)
	_, tree := reading.Snapshot.Provider("bridge3")
	c.statements.Store(0)
	list, err := source.Consumers(t.Context(), tree)
	c.must(err)
	if n := c.statements.Load(); n != 1 {
		t.Errorf("20 consumers on 21 providers take %d statements", n)
	}
	var got []string
	for i := range list {
		got = append(got, list[i].UUID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the consumers are %v", got)
	}
	if d := cmp.Diff(cloud.Consumer{
		UUID: "vm03", Generation: 1, Project: "project", User: "user", Type: "INSTANCE",
		Allocations: map[string]map[string]int64{"host": {"VCPU": 1}, "bridge3": {"VCPU": 1}},
	}, list[3]); d != "" {
		t.Error(d)
	}
	one, err := source.Consumer(t.Context(), "vm03")
	c.must(err)
	if d := cmp.Diff(list[3], *one); d != "" {
		t.Error(d)
	}
}

// Changes have their consumers, of the change log, and each state takes two statements for them.
// What the log does not list is left to the comparison of readings.
func TestChangesOfTheConsole(t *testing.T) {
	c := newConsoleCloud(t, 1)
	source := c.consoleSource()
	next := func() (lines []string, complete bool) {
		t.Helper()
		list, complete, err := source.Changes(t.Context())
		c.must(err)
		for i := range list {
			l := &list[i]
			lines = append(lines, strings.Join([]string{
				l.Change.Change, l.What, l.Subject, l.Before, l.After, l.Provider, l.Consumer, l.Type, l.Project,
			}, " "))
		}
		return lines, complete
	}
	if lines, complete := next(); complete || len(lines) > 0 {
		t.Errorf("at the beginning the changes are %q, and that is all: %t", lines, complete)
	}
	c.claim("vm", "INSTANCE", "host")
	c.claim("move", "MIGRATION", "bridge0")
	c.must(c.service.DeleteAllocations(t.Context(), "vm"))
	c.statements.Store(0)
	lines, complete := next()
	if want := []string{
		"added allocation VCPU  1 host vm  ", "added allocation VCPU  1 bridge0 move MIGRATION project",
		"removed allocation VCPU 1  host vm  ",
	}; !slices.Equal(lines, want) || !complete {
		t.Errorf("the changes are %q, and that is all: %t", lines, complete)
	}
	if n := c.statements.Load(); n > 2 {
		t.Errorf("they take %d statements", n)
	}
	if lines, complete = next(); len(lines) > 0 || !complete {
		t.Errorf("later the changes are %q, and that is all: %t", lines, complete)
	}
	for i := range 3000 {
		c.claim(placement.UUID(fmt.Sprint("many", i%3)), "INSTANCE", "host")
		c.must(c.service.DeleteAllocations(t.Context(), placement.UUID(fmt.Sprint("many", i%3))))
	}
	if lines, complete = next(); len(lines) > 0 || complete {
		t.Errorf("after thousands of changes they are %d, and that is all: %t", len(lines), complete)
	}
	c.claim("vm", "INSTANCE", "host")
	if lines, complete = next(); len(lines) != 1 || !complete {
		t.Errorf("after thousands of changes the next are %q, and that is all: %t", lines, complete)
	}
}

// Browsers get compressed answers, and services the API's as they are, whatever they accept.
func TestConsoleIsCompressed(t *testing.T) {
	long := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("host ", 1000))
	})
	h := (&PlacementServer{}).withConsole(Dependencies{Console: long})(long)
	for path, want := range map[string]string{"/console/hosts": "gzip", "/allocation_candidates": ""} {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Accept-Encoding", "gzip, deflate")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding"); got != want {
			t.Errorf("%s has Content-Encoding %q, want %q", path, got, want)
		}
	}
}
