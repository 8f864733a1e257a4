package sqlconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthcloud/berth/fault"
)

// TestErrorsOfServers classifies errors: what a transaction does next depends on it.
func TestErrorsOfServers(t *testing.T) {
	my := func(code uint16) error {
		return fmt.Errorf("doing: %w", &mysql.MySQLError{Number: code, Message: "text"})
	}
	pg := func(code string) error { return fmt.Errorf("doing: %w", &pgconn.PgError{Code: code}) }
	for _, c := range []struct {
		d    *Dialect
		err  error
		want string
	}{
		{MySQLDialect, my(1213), "retryable"},
		{MySQLDialect, my(1205), "retryable locked"},
		{MySQLDialect, my(1062), "duplicate"},
		{MySQLDialect, my(1452), "retryable orphan"},
		{MySQLDialect, my(1047), "lost"},
		{MySQLDialect, my(1290), "lost read-only"},
		{MySQLDialect, my(1040), "unavailable"},
		{MySQLDialect, my(1114), "unavailable full"},
		{MySQLDialect, my(1366), "unstorable"},
		{MySQLDialect, my(1064), ""}, // a mistake in a statement
		{MySQLDialect, mysql.ErrInvalidConn, "lost"},
		{MySQLDialect, driver.ErrBadConn, "lost"},
		{MySQLDialect, io.ErrUnexpectedEOF, "lost"},
		{MySQLDialect, ErrSilent, "lost"},
		{MySQLDialect, ErrDemoted, "lost"},
		{MySQLDialect, errors.New("text"), ""},
		{PostgreSQLDialect, pg("40001"), "retryable"},
		{PostgreSQLDialect, pg("40P01"), "retryable"},
		{PostgreSQLDialect, pg("55P03"), "retryable locked"},
		{PostgreSQLDialect, pg("23505"), "duplicate"},
		{PostgreSQLDialect, pg("23503"), "retryable orphan"},
		{PostgreSQLDialect, pg("57P01"), "lost"},
		{PostgreSQLDialect, pg("08006"), "lost"},
		{PostgreSQLDialect, pg("25006"), "lost read-only"},
		{PostgreSQLDialect, pg("53300"), "unavailable"},
		{PostgreSQLDialect, pg("53100"), "unavailable full"},
		{PostgreSQLDialect, pg("22021"), "unstorable"},
		{PostgreSQLDialect, pg("42601"), ""},
		{PostgreSQLDialect, ErrSilent, "lost"},
		{PostgreSQLDialect, ConnectFailure(errors.New("no route")), "lost"},
		{SQLiteDialect, ErrSilent, ""},
	} {
		got := ""
		for _, class := range []struct {
			name string
			is   func(error) bool
		}{
			{"retryable", c.d.Retryable},
			{"locked", c.d.Locked},
			{"duplicate", c.d.Duplicate},
			{"orphan", c.d.Orphan},
			{"lost", c.d.Lost},
			{"unavailable", c.d.Unavailable},
			{"full", c.d.Full},
			{"read-only", c.d.ReadOnly},
			{"unstorable", c.d.Unstorable},
		} {
			if class.is(c.err) {
				got += " " + class.name
			}
		}
		if want := c.want; got != "" && got[1:] != want || got == "" && want != "" {
			t.Errorf("%s: %v is%s, want %s", c.d.Name, c.err, got, want)
		}
	}
}

// TestTranslate wants faults without the types of drivers, and texts for the log.
func TestTranslate(t *testing.T) {
	d := MySQLDialect
	if err := d.Translate("doing", nil); err != nil {
		t.Errorf("of nil: %v", err)
	}
	for _, c := range []struct {
		err  error
		kind fault.Kind
		code fault.Code
	}{
		{&mysql.MySQLError{Number: 1213}, fault.Unavailable, CodeUnavailable},
		{&mysql.MySQLError{Number: 1047}, fault.Unavailable, CodeUnavailable},
		{&mysql.MySQLError{Number: 1021}, fault.Unavailable, CodeUnavailable},
		{&mysql.MySQLError{Number: 1366}, fault.Invalid, ""},
		{&mysql.MySQLError{Number: 1064}, fault.Internal, ""},
	} {
		err := d.Translate("doing", c.err)
		if kind, code := fault.Of(err); kind != c.kind || code != c.code {
			t.Errorf("Translate(%v) = %v: %v, %q", c.err, err, kind, code)
		}
		if errors.As(err, new(*mysql.MySQLError)) {
			t.Errorf("Translate(%v) has the driver's error in its chain", c.err)
		}
	}
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		if got := SQLiteDialect.Translate("doing", err); !errors.Is(got, err) {
			t.Errorf("Translate(%v) = %v", err, got)
		}
	}
}

// TestConnectFailuresAreOneLine has a driver report each host on a line of its own.
func TestConnectFailuresAreOneLine(t *testing.T) {
	err := ConnectFailure(errors.New("failed:\n\tone: no route\n\ttwo: refused"))
	if got, want := err.Error(), "connecting: failed: one: no route two: refused"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(err, ErrConnecting) {
		t.Error("it is not ErrConnecting")
	}
}

// TestAdvice wants advice for what an operator can repair, and none where another try may succeed.
func TestAdvice(t *testing.T) {
	known := Naming{Section: "placement_database", Database: "placement"}
	for _, c := range []struct {
		d      *Dialect
		err    error
		advice bool
	}{
		{MySQLDialect, &mysql.MySQLError{Number: 1045}, true},
		{MySQLDialect, &mysql.MySQLError{Number: 1049}, true},
		{MySQLDialect, &mysql.MySQLError{Number: 1040}, false},
		{MySQLDialect, ErrConnecting, false},
		{PostgreSQLDialect, &pgconn.PgError{Code: "28P01"}, true},
		{PostgreSQLDialect, &pgconn.PgError{Code: "3D000"}, true},
		{PostgreSQLDialect, &pgconn.PgError{Code: "57P03"}, false},
	} {
		if got := c.d.Advice(c.err, known); (got != "") != c.advice {
			t.Errorf("%s, %v: advice %q", c.d.Name, c.err, got)
		}
	}
}

func TestMarksOfPostgreSQL(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1":                        "SELECT 1",
		"SELECT ?, ?":                     "SELECT $1, $2",
		"SELECT '?' WHERE a = ?":          "SELECT '?' WHERE a = $1",
		"SELECT 'it''s ?', ? WHERE b = ?": "SELECT 'it''s ?', $1 WHERE b = $2",
	} {
		for range 2 { // the second time from memory
			if got := PostgreSQLDialect.rebind(query); got != want {
				t.Errorf("%q: %q, want %q", query, got, want)
			}
		}
	}
}
