package sqlconn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"
)

// A mysqlHost is a driver whose connections record their statements. Queries return its variables.
type mysqlHost struct {
	variables  [][2]string
	refuses    error
	statements []string
}

func (h *mysqlHost) Connect(context.Context) (driver.Conn, error) { return mysqlConn{h}, h.refuses }
func (h *mysqlHost) Driver() driver.Driver                        { return nil }

type mysqlConn struct{ *mysqlHost }

func (mysqlConn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("a statement is prepared")
}

func (mysqlConn) Begin() (driver.Tx, error) { return nil, errors.New("a transaction begins") }
func (mysqlConn) Close() error              { return nil }

func (c mysqlConn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	c.statements = append(c.statements, query)
	return driver.ResultNoRows, nil
}

func (c mysqlConn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if !strings.Contains(query, "SHOW VARIABLES") {
		return nil, errors.New("what is " + query)
	}
	return &variables{c.variables}, nil
}

// variables are the rows of SHOW VARIABLES.
type variables struct{ rows [][2]string }

func (v *variables) Columns() []string { return []string{"Variable_name", "Value"} }
func (v *variables) Close() error      { return nil }

func (v *variables) Next(dest []driver.Value) error {
	if len(v.rows) == 0 {
		return io.EOF
	}
	dest[0], dest[1] = v.rows[0][0], v.rows[0][1]
	v.rows = v.rows[1:]
	return nil
}

// mysqlDialerTo returns a dialer of the hosts.
func mysqlDialerTo(t *testing.T, hosts ...*mysqlHost) *mysqlDialer {
	t.Helper()
	d := &mysqlDialer{mode: "@@sql_mode"}
	for _, host := range hosts {
		db := sql.OpenDB(host)
		db.SetMaxIdleConns(-1)
		for r := range d.hosts {
			d.hosts[r] = append(d.hosts[r], db)
		}
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestSetUpOfMySQL looks at what each kind of server is sent when a connection is made.
func TestSetUpOfMySQL(t *testing.T) {
	const (
		readCommitted  = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
		repeatableRead = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
		settings       = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO'), " +
			"SESSION innodb_lock_wait_timeout = 2"
	)
	mariadb := [][2]string{{"idle_transaction_timeout", "0"}, {"read_only", "OFF"}, {"wsrep_on", "OFF"}}
	galera := [][2]string{{"idle_transaction_timeout", "0"}, {"wsrep_on", "ON"}}
	for _, tc := range []struct {
		name      string
		variables [][2]string
		role      Role
		first     string
		want      []string
		place     Place
	}{
		{
			"MariaDB that is written", mariadb, Writing, "",
			[]string{readCommitted, settings + ", SESSION idle_transaction_timeout = 10"},
			Place{Host: "0", Nowait: true},
		},
		{
			"MariaDB that is read", mariadb, Reading, "",
			[]string{repeatableRead, settings + ", SESSION idle_transaction_timeout = 10"},
			Place{Host: "0", Nowait: true, Single: true},
		},
		{
			"MySQL that is written",
			[][2]string{{"read_only", "OFF"}},
			Writing, "",
			[]string{readCommitted, settings + ", SESSION wait_timeout = 30"},
			Place{Host: "0"},
		},
		{
			"MySQL that is read", nil, Reading, "",
			[]string{repeatableRead, settings},
			Place{Host: "0", Single: true},
		},
		{
			"a node of Galera", galera, Writing, "",
			[]string{
				readCommitted, settings + ", SESSION wsrep_sync_wait = @@wsrep_sync_wait | 1, " +
					"SESSION idle_transaction_timeout = 10", "DO 1",
			},
			Place{Host: "0", Nowait: true, Single: true},
		},
		{
			"a statement of the URL's", nil, Reading, "SET @x = 1",
			[]string{"SET @x = 1", repeatableRead, settings},
			Place{Host: "0", Single: true},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := &mysqlHost{variables: tc.variables}
			d := mysqlDialerTo(t, host)
			d.first = tc.first
			conn, place, err := d.Dial(t.Context(), tc.role)
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			if diff := cmp.Diff(tc.want, host.statements); diff != "" || place != tc.place {
				t.Errorf("at %+v, want %+v; statements (-want +got):\n%s", place, tc.place, diff)
			}
		})
	}
}

// TestHostsOfMySQL connects to the first host that takes writes and keeps to it.
func TestHostsOfMySQL(t *testing.T) {
	away := &mysqlHost{refuses: errors.New("refused")}
	replica := &mysqlHost{variables: [][2]string{{"read_only", "ON"}}}
	primary := &mysqlHost{}
	d := mysqlDialerTo(t, away, replica, primary)
	for range 2 {
		conn, place, err := d.Dial(t.Context(), Writing)
		if err != nil || place.Host != "2" {
			t.Fatalf("connected to %q, %v, want the primary", place.Host, err)
		}
		conn.Close()
		away.refuses = nil // which is not tried again while the primary works
	}
	primary.refuses, away.refuses = errors.New("refused"), errors.New("refused")
	_, _, err := d.Dial(t.Context(), Reading)
	if e := new(mysql.MySQLError); !errors.As(err, &e) || e.Number != 1290 || !MySQLDialect.ReadOnly(err) {
		t.Errorf("with the replica alone: %v", err)
	}
	d.standby = true
	conn, place, err := d.Dial(t.Context(), Reading)
	if err != nil || place.Host != "1" {
		t.Fatalf("connected to %q, %v, want the replica", place.Host, err)
	}
	conn.Close()
}

// A postgresHost speaks PostgreSQL's protocol on a socket, as far as connecting needs it.
type postgresHost struct {
	mu         sync.Mutex
	parameters map[string]string
	statements []string
	readOnly   string // the answer to SHOW transaction_read_only
}

// newPostgresHost returns a host and the directory of its socket.
func newPostgresHost(t *testing.T) (*postgresHost, string) {
	t.Helper()
	h, dir := &postgresHost{readOnly: "off"}, t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { l.Close() })
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { h.serve(conn) })
		}
	})
	return h, dir
}

