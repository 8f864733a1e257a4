package dbtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sweep"
)

// TestGalera takes one cluster through everything that can happen to it.
func TestGalera(t *testing.T) {
	sweep.Nightly(t)
	t.Parallel()
	begin := time.Now()
	c := dbtest.NewGalera(t, 3, dbtest.Fast())
	t.Logf("started in %s", time.Since(begin))
	d := c.CreateDatabase(t)
	first, second, third := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	do(t, d, first, "CREATE TABLE berths (n INT PRIMARY KEY)")
	do(t, d, first, "INSERT INTO berths VALUES (1)")
	replicated(t, d, "1", c.Nodes...)

	third.Kill()
	begin = time.Now()
	c.Await(t, 2)
	t.Logf("two went on after %s", time.Since(begin))
	do(t, d, second, "INSERT INTO berths VALUES (2)")
	replicated(t, d, "2", first, second)
	begin = time.Now()
	third.Start()
	t.Logf("the third is back after %s", time.Since(begin))
	c.Await(t, 3)
	replicated(t, d, "2", third)

	second.Freeze()
	c.Await(t, 2)
	do(t, d, first, "INSERT INTO berths VALUES (3)")
	second.Thaw()
	begin = time.Now()
	c.Await(t, 3)
	t.Logf("the thawed one is back after %s", time.Since(begin))
	replicated(t, d, "3", c.Nodes...)

	for _, n := range c.Nodes {
		n.Kill()
	}
	begin = time.Now()
	c.Start()
	c.Await(t, 3)
	t.Logf("all came back after %s", time.Since(begin))
	do(t, d, third, "INSERT INTO berths VALUES (4)")
	replicated(t, d, "4", c.Nodes...)
}

// replicated waits until all servers return a row.
func replicated(t *testing.T, d dbtest.Database, row string, servers ...*dbtest.Server) {
	t.Helper()
	for _, s := range servers {
		waitFor(t, "row "+row+" at "+s.Address(), func() bool {
			got, err := d.Text(t.Context(), s.Address(), "SELECT max(n) FROM berths")
			return err == nil && got == row
		})
	}
}

func TestGaleraIsShared(t *testing.T) {
	t.Parallel()
	c := dbtest.Galera(t)
	if again := dbtest.Galera(t); again != c {
		t.Error("two calls give two clusters")
	}
	url := c.NewDatabase(t)
	if got := len(c.Addresses()); got != 3 {
		t.Errorf("the cluster has %d addresses, want 3", got)
	}
	for _, a := range c.Addresses() {
		if !strings.Contains(url, "host="+a) {
			t.Errorf("NewDatabase = %q, want host=%s in it", url, a)
		}
	}
}
