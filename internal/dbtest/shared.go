package dbtest

import (
	"os"
	"sync"
	"testing"
)

// shared are the servers that all tests of the process use.
var shared struct {
	sync.Mutex
	servers map[engine]*result
	cluster *Cluster
	failure error // why there is no cluster
}

// A result is a shared server, or the error of its start, so that later tests do not wait for the
// same failure.
type result struct {
	server *Server
	err    error
}

// MariaDB returns the MariaDB of this process, starting it if this is the first
// call. It may be called from parallel tests.
func MariaDB(t testing.TB) *Server {
	t.Helper()
	return share(t, mariaDB{})
}

// PostgreSQL returns the PostgreSQL of this process, starting it if this is the
// first call. It may be called from parallel tests.
func PostgreSQL(t testing.TB) *Server {
	t.Helper()
	return share(t, postgreSQL{})
}

// Galera returns a cluster of three nodes of this process, starting it if this is
// the first call. It may be called from parallel tests.
func Galera(t testing.TB) *Cluster {
	t.Helper()
	need(t, galera{})
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.failure == nil {
		shared.cluster, shared.failure = startCluster()
	}
	if shared.failure != nil {
		t.Fatal(shared.failure)
	}
	return shared.cluster
}

func startCluster() (*Cluster, error) {
	c, err := setUpCluster(3, options{fast: true})
	if err != nil {
		return nil, err
	}
	return c, c.bootstrap()
}

// Stop stops the shared servers and removes their files. It is for TestMain, after all tests.
func Stop() {
	shared.Lock()
	defer shared.Unlock()
	for _, r := range shared.servers {
		if r.server != nil {
			r.server.discard()
		}
	}
	if shared.cluster != nil {
		for _, n := range shared.cluster.Nodes {
			n.discard()
		}
	}
	shared.servers, shared.cluster, shared.failure = nil, nil, nil
	running.close()
}

func share(t testing.TB, e engine) *Server {
	t.Helper()
	need(t, e)
	shared.Lock()
	defer shared.Unlock()
	r, ok := shared.servers[e]
	if !ok {
		r = new(result)
		r.server, r.err = startShared(e)
		if shared.servers == nil {
			shared.servers = make(map[engine]*result)
		}
		shared.servers[e] = r
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.server
}

func startShared(e engine) (*Server, error) {
	s, err := setUp(e, options{fast: true})
	if err != nil {
		return nil, err
	}
	return s, s.start()
}

// need fails a test whose server is not installed and says what to install. It skips the test
// instead when the environment requests that.
func need(t testing.TB, e engine) {
	t.Helper()
	if os.Getenv("BERTH_TEST_NO_DATABASES") == "1" {
		t.Skipf("SKIPPED: BERTH_TEST_NO_DATABASES=1, so nothing is tested with %s", e.name())
	}
	if _, err := e.program(); err != nil {
		t.Fatalf("%s is not installed (%v): apt-get install -y --no-install-recommends %s, "+
			"or set BERTH_TEST_NO_DATABASES=1 to go without the tests that need a database", e.name(), err, e.packages())
	}
}
