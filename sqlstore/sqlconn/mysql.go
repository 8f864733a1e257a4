package sqlconn

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MySQLDialect is MariaDB, Galera and MySQL as go-sql-driver/mysql speaks them.
var MySQLDialect = &Dialect{
	Name:      "mysql",
	Shared:    true,
	pipeline:  mysqlPipeline{},
	Bounded:   true,
	Precision: time.Second,
	rebind:    func(query string) string { return query },
	FoldCase:  true,
	FoldLike:  true,
	Rerun:     true,
	Clauses: Clauses{
		Begin:     "START TRANSACTION",
		BeginRead: "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
		LockRow: `
FOR UPDATE`,
		InOrder: `
ORDER BY id`,
		ShareRow: `
LOCK IN SHARE MODE`, // MariaDB has no FOR SHARE
		Now:     "UTC_TIMESTAMP()",
		HourAgo: "UTC_TIMESTAMP() - INTERVAL 1 HOUR",
		// A statement of a round trip of several has its own time.
		WithClock: "CONCAT(?, UTC_TIMESTAMP(6))",
		// A number, or in newer servers a word.
		unlimitedIdle: "SET SESSION idle_transaction_timeout = 0",
		Demoted:       "CASE WHEN CAST(@@GLOBAL.read_only AS CHAR) IN ('0', 'OFF') THEN 0 ELSE 1 END",
	},
	Catalog: Catalog{
		Collations: `
SELECT collation_name
FROM information_schema.collations
WHERE collation_name IN ('utf8mb4_nopad_bin', 'utf8mb4_0900_bin', 'utf8mb4_bin')
ORDER BY collation_name = 'utf8mb4_bin', collation_name`,
		hasTable: `
SELECT 1
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = ?`,
		Tables: `
SELECT table_name
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name NOT LIKE 'berth\_%'
ORDER BY table_name`,
	},
	Errors: Errors{
		// A table is made unless it exists; a column, an index and a row are not.
		Exists: func(err error) bool {
			return mysqlCode(err) == 1060 || mysqlCode(err) == 1061 || mysqlCode(err) == 1062
		},
		Duplicate: func(err error) bool { return mysqlCode(err) == 1062 },
		Locked:    func(err error) bool { return mysqlCode(err) == 1205 },
		Orphan: func(err error) bool {
			code := mysqlCode(err)
			return code == 1451 || code == 1452
		},
		Retryable: func(err error) bool {
			switch mysqlCode(err) {
			case 1213, // deadlock, or refused by the other nodes
				1205,       // lock wait timeout
				1020,       // changed since last read (MariaDB's snapshot isolation)
				1451, 1452: // another transaction inserted or deleted what a foreign key refers to
				return true
			}
			return false
		},
		Lost: func(err error) bool {
			switch mysqlCode(err) {
			case 1047, // the node is not part of the cluster's majority
				1180,       // error during commit: the node was cut off
				1053, 1927, // shutdown, connection killed
				1152, 1158, 1159, 1160, 1161, 1184, // network trouble, as the server saw it
				1290, 1792, 1836, // read-only: no longer the primary
				4031: // closed for being idle
				return true
			}
			return errors.Is(err, mysql.ErrInvalidConn) || connectionFailed(err)
		},
		Unavailable: func(err error) bool {
			switch mysqlCode(err) {
			case 1040, 1203, 1226, 1129, // too many connections, or too many that failed
				1037, 1041, 1135, // out of memory or threads
				1021, 1114, 1030, // disk full
				1317, 3024, 1969: // the statement was stopped
				return true
			}
			return false
		},
		Full: func(err error) bool { return mysqlCode(err) == 1021 || mysqlCode(err) == 1114 },
		Unstorable: func(err error) bool {
			switch mysqlCode(err) {
			case 1366, 1300, 3854, 1977: // a value that a column, or its character set, cannot have
				return true
			case 1267, 1270, 1271: // a comparison with such a value; of columns with others the database is to blame
				return strings.Contains(err.Error(), "COERCIBLE")
			}
			return false
		},
		ReadOnly: func(err error) bool {
			code := mysqlCode(err)
			return code == 1290 || code == 1792 || code == 1836
		},
		Advice: func(err error, known Naming) string {
			switch mysqlCode(err) {
			case 1045, 1698:
				return "check user and password in [" + known.Section + "] connection"
			case 1044:
				return "grant the user all privileges on the database"
			case 1142:
				return "grant the user the right to create tables, once, for Berth's own: GRANT CREATE, REFERENCES ON " +
					known.Database + ".* TO …"
			case 1049:
				return "create the database first: CREATE DATABASE " + known.Database
			case 1290, 1792, 1836:
				return "this server is read-only: name the primary in [" + known.Section + "] connection"
			}
			return ""
		},
	},
}

