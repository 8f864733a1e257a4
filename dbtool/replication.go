package dbtool

import (
	"context"
	"net"
	"strings"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Replication is how a database server takes part in replication, as far as the user may know.
type Replication struct {
	// ReadOnly says that the server takes no writes: it is a replica, or was made read-only. Such a
	// server is refused when it is opened, unless [sqlconn.Server] has Standby.
	ReadOnly bool
	// Cluster is Galera's, nil for a server that is not in a cluster.
	Cluster *Cluster
	// Standbys are those that a PostgreSQL server sends its changes to.
	Standbys []Standby
	// Sources are the servers that a MariaDB or MySQL server follows. Grant is the statement that lets
	// the user see them, "" when it may.
	Sources []Source
	Grant   string
	// Replicas is how many servers are connected to a MariaDB server to follow it, -1 when that is not
	// known. How far they are is known to each of them only.
	Replicas int64
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

// A Source is a server that another one follows.
type Source struct {
	Address string // host:port
	// Receives and Applies are the states of the threads that receive its changes and apply them:
	// "Yes" while they do.
	Receives, Applies string
	Problem           string // their last error, in the server's words
	// Behind is by how many seconds what was applied is older, -1 when that is not known: one of the
	// threads does not run.
	Behind float64
}

// Replication describes how the server takes part in replication.
func (t *Tables) Replication(ctx context.Context) (s Replication, err error) {
	var dialect *sqlconn.Dialect
	var user string
	err = t.Read(ctx, func(r *sqlconn.Tx) (err error) {
		s, dialect = Replication{Replicas: -1}, r.Dialect()
		switch dialect {
		case sqlconn.MySQLDialect:
			user, err = s.readMySQL(r)
			return err
		case sqlconn.PostgreSQLDialect:
			return s.readPostgreSQL(r)
		}
		return nil
	})
	if err != nil || dialect != sqlconn.MySQLDialect {
		return s, err
	}
	for _, show := range showSources {
		var code uint16
		err = t.Read(ctx, func(r *sqlconn.Tx) error {
			err := s.readSources(r, show.statement)
			code = r.MySQLCode()
			return err
		})
		switch code {
		case 1064: // a syntax error: it is another server's statement
			continue
		case 1227: // the user may not
			s.Grant = "GRANT " + show.right + " ON *.* TO " + user
			return s, nil
		}
		return s, err
	}
	return s, err
}

// showSources are the statements that show what a server follows, of MariaDB, of MySQL since 8.0.22
// and before, with the right that a user needs.
var showSources = []struct{ statement, right string }{
	{"SHOW ALL SLAVES STATUS", "REPLICA MONITOR"},
	{"SHOW REPLICA STATUS", "REPLICATION CLIENT"},
	{"SHOW SLAVE STATUS", "REPLICATION CLIENT"},
}

// readMySQL reads what every user may know. It returns the user, as statements have it.
func (s *Replication) readMySQL(r *sqlconn.Tx) (user string, err error) {
	err = r.Each(func(one *sqlconn.Row) {
		s.ReadOnly = one.Int(0) != 0
		name := one.Text(1)
		at := strings.LastIndexByte(name, '@')
		user = "'" + name[:max(at, 0)] + "'@'" + name[at+1:] + "'"
	}, "SELECT "+sqlconn.MySQLDialect.Demoted+", CURRENT_USER()")
	if err != nil {
		return "", err
	}
	var c Cluster
	err = r.Each(func(one *sqlconn.Row) {
		switch value := one.Text(1); strings.ToLower(one.Text(0)) {
		case "wsrep_cluster_size":
			c.Size = one.Int(1)
		case "wsrep_cluster_status":
			c.Status = value
		case "wsrep_local_state_comment":
			c.State = value
		case "slaves_connected":
			s.Replicas = one.Int(1)
		}
	}, `SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_cluster_status', `+
		`'wsrep_local_state_comment', 'Slaves_connected')`)
	if c.Size > 0 { // 0 where Galera is there and not in use
		s.Cluster = &c
	}
	return user, err
}

// sourceWords are words of MySQL's columns since 8.0.22, each with the word that was there before
// and is in MariaDB.
var sourceWords = strings.NewReplacer("Source_", "Master_", "_Source", "_Master", "Replica_", "Slave_")

// readSources reads what the server follows.
func (s *Replication) readSources(r *sqlconn.Tx, show string) error {
	return r.Each(func(one *sqlconn.Row) {
		at := map[string]int{}
		for i, name := range one.Columns {
			at[sourceWords.Replace(name)] = i
		}
		text := func(name string) string {
			if i, ok := at[name]; ok {
				return one.Text(i)
			}
			return ""
		}
		row := Source{
			Address: net.JoinHostPort(text("Master_Host"), text("Master_Port")), Receives: text("Slave_IO_Running"),
			Applies: text("Slave_SQL_Running"), Behind: -1,
			Problem: strings.TrimSpace(text("Last_IO_Error") + " " + text("Last_SQL_Error")),
		}
		if i, ok := at["Seconds_Behind_Master"]; ok && !one.Null(i) {
			row.Behind = one.Float(i)
		}
		s.Sources = append(s.Sources, row)
	}, show)
}

func (s *Replication) readPostgreSQL(r *sqlconn.Tx) error {
	readOnly, err := sqlconn.First(r, sqlconn.Integer, `
SELECT CASE WHEN pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' THEN 1 ELSE 0 END`)
	if err != nil {
		return err
	}
	s.ReadOnly = readOnly != 0
	return r.Each(func(one *sqlconn.Row) {
		s.Standbys = append(s.Standbys, Standby{one.Text(0), one.Text(1), one.Float(2)})
	}, `
SELECT COALESCE(application_name, ''),
	COALESCE(state, ''),
	COALESCE(EXTRACT(EPOCH FROM replay_lag), -1)::double precision
FROM pg_stat_replication
ORDER BY application_name`)
}
