package server

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/berthcloud/berth/internal/dbtest"
)

// Main runs the tests of a package and stops the database servers that they shared. A TestMain need
// not call anything else.
func Main(m *testing.M) {
	code := m.Run()
	if shared.owner != nil {
		shared.owner.end()
	}
	dbtest.Stop()
	os.Exit(code)
}

// shared is the PostgreSQL with its standby that all tests of the process use.
var shared struct {
	mu      sync.Mutex // guards the rest
	owner   *owner
	servers *dbtest.Replicated // nil when they could not be started
}

// replicated returns the shared PostgreSQL, starting it if this is the first
// call.
func replicated(t testing.TB) *dbtest.Replicated {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.owner == nil {
		shared.owner = &owner{TB: t}
		shared.servers = dbtest.NewReplicated(shared.owner, dbtest.Fast())
	}
	if shared.servers == nil {
		t.Fatal("there is no PostgreSQL with a standby: an earlier test says why")
	}
	return shared.servers
}

// An owner owns what one test starts and later ones use. It ends with Main and reports errors on
// standard error, since no test runs then.
type owner struct {
	testing.TB // the first test
	cleanups   []func()
	over       bool
}

// Cleanup registers f for the end of the process.
func (p *owner) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

// Failed returns whether the first test did; it need not have ended.
func (p *owner) Failed() bool { return !p.over && p.TB.Failed() }

// Error reports an error.
func (p *owner) Error(args ...any) {
	if !p.over {
		p.TB.Error(args...)
		return
	}
	fmt.Fprintln(os.Stderr, args...)
}

func (p *owner) end() {
	p.over = true
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}
