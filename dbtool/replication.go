package dbtool

import (
	"context"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Replication is how a database server takes part in replication, as far as an ordinary user of the database may know.
type Replication struct {
	// ReadOnly says that a MariaDB or MySQL server takes no writes: it is a replica, or was made read-only. A read-only PostgreSQL server
	// is refused when it is opened.
	ReadOnly bool
	// Cluster is Galera's, nil for a server that is not in a cluster.
	Cluster *Cluster
	// Standbys are those that a PostgreSQL server sends its changes to. MariaDB and MySQL do not tell an ordinary user.
	Standbys []Standby
}

// A Cluster is the state of a Galera cluster, as one of its servers sees it.
type Cluster struct {
	Size   int64
	Status string // "Primary" while the server belongs to the majority
	State  string // "Synced" while the server is up to date
}

// A Standby is a server that follows another one.
type Standby struct {
	Name  string
	State string // "streaming" while it follows; "" when the user may not know
	// Behind is by how many seconds what it has applied is older, -1 when that is not known.
	Behind float64
}

// Replication describes how the server takes part in replication.
func (t *Tables) Replication(ctx context.Context) (s Replication, err error) {
	err = t.Read(ctx, func(r *sqlconn.Tx) error {
		s = Replication{}
		switch r.Session.Dialect {
		case sqlconn.MySQLDialect:
			return s.readMySQL(r)
		case sqlconn.PostgreSQLDialect:
			return s.readPostgreSQL(r)
		}
		return nil
	})
	return s, err
}

func (s *Replication) readMySQL(r *sqlconn.Tx) error {
	readOnly, err := sqlconn.First(r, func(one *sqlconn.Row) int64 { return one.Int(0) }, `SELECT CAST(@@GLOBAL.read_only AS SIGNED)`)
	if err != nil {
		return err
	}
	s.ReadOnly = readOnly != 0
	var c Cluster
	err = r.Each(func(one *sqlconn.Row) {
		switch value := one.Text(1); one.Text(0) {
		case "wsrep_cluster_size":
			for _, digit := range value {
				c.Size = c.Size*10 + int64(digit-'0')
			}
		case "wsrep_cluster_status":
			c.Status = value
		case "wsrep_local_state_comment":
			c.State = value
		}
	}, `SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_local_state_comment')`)
	if c.Size > 0 { // 0 where Galera is there and not in use
		s.Cluster = &c
	}
	return err
}

func (s *Replication) readPostgreSQL(r *sqlconn.Tx) error {
	return r.Each(func(one *sqlconn.Row) {
		s.Standbys = append(s.Standbys, Standby{one.Text(0), one.Text(1), one.Float(2)})
	}, `
SELECT COALESCE(application_name, ''),
	COALESCE(state, ''),
	COALESCE(EXTRACT(EPOCH FROM replay_lag), -1)::double precision
FROM pg_stat_replication
ORDER BY application_name`)
}
