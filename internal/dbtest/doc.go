// Package dbtest starts private MariaDB and PostgreSQL servers for tests, alone,
// as a Galera cluster or as a primary with its standby, and breaks them on
// purpose: kill, freeze, promote, and a proxy that loses what is on the wire. It
// is not for production: whatever it starts is empty, listens on 127.0.0.1 only
// and ends with the process, and it knows nothing of Berth's tables.
//
// # Which server to take
//
// [MariaDB], [PostgreSQL] and [Galera] give one server for all tests of a process,
// started when the first test asks. It does not sync to the disk, so it is quick
// and of no use for tests of durability. Each test gets a database of its own:
//
//	func TestStore(t *testing.T) {
//		url := dbtest.MariaDB(t).NewDatabase(t)
//		…
//	}
//
// [NewMariaDB], [NewPostgreSQL], [NewGalera] and [NewReplicated] give servers that
// belong to one test, which may kill and freeze them. They are durable, unless
// the option [Fast] says otherwise.
//
// # What is left behind
//
// Servers end when the test does, or for the shared ones with [Stop] or with the
// process, however that ends: the kernel kills them when it dies. A package that
// uses shared servers may call Stop to have their files removed at once:
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		dbtest.Stop()
//		os.Exit(code)
//	}
//
// Files are below berth-dbtest-UID in [os.TempDir]. What a killed process left
// behind, which may be children of a server that was frozen then, is ended and
// removed by the next one that uses the package. Initialised data directories are
// kept there, one per release of a server, because making one takes longer than
// copying it.
//
// # What it needs
//
// Linux, and the servers as packages of the distribution; a test without its
// server fails and says what to install. BERTH_TEST_NO_DATABASES=1 skips those
// tests instead. Servers refuse to run as root: root starts them as the users
// mysql and postgres, anybody else as oneself.
package dbtest
