package dbtest

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// NewReplica starts a MariaDB that takes writes, and another one that follows it and takes none.
// Both are stopped at the end of the test. Databases and accounts that are created on the primary
// appear on the replica.
func NewReplica(t testing.TB, opts ...Option) (primary, replica *Server) {
	t.Helper()
	primary = NewMariaDB(t, append(opts, Setting("server_id", "1"), Setting("log_bin", "changes"))...)
	replica = NewMariaDB(t, append(opts, Setting("server_id", "2"), Setting("read_only", "1"))...)
	replica.Exec(t, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='%s', "+
		"MASTER_PASSWORD='%s', MASTER_CONNECT_RETRY=1",
		primary.ports[0], primary.admin.User, primary.admin.Password), "START SLAVE")
	err := await(switchTime, 20*time.Millisecond, func() error {
		connected, err := primary.text("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = " +
			"'SLAVES_CONNECTED'")
		if err == nil && connected != "1" {
			err = errors.New("the replica has not connected")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return primary, replica
}
