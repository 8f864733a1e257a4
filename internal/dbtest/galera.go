package dbtest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// galera is MariaDB as a node of a Galera cluster.
type galera struct{ mariaDB }

func (galera) name() string     { return "Galera" }
func (galera) packages() string { return "mariadb-server galera-4 rsync" }

// program finds all programs that a node needs.
func (g galera) program() (string, error) {
	if _, err := newest("rsync", "/usr/bin"); err != nil {
		return "", err
	}
	if _, err := provider(); err != nil {
		return "", err
	}
	return g.mariaDB.program()
}

// provider returns the library that replicates.
func provider() (string, error) {
	found, err := filepath.Glob("/usr/lib*/galera*/libgalera*_smm.so")
	if err == nil && len(found) == 0 {
		err = errors.New("no libgalera_smm.so in /usr/lib*/galera*")
	}
	if err != nil {
		return "", err
	}
	return slices.MaxFunc(found, byVersion), nil
}

// initialise runs the data directory as a cluster of one and stops that in an orderly manner.
// Copies of it have the same position in the log, so that the nodes of a new cluster need no full
// state transfer.
func (g galera) initialise(data, password string) error {
	if err := g.mariaDB.initialise(data, password); err != nil {
		return err
	}
	s := &Server{engine: g, dir: filepath.Dir(data), admin: Database{User: administrator, Password: password}}
	defer s.releasePorts()
	if err := join([]*Server{s}); err != nil {
		return err
	}
	if err := s.start(newCluster); err != nil {
		return err
	}
	return s.process.stop(g.stopSignal())
}

// newCluster makes a node the first one.
const newCluster = "--wsrep-new-cluster"

// A node listens at four ports: for clients, and for other nodes that talk to
// it, catch it up and copy to it.
const (
	clientPort = iota
	groupPort
	catchUpPort
	copyPort
	nodePorts
)

// join sets the ports and arguments of servers as nodes of one cluster.
func join(nodes []*Server) error {
	library, err := provider()
	if err != nil {
		return err
	}
	var group []string
	for _, n := range nodes {
		for len(n.ports) < nodePorts {
			port, err := takePort()
			if err != nil {
				return err
			}
			n.ports = append(n.ports, port)
		}
		group = append(group, local(n.ports[groupPort]))
	}
	name := "berth_" + secret()[:12] // a stray node must not find another test's cluster
	for i, n := range nodes {
		n.inStep = synced
		n.args = append(n.engine.arguments(n.data(), n.ports[clientPort]),
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
			"--log-bin-trust-function-creators=ON", // users may make triggers, as on one server
			"--wsrep-on=ON", "--wsrep-provider="+library,
			"--wsrep-cluster-name="+name, "--wsrep-cluster-address=gcomm://"+strings.Join(group, ","),
			fmt.Sprintf("--wsrep-node-name=node%d", i),
			"--wsrep-node-address="+local(n.ports[groupPort]),
			"--wsrep-node-incoming-address="+n.Address(),
			"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address="+local(n.ports[copyPort]),
			"--wsrep-provider-options="+strings.Join([]string{
				"base_host=127.0.0.1", fmt.Sprintf("base_port=%d", n.ports[groupPort]),
				"gmcast.listen_addr=tcp://" + local(n.ports[groupPort]),
				"ist.recv_addr=" + local(n.ports[catchUpPort]),
				"gcache.size=32M",
			}, ";"))
	}
	return nil
}

// synced reports why a node does not serve its cluster.
func synced(ctx context.Context, c session) error {
	for _, want := range []struct{ name, value string }{
		{"wsrep_cluster_status", "Primary"},
		{"wsrep_local_state_comment", "Synced"},
		{"wsrep_ready", "ON"},
	} {
		if got, err := c.text(ctx, status(want.name)); err != nil || got != want.value {
			return errors.Join(err, fmt.Errorf("%s is %q", want.name, got))
		}
	}
	return nil
}

func status(name string) string {
	return "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '" + name + "'"
}
