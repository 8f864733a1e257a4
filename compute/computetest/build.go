// Package computetest is what tests of the compute service need: rows to begin with,
// and a suite that any compute.Store must pass. It is not for production.
package computetest

import (
	"context"
	"crypto/sha1"
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
)

// Now is the time of the rows that this package makes.
var Now = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// Project and User own the rows that this package makes.
const (
	Project = "blue"
	User    = "ann"
)

// ID returns the id of what has a name in a test: a UUID, the same each time.
func ID(name string) compute.ID {
	b := sha1.Sum([]byte(name))
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80
	return compute.ID(fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16]))
}

// Flavor returns a public flavor of a name, which is its id as well.
func Flavor(name string, vcpus, memoryMB, diskGB int64) *compute.FlavorRow {
	return &compute.FlavorRow{
		ID: compute.ID(name), Name: name, VCPUs: vcpus, MemoryMB: memoryMB, RootGB: diskGB, RxTx: 1, Public: true,
		CreatedAt: Now,
	}
}

// Host returns the compute service of a host that is alive, and its hypervisor.
func Host(name string, number int64) (*compute.ServiceRow, *compute.NodeRow) {
	s := &compute.ServiceRow{
		ID: ID(name + "/service"), Number: number, Binary: "nova-compute", Host: name, Topic: "compute", Version: 66,
		ReportedAt: Now, CreatedAt: Now, UpdatedAt: Now,
	}
	n := &compute.NodeRow{
		ID: ID(name), Number: number, Host: name, Name: name, Type: "fake", Version: 1000, Address: "192.0.2.1",
		VCPUs: 8, MemoryMB: 8192, DiskGB: 100, CPU: []byte(`{}`), CreatedAt: Now, UpdatedAt: Now,
	}
	return s, n
}

// Server returns a server that runs on a host, or nowhere yet.
func Server(name, host string) *compute.ServerRow {
	s := &compute.ServerRow{
		ID: ID(name), Project: Project, User: User, Name: name, Hostname: name, State: compute.Building,
		Task: compute.Scheduling, Flavor: []byte(`{}`), FlavorID: "m1.tiny", DiskConfig: "MANUAL", CreatedAt: Now,
		UpdatedAt: Now,
	}
	if host != "" {
		s.State, s.Task, s.Power, s.Host, s.Node, s.LaunchedAt = compute.Active, "", compute.Running, host, host, Now
	}
	return s
}

// Add inserts rows into a store, pointers to them in their order and in one Update.
func Add(tb testing.TB, s compute.Store, rows ...any) {
	tb.Helper()
	err := s.Update(context.Background(), Now, func(w compute.Writer) error { return Insert(w, rows...) })
	if err != nil {
		tb.Fatalf("adding rows: %v", err)
	}
}

// Insert inserts rows in their order.
func Insert(w compute.Writer, rows ...any) error {
	for _, row := range rows {
		if err := w.Insert(row); err != nil {
			return fmt.Errorf("inserting %T: %w", row, err)
		}
	}
	return nil
}

// Read returns the rows of a type that match.
func Read[T compute.Row](tb testing.TB, s compute.Store, where ...compute.Match) []T {
	tb.Helper()
	var found []T
	err := s.View(context.Background(), func(r compute.Reader) (err error) {
		found, err = compute.Rows[T](r, where...)
		return err
	})
	if err != nil {
		tb.Fatalf("reading rows: %v", err)
	}
	return found
}
