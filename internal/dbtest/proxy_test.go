package dbtest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
)

// echo starts a server that answers each line with the same.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p *dbtest.Proxy) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Address(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// exchange sends a word and returns the answer within the time.
func exchange(conn net.Conn, word string, within time.Duration) (string, error) {
	_ = conn.SetDeadline(time.Now().Add(within))
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer := make([]byte, len(word))
	n, err := io.ReadFull(conn, answer)
	return string(answer[:n]), err
}

func answers(t *testing.T, conn net.Conn) {
	t.Helper()
	if got, err := exchange(conn, "ahoy", 5*time.Second); got != "ahoy" || err != nil {
		t.Errorf("the answer to ahoy is %q, %v", got, err)
	}
}

// ended expects a connection to be closed after want of an answer.
func ended(t *testing.T, conn net.Conn, word, want string) {
	t.Helper()
	got, err := exchange(conn, word, 5*time.Second)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || got != want {
		t.Errorf("the answer to %s is %q, %v, want %q and the end", word, got, err, want)
	}
}

func TestProxyForwards(t *testing.T) {
	p := dbtest.NewProxy(t, echo(t))
	conn := dial(t, p)
	answers(t, conn)
	answers(t, conn)
}

func TestProxyCut(t *testing.T) {
	p := dbtest.NewProxy(t, echo(t))
	conn := dial(t, p)
	answers(t, conn)
	p.Cut()
	ended(t, conn, "ahoy", "")
	refused(t, p.Address())
	p.Heal()
	answers(t, dial(t, p))
}

func TestProxyDelay(t *testing.T) {
	p := dbtest.NewProxy(t, echo(t))
	conn := dial(t, p)
	p.Delay(50 * time.Millisecond)
	begin := time.Now()
	answers(t, conn)
	if took := time.Since(begin); took < 100*time.Millisecond {
		t.Errorf("a request and its answer took %s, want twice 50 ms", took)
	}
	p.Heal()
	answers(t, conn)
}

func TestProxyHalfOpen(t *testing.T) {
	p := dbtest.NewProxy(t, echo(t))
	before := dial(t, p)
	answers(t, before)
	p.HalfOpen()
	after := dial(t, p)
	for name, conn := range map[string]net.Conn{"before": before, "after": after} {
		if got, err := exchange(conn, "ahoy", 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the connection from %s answers %q, %v, want nothing", name, got, err)
		}
	}
	p.Heal()
	ended(t, before, "ahoy", "")
	ended(t, after, "ahoy", "")
	answers(t, dial(t, p))
}

// TestProxyHalfOpenHidesTheEnd closes the server while the client cannot detect it.
func TestProxyHalfOpenHidesTheEnd(t *testing.T) {
	inner := dbtest.NewProxy(t, echo(t))
	p := dbtest.NewProxy(t, inner.Address())
	conn := dial(t, p)
	answers(t, conn)
	p.HalfOpen()
	inner.Cut()
	if got, err := exchange(conn, "ahoy", 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the client hears %q, %v, want nothing", got, err)
	}
}

func TestProxyCutAfter(t *testing.T) {
	for _, c := range []struct {
		name      string
		direction dbtest.Direction
		n         int
		want      string
	}{
		{"ToClientAtOnce", dbtest.ToClient, 0, ""},
		{"ToClientLater", dbtest.ToClient, 6, "ho"},
		{"ToServerAtOnce", dbtest.ToServer, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := dbtest.NewProxy(t, echo(t))
			conn, other := dial(t, p), dial(t, p)
			answers(t, other)
			p.CutAfter(c.direction, c.n)
			if c.n >= 4 {
				answers(t, conn)
			}
			ended(t, conn, "hoay", c.want)
			if got := p.Lost(); got != 1 {
				t.Errorf("Lost = %d, want 1", got)
			}
			answers(t, other) // it happens once
			answers(t, dial(t, p))
		})
	}
}

func TestProxyRedirect(t *testing.T) {
	p := dbtest.NewProxy(t, "127.0.0.1:1") // without a listener
	ended(t, dial(t, p), "ahoy", "")
	p.Redirect(echo(t))
	answers(t, dial(t, p))
}

// TestLostAnswer loses the answer to a write that the server has executed.
func TestLostAnswer(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := k.shared(t)
			d := s.CreateDatabase(t)
			do(t, d, s, "CREATE TABLE berths (n INT PRIMARY KEY)")
			p := dbtest.NewProxy(t, s.Address())
			p.LoseAnswer("Insert Into")
			if err := d.Exec(p.Address(), "INSERT INTO berths VALUES (1)"); err == nil {
				t.Error("the client learns that it was done")
			}
			if got := p.Lost(); got != 1 {
				t.Errorf("Lost = %d, want 1", got)
			}
			if got := query(t, d, s, "SELECT count(*) FROM berths"); got != "1" {
				t.Errorf("there are %s rows, want the one whose answer was lost", got)
			}
			if err := d.Exec(p.Address(), "INSERT INTO berths VALUES (2)"); err != nil {
				t.Errorf("the next write: %v", err)
			}
		})
	}
}

// TestLostRequest loses a write on its way to the server.
func TestLostRequest(t *testing.T) {
	s := dbtest.PostgreSQL(t)
	d := s.CreateDatabase(t)
	do(t, d, s, "CREATE TABLE berths (n INT PRIMARY KEY)")
	p := dbtest.NewProxy(t, s.Address())
	p.CutAfter(dbtest.ToServer, 600) // past the log-in, in the midst of the statement
	if err := d.Exec(p.Address(), "INSERT INTO berths VALUES (1) -- "+strings.Repeat("x", 2000)); err == nil {
		t.Error("the client learns that it was done")
	}
	if got := query(t, d, s, "SELECT count(*) FROM berths"); got != "0" {
		t.Errorf("there are %s rows, want none", got)
	}
}
