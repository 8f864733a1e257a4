package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Cluster is MariaDB servers that replicate to each other with Galera: each accepts writes, and a
// majority continues when others fail.
type Cluster struct {
	Nodes []*Server

	t testing.TB // nil: the cluster is shared
}

// NewGalera starts a cluster of so many nodes, two at least, which is stopped at the end of the
// test. It is durable unless the options, which apply to every node, say otherwise. Start restarts
// a killed node, which gets the missed writes from the others.
func NewGalera(t testing.TB, nodes int, opts ...Option) *Cluster {
	t.Helper()
	need(t, galera{})
	if nodes < 2 {
		t.Fatalf("a cluster of %d nodes: want two at least", nodes)
	}
	c, err := setUpCluster(nodes, collect(opts))
	if err != nil {
		t.Fatal(err)
	}
	c.t = t
	for _, n := range c.Nodes {
		n.t = t
		t.Cleanup(n.discard)
	}
	if err := c.bootstrap(); err != nil {
		t.Fatal(err)
	}
	return c
}

// setUpCluster returns nodes that were not started yet.
func setUpCluster(nodes int, o options) (*Cluster, error) {
	c := new(Cluster)
	for range nodes {
		n, err := setUp(galera{}, o)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c, join(c.Nodes)
}

// bootstrap starts the nodes as a cluster after a power failure: since they have the same data, no
// state transfer is needed.
func (c *Cluster) bootstrap() error {
	if err := remember(c.Nodes); err != nil {
		return err
	}
	if err := startAll(c.Nodes); err != nil {
		return err
	}
	return c.await(len(c.Nodes))
}

// remember writes into each node's state which nodes were in its last view.
func remember(nodes []*Server) error {
	ids := make([]string, len(nodes))
	for i := range ids {
		s := secret()
		ids[i] = s[:8] + "-" + s[8:12] + "-11f1-a" + s[13:16] + "-" + s[16:28]
	}
	slices.Sort(ids) // the first one leads the view
	view := fmt.Sprintf("#vwbeg\nview_id: 3 %s %d\nbootstrap: 0\n", ids[0], len(ids))
	for _, id := range ids {
		view += "member: " + id + " 0\n"
	}
	for i, n := range nodes {
		path := filepath.Join(n.data(), "gvwstate.dat")
		if err := os.WriteFile(path, []byte("my_uuid: "+ids[i]+"\n"+view+"#vwend\n"), 0o600); err != nil {
			return err
		}
		if err := own(n.engine, path); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts nodes together.
func startAll(nodes []*Server) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = n.start() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Start starts all stopped nodes together. That also restarts a cluster all of whose nodes failed
// at once.
func (c *Cluster) Start() {
	c.Nodes[0].mine()
	c.t.Helper()
	var down []*Server
	for _, n := range c.Nodes {
		if !n.runs() {
			down = append(down, n)
		}
	}
	if err := startAll(down); err != nil {
		c.t.Fatal(err)
	}
}

// Await waits until size nodes, without frozen ones, form the cluster and are synced. A failed node
// is detected after some seconds.
func (c *Cluster) Await(t testing.TB, size int) {
	t.Helper()
	if err := c.await(size); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) await(size int) error {
	return await(switchTime, 50*time.Millisecond, func() error {
		up := c.up()
		for _, n := range up {
			if err := n.answers(); err != nil {
				return err
			}
			got, err := n.text(status("wsrep_cluster_size"))
			if err != nil || got != fmt.Sprint(size) {
				return errors.Join(err, fmt.Errorf("the node at %s sees %s nodes, not %d", n.Address(), got, size))
			}
		}
		if len(up) == 0 {
			return final{errors.New("no node is running")}
		}
		return nil
	})
}

func (c *Cluster) up() []*Server {
	var up []*Server
	for _, n := range c.Nodes {
		if n.up() {
			up = append(up, n)
		}
	}
	return up
}

// Addresses returns where the nodes listen, as host:port.
func (c *Cluster) Addresses() []string { return addresses(c.Nodes) }

func addresses(servers []*Server) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Address())
	}
	return all
}

// NewDatabase creates an empty database and returns its SQLAlchemy URL with the
// addresses of all nodes, each a parameter host. The database is dropped when the
// test is over.
func (c *Cluster) NewDatabase(t testing.TB) string {
	t.Helper()
	return c.CreateDatabase(t).URL(c.Addresses()...)
}

// CreateDatabase creates an empty database, with an account on all nodes, for a test that composes
// the URL itself.
func (c *Cluster) CreateDatabase(t testing.TB) Database {
	t.Helper()
	up := c.up()
	if len(up) == 0 {
		t.Fatal("no node is running")
	}
	d := up[0].CreateDatabase(t)
	for _, n := range up[1:] {
		if err := await(switchTime, 5*time.Millisecond, func() error { return n.admits(d) }); err != nil {
			t.Fatal(err)
		}
	}
	return d
}
