package dbtest

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// Replicated is a PostgreSQL primary and a standby. The fields keep their names after a change of
// roles.
type Replicated struct {
	Primary, Standby *Server

	t testing.TB
}

// Synchronous has the primary acknowledge a commit when the standby has it on disk and shows it to
// readers. Commits block while the standby is unavailable. It is for [NewReplicated]; servers
// without a standby ignore it.
func Synchronous() Option { return func(o *options) { o.synchronous = true } }

// NewReplicated starts a primary with a standby; both are stopped at the end of the test. They are
// durable, and the standby replays without delay, unless the options say otherwise. The primary
// retains the log that the standby has not received yet.
func NewReplicated(t testing.TB, opts ...Option) *Replicated {
	t.Helper()
	r := &Replicated{Primary: NewPostgreSQL(t, opts...), t: t}
	if err := r.setUp(collect(opts)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Replicated) setUp(o options) error {
	s, err := bare(postgreSQL{})
	if err != nil {
		return err
	}
	r.Standby = s
	s.t = r.t
	r.t.Cleanup(s.discard)
	s.admin = r.Primary.admin
	s.args, s.extra = s.engine.arguments(s.data(), s.ports[0]), r.Primary.extra
	if err := r.copy(); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	if err := r.await(); err != nil {
		return err
	}
	if o.synchronous {
		return r.synchronise()
	}
	return nil
}

// copy takes the standby's data from the running primary, and with it where to
// follow.
func (r *Replicated) copy() error {
	program, err := postgreSQL{}.tool("pg_basebackup")
	if err != nil {
		return err
	}
	// The server's user writes below its own directory only.
	if err := own(r.Standby.engine, r.Standby.dir); err != nil {
		return err
	}
	cmd, err := command(r.Standby.engine, r.Standby.dir, program,
		"--pgdata="+r.Standby.data(), "--host=127.0.0.1", fmt.Sprintf("--port=%d", r.Primary.ports[0]),
		"--username="+administrator, "--no-password", "--write-recovery-conf", "--create-slot", "--slot=standby",
		"--wal-method=stream", "--checkpoint=fast", "--no-sync")
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, "PGPASSWORD="+r.Primary.admin.Password)
	return run(cmd)
}

// synchronise configures the primary only, after it was copied: a promoted standby waits for no
// other server.
func (r *Replicated) synchronise() error {
	err := r.Primary.exec([]string{
		"ALTER SYSTEM SET synchronous_standby_names = '*'",
		"ALTER SYSTEM SET synchronous_commit = 'remote_apply'",
		"SELECT pg_reload_conf()",
	})
	if err != nil {
		return err
	}
	return r.awaitText("SELECT coalesce(string_agg(sync_state, ','), '') FROM pg_stat_replication", "sync")
}

// Await waits until the standby receives the primary's writes, as after a restart of either.
func (r *Replicated) Await() {
	r.t.Helper()
	if err := r.await(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *Replicated) await() error {
	return r.awaitText("SELECT coalesce(string_agg(state, ','), '') FROM pg_stat_replication", "streaming")
}

// awaitText waits for an answer of the primary.
func (r *Replicated) awaitText(query, want string) error {
	return await(switchTime, 20*time.Millisecond, func() error {
		got, err := r.Primary.text(query)
		if err != nil || got != want {
			return errors.Join(err,
				fmt.Errorf("the primary says %q of its standby, not %q\n%s", got, want, r.Standby.lastWords()))
		}
		return nil
	})
}

// Promote makes the standby accept writes and returns when it does. The primary is unaffected:
// unless it was killed before, there are two primaries.
func (r *Replicated) Promote() {
	r.t.Helper()
	if got := r.Standby.Text(r.t, "SELECT pg_promote(true, 30)"); got != "t" {
		r.t.Fatalf("the standby was not promoted\n%s", r.Standby.lastWords())
	}
}

// Addresses returns where the two listen, as host:port.
func (r *Replicated) Addresses() []string { return addresses([]*Server{r.Primary, r.Standby}) }

// NewDatabase creates an empty database and returns its SQLAlchemy URL with the addresses of both
// servers, each a parameter host, and a parameter that selects the one that accepts writes. The
// database is dropped at the end of the test.
func (r *Replicated) NewDatabase(t testing.TB) string {
	t.Helper()
	return r.CreateDatabase(t).URL(r.Addresses()...) + "&target_session_attrs=read-write"
}

// CreateDatabase creates an empty database on the primary, for a test that
// composes the URL itself, and waits until the standby has it.
func (r *Replicated) CreateDatabase(t testing.TB) Database {
	t.Helper()
	d := r.Primary.CreateDatabase(t)
	if r.Standby.up() {
		if err := await(switchTime, 5*time.Millisecond, func() error { return r.Standby.admits(d) }); err != nil {
			t.Fatal(err)
		}
	}
	return d
}