// mysqlCode returns the server's error number in err, 0 when there is none.
func mysqlCode(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// A mysqlDialer connects to the first of several servers that works.
type mysqlDialer struct {
	hosts [2][]*sql.DB // by role
	last  atomic.Int32 // the host that worked
	mode  string       // an expression
	first string       // a statement of the URL's that begins each session, empty for none
	// standby says that a server that takes no writes is accepted.
	standby bool
}

func newMySQLDialer(server Server) (*mysqlDialer, error) {
	if err := checkMySQLParams(server.Params); err != nil {
		return nil, err
	}
	server, err := withOptionFile(server)
	if err != nil {
		return nil, err
	}
	d := &mysqlDialer{mode: "@@sql_mode", standby: server.Standby, first: server.Params.Get("init_command")}
	if mode := cmp.Or(server.SQLMode, server.Params.Get("sql_mode")); mode != "" {
		d.mode = "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(mode) + "'"
	}
	hosts := server.Hosts
	if len(hosts) == 0 {
		hosts = []string{"127.0.0.1"}
	}
	for _, host := range hosts {
		cfg, err := mysqlConfig(server, host)
		if err != nil {
			return nil, err
		}
		for r := range d.hosts {
			cfg.MultiStatements = Role(r) == Writing
			connector, err := mysql.NewConnector(cfg)
			if err != nil {
				return nil, fmt.Errorf("connection settings: %w", err)
			}
			db := sql.OpenDB(connector)
			db.SetMaxIdleConns(-1) // the pool of sessions keeps them
			d.hosts[r] = append(d.hosts[r], db)
		}
	}
	return d, nil
}

// Dial tries the host that worked the last time first.
func (d *mysqlDialer) Dial(ctx context.Context, r Role) (*sql.Conn, Place, error) {
	var problems error
	start := int(d.last.Load())
	hosts := d.hosts[r]
	for i := range hosts {
		n := (start + i) % len(hosts)
		conn, at, err := d.dialHost(ctx, hosts[n], r)
		if err == nil {
			d.last.Store(int32(n))
			at.Host = strconv.Itoa(n)
			return conn, at, nil
		}
		problems = errors.Join(problems, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, Place{}, problems
}

// dialHost makes a connection to one host and gives it the settings of its role, within twice
// connectTimeout.
func (d *mysqlDialer) dialHost(ctx context.Context, db *sql.DB, r Role) (conn *sql.Conn, at Place, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	conn, err = db.Conn(ctx)
	if err != nil {
		return nil, at, err
	}
	at, err = d.setUp(ctx, conn, r)
	if err != nil {
		_ = conn.Close()
		return nil, at, err
	}
	return conn, at, nil
}

// setUp gives a connection the settings of its role. A node that is cut off from
// its cluster is refused here, and so is a replica unless standby says otherwise. It says what kind
// of server it is. READ COMMITTED for writing: locks are taken on the rows that are found, not on
// the gaps between them, and each statement sees what others committed.
func (d *mysqlDialer) setUp(ctx context.Context, conn *sql.Conn, r Role) (at Place, err error) {
	if d.first != "" { // before the settings here, which have to stay
		if _, err := conn.ExecContext(ctx, d.first); err != nil {
			return at, fmt.Errorf("init_command: %w", err)
		}
	}
	has, err := mysqlVariables(ctx, conn)
	if err != nil {
		return at, err
	}
	if v, ok := has["read_only"]; ok && !d.standby && !strings.EqualFold(v, "OFF") {
		return at, &mysql.MySQLError{Number: 1290, Message: "the server is read-only"}
	}
	level := "REPEATABLE READ" // with it, a snapshot lasts
	if r == Writing {
		level = "READ COMMITTED"
	}
	settings := []string{
		// Class VCPU has the id 0.
		"sql_mode = CONCAT(" + d.mode + ", ',NO_AUTO_VALUE_ON_ZERO')",
		fmt.Sprintf("innodb_lock_wait_timeout = %d", int(LockWait.Seconds())),
	}
	at.Single = r == Reading
	node := strings.EqualFold(has["wsrep_on"], "ON")
	if node {
		// Wait for what other nodes committed before reading.
		settings = append(settings, "wsrep_sync_wait = @@wsrep_sync_wait | 1")
		at.Single = true
	}
	if _, ok := has["idle_transaction_timeout"]; ok {
		settings = append(settings, fmt.Sprintf("idle_transaction_timeout = %d", int(idleTransaction.Seconds())))
		at.Nowait = true // MariaDB got both with 10.3
	} else if r == Writing {
		// The connection ends with it, and is made again when it is needed.
		settings = append(settings, fmt.Sprintf("wait_timeout = %d", int(3*idleTransaction.Seconds())))
	}
	statements := []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL " + level, // its variable has another name on MySQL
		"SET SESSION " + strings.Join(settings, ", SESSION "),
	}
	if node {
		statements = append(statements, "DO 1") // fails on one that is cut off
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return at, err
		}
	}
	return at, nil
}

// mysqlVariables reads those that only some servers have.
func mysqlVariables(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, `
SHOW VARIABLES
WHERE variable_name IN ('wsrep_on', 'idle_transaction_timeout', 'read_only')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	has := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		has[name] = value
	}
	return has, rows.Err()
}

// Close closes the pools of all hosts and roles.
func (d *mysqlDialer) Close() error {
	var problems error
	for _, db := range slices.Concat(d.hosts[:]...) {
		problems = errors.Join(problems, db.Close())
	}
	return problems
}
