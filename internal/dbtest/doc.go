// Package dbtest starts private MariaDB and PostgreSQL servers for tests, alone, as a Galera
// cluster or as a primary with its standby, and injects faults: kill, freeze, promote, and a proxy
// that loses data in transit. It is not for production: its servers are empty, listen on 127.0.0.1
// only and end with the process. It is independent of Berth's tables.
//
// # Choice of a server
//
// [MariaDB], [PostgreSQL] and [Galera] return one server for all tests of a process, started by the
// first call. It does not sync to the disk, so it is fast and unsuitable for tests of durability.
// Each test gets a database of its own:
//
//	func TestStore(t *testing.T) {
//		url := dbtest.MariaDB(t).NewDatabase(t)
//		…
//	}
//
// [NewMariaDB], [NewPostgreSQL], [NewGalera] and [NewReplicated] return servers of one test, which
// may kill and freeze them. They are durable, unless the option [Fast] is given.
//
// # Cleaning up
//
// Servers are stopped at the end of the test, shared ones by [Stop] or at the end of the process:
// the kernel kills them when the process ends for any reason. A package that uses shared servers
// may call Stop to have their files removed at once:
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		dbtest.Stop()
//		os.Exit(code)
//	}
//
// Files are below berth-dbtest-UID in [os.TempDir]. The next process that uses the package removes
// the files of a killed one, and kills the children of servers that were frozen then. Initialised
// data directories are cached there, one per release of a server, because initialising takes longer
// than copying.
//
// # Requirements
//
// Linux, and the servers as packages of the distribution; a test without its server fails and says
// what to install. BERTH_TEST_NO_DATABASES=1 skips those tests instead. Servers refuse to run as
// root: root starts them as the users mysql and postgres, other users as themselves.
package dbtest
