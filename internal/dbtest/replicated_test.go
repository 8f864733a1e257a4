package dbtest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
)

func TestStandbyFollowsAndTakesOver(t *testing.T) {
	t.Parallel()
	r := dbtest.NewReplicated(t, dbtest.Fast())
	d := r.CreateDatabase(t)
	do(t, d, r.Primary, "CREATE TABLE berths (n INT PRIMARY KEY)")
	do(t, d, r.Primary, "INSERT INTO berths VALUES (1)")
	replicated(t, d, "1", r.Standby)
	if err := d.Exec(r.Standby.Address(), "INSERT INTO berths VALUES (2)"); err == nil {
		t.Error("the standby takes writes")
	}

	r.Standby.Kill()
	do(t, d, r.Primary, "INSERT INTO berths VALUES (2)")
	r.Standby.Start()
	r.Await()
	replicated(t, d, "2", r.Standby)

	r.Primary.Kill()
	r.Promote()
	do(t, d, r.Standby, "INSERT INTO berths VALUES (3)")
	replicated(t, d, "3", r.Standby)
}

func TestSynchronousStandby(t *testing.T) {
	t.Parallel()
	r := dbtest.NewReplicated(t, dbtest.Fast(), dbtest.Synchronous())
	d := r.CreateDatabase(t)
	do(t, d, r.Primary, "CREATE TABLE berths (n INT PRIMARY KEY)")
	for n := range 50 {
		do(t, d, r.Primary, "INSERT INTO berths VALUES (1)")
		if got := query(t, d, r.Standby, "SELECT count(*) FROM berths"); got != "1" {
			t.Fatalf("insert %d was acknowledged and the standby has %s rows, want 1", n, got)
		}
		do(t, d, r.Primary, "DELETE FROM berths")
	}

	r.Standby.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := d.Text(ctx, r.Primary.Address(), "INSERT INTO berths VALUES (2)"); err == nil {
		t.Error("a commit is acknowledged that the standby has not got")
	}
	r.Standby.Thaw()
	do(t, d, r.Primary, "INSERT INTO berths VALUES (3)")
	if got := query(t, d, r.Standby, "SELECT max(n) FROM berths"); got != "3" {
		t.Errorf("the standby's last row is %s after the thaw, want 3", got)
	}

	r.Primary.Kill()
	r.Promote()
	do(t, d, r.Standby, "INSERT INTO berths VALUES (4)") // does not wait for a standby
}

func TestReplicatedURL(t *testing.T) {
	t.Parallel()
	r := dbtest.NewReplicated(t, dbtest.Fast())
	url := r.NewDatabase(t)
	for _, want := range []string{
		"host=" + r.Primary.Address(), "host=" + r.Standby.Address(), "target_session_attrs=read-write",
	} {
		if !strings.Contains(url, want) {
			t.Errorf("NewDatabase = %q, want %q in it", url, want)
		}
	}
}