// serve answers until the client ends the connection.
func (h *postgresHost) serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	startup, err := b.ReceiveStartupMessage()
	if err != nil {
		return
	}
	h.mu.Lock()
	h.parameters = startup.(*pgproto3.StartupMessage).Parameters
	h.mu.Unlock()
	b.Send(&pgproto3.AuthenticationOk{})
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if b.Flush() != nil {
			return
		}
		message, err := b.Receive()
		if err != nil {
			return
		}
		query, ok := message.(*pgproto3.Query)
		if !ok {
			return
		}
		if strings.EqualFold(query.String, "show transaction_read_only") {
			b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("x"), DataTypeOID: 25}}})
			b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(h.readOnly)}})
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SHOW")})
			continue
		}
		h.mu.Lock()
		h.statements = append(h.statements, query.String)
		h.mu.Unlock()
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SET")})
	}
}

// openPostgres connects to a host as a tool or as a service does.
func openPostgres(t *testing.T, server Server, tool bool) (*Session, error) {
	t.Helper()
	db := NewDatabase(Source{Server: &server, Logger: slog.New(slog.DiscardHandler), Step: func(string) {}})
	t.Cleanup(func() { db.Close() })
	if tool {
		return db.OpenServer(t.Context(), Writing, Naming{Section: "database"})
	}
	prepare := func(context.Context, *Session) error { return nil }
	ses, _, err := db.Open(t.Context(), Schema{Prepare: prepare, Known: Naming{Section: "database"}}, 1)
	return ses, err
}

// TestSetUpOfPostgreSQL looks at what a server is sent when a connection is made, for a service and
// for a tool, whose transactions may be idle.
func TestSetUpOfPostgreSQL(t *testing.T) {
	const timeouts = "SET standard_conforming_strings = on; SET lock_timeout = 2000; " +
		"SET idle_in_transaction_session_timeout = 10000"
	for _, tc := range []struct {
		name       string
		params     string
		tool       bool
		program    string
		statements []string
	}{
		{"a service", "", false, "berth-placement", []string{timeouts}},
		{"a service with a name", "application_name=other", false, "other", []string{timeouts}},
		{"a tool", "", true, "berth-placement", []string{timeouts, "SET idle_in_transaction_session_timeout = 0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host, dir := newPostgresHost(t)
			server := Server{
				Dialect: PostgreSQL, Hosts: []string{dir}, User: "o'brien", Database: `a \ b`, Params: mustQuery(t, tc.params),
			}
			ses, err := openPostgres(t, server, tc.tool)
			if err != nil {
				t.Fatal(err)
			}
			if !ses.Pipelined() {
				t.Error("statements go one by one")
			}
			want := map[string]string{
				"user": "o'brien", "database": `a \ b`, "application_name": tc.program, "client_encoding": "UTF8",
			}
			host.mu.Lock()
			defer host.mu.Unlock()
			for name, value := range want {
				if host.parameters[name] != value {
					t.Errorf("parameter %s is %q, want %q", name, host.parameters[name], value)
				}
			}
			if !slices.Equal(host.statements, tc.statements) {
				t.Errorf("statements are %q, want %q", host.statements, tc.statements)
			}
		})
	}
}

// TestReadOnlyPostgreSQL refuses a server that takes no writes, with advice, unless that is wanted.
func TestReadOnlyPostgreSQL(t *testing.T) {
	host, dir := newPostgresHost(t)
	host.readOnly = "on"
	server := Server{Dialect: PostgreSQL, Hosts: []string{dir}, User: "u", Database: "d", Retries: -1}
	_, err := openPostgres(t, server, false)
	if err == nil || !strings.Contains(err.Error(), "name the primary in [database] connection") ||
		!PostgreSQLDialect.ReadOnly(err) {
		t.Errorf("a service gets %v", err)
	}
	server.Standby = true
	if _, err := openPostgres(t, server, true); err != nil {
		t.Errorf("a tool that may look at a standby gets %v", err)
	}
}
