package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
)

// A Server is one private database server. Its methods may be called from
// several goroutines. Those that kill, stop or freeze are for a server of one's
// own and fail the test, as [testing.T.FailNow] does, when they cannot do so.
type Server struct {
	engine engine
	t      testing.TB // nil: the server is shared
	dir    string
	ports  []int // the first is where it listens
	admin  Database
	args   []string
	extra  []string                             // arguments from options
	inStep func(context.Context, session) error // what a node waits for after it answers; nil: nothing

	mu      sync.Mutex
	process tree
	frozen  bool
}

// An Option changes how a server is set up.
type Option func(*options)

type options struct {
	fast        bool
	synchronous bool
	settings    [][2]string
}

// Fast disables durability: the server never syncs to the disk, and acknowledged writes may be lost
// in a crash of the machine, though not of the server.
func Fast() Option { return func(o *options) { o.fast = true } }

// Setting sets a variable of the server's configuration, such as innodb_snapshot_isolation or
// max_connections. It overrides the package's own value.
func Setting(name, value string) Option {
	return func(o *options) { o.settings = append(o.settings, [2]string{name, value}) }
}

func (o options) arguments(e engine) []string {
	var args []string
	if o.fast {
		args = e.slack()
	}
	for _, s := range o.settings {
		args = append(args, e.setting(s[0], s[1])...)
	}
	return args
}

func collect(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return o
}

// NewMariaDB starts a MariaDB that is stopped at the end of the test. It is durable unless the
// options say otherwise.
func NewMariaDB(t testing.TB, opts ...Option) *Server {
	t.Helper()
	return newServer(t, mariaDB{}, opts)
}

// NewPostgreSQL starts a PostgreSQL that is stopped at the end of the test. It is durable unless
// the options say otherwise.
func NewPostgreSQL(t testing.TB, opts ...Option) *Server {
	t.Helper()
	return newServer(t, postgreSQL{}, opts)
}

func newServer(t testing.TB, e engine, opts []Option) *Server {
	t.Helper()
	need(t, e)
	s, err := setUp(e, collect(opts))
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(s.discard)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// setUp returns a server that has its data and was not started yet.
func setUp(e engine, o options) (*Server, error) {
	t, err := prepare(e)
	if err != nil {
		return nil, err
	}
	s, err := bare(e)
	if err != nil {
		return nil, err
	}
	s.admin = Database{User: administrator, Password: t.password, engine: e}
	s.args, s.extra = e.arguments(s.data(), s.ports[0]), o.arguments(e)
	return s, t.copyTo(s.data())
}

// bare returns a server without data.
func bare(e engine) (*Server, error) {
	dir, err := running.new()
	if err != nil {
		return nil, err
	}
	port, err := takePort()
	return &Server{engine: e, dir: dir, ports: []int{port}}, err
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "log") }

// Address returns the server's address, as host:port. A restart does not change it.
func (s *Server) Address() string { return local(s.ports[0]) }

// start starts the server and returns when it answers.
func (s *Server) start(extra ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process.Alive() {
		return fmt.Errorf("%s at %s is running already", s.engine.name(), s.Address())
	}
	if err := s.launch(extra); err != nil {
		return fmt.Errorf("starting %s: %w", s.engine.name(), err)
	}
	if err := s.await(); err != nil {
		return fmt.Errorf("starting %s: %w\n%s", s.engine.name(), err, s.lastWords())
	}
	return nil
}

func (s *Server) launch(extra []string) error {
	program, err := s.engine.program()
	if err != nil {
		return err
	}
	cmd, err := command(s.engine, s.data(), program, slices.Concat(s.args, s.extra, extra)...)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	s.process.Process, err = process.Start(cmd)
	s.frozen = false
	return err
}

// await waits until the server answers an administrator and is in step.
func (s *Server) await() error {
	return await(startTime, 20*time.Millisecond, func() error {
		if !s.process.Alive() {
			return final{errors.New("it ended")}
		}
		return s.answers()
	})
}

func (s *Server) answers() error {
	return s.with(5*time.Second, func(ctx context.Context, c session) error {
		if s.inStep == nil {
			return nil
		}
		return s.inStep(ctx, c)
	})
}

// lastWords returns the end of the server's log.
func (s *Server) lastWords() string {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return tail(string(text))
}

// discard kills the server and removes its files.
func (s *Server) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.drop(s.engine.dropSignal()); err != nil && s.t != nil {
		s.t.Error(err)
	}
	if s.t != nil && s.t.Failed() {
		s.t.Logf("the last words of %s at %s:\n%s", s.engine.name(), s.Address(), s.lastWords())
	}
	remove(s.dir)
	s.releasePorts()
}

func (s *Server) releasePorts() {
	for _, port := range s.ports {
		releasePort(port)
	}
}

// NewDatabase creates an empty database with an account of its own and returns its SQLAlchemy URL.
// The database is dropped at the end of the test.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	return s.CreateDatabase(t).URL(s.Address())
}

// CreateDatabase is NewDatabase for a test that composes the URL itself.
func (s *Server) CreateDatabase(t testing.TB) Database {
	t.Helper()
	d := newDatabase(s.engine)
	if err := s.exec(s.engine.create(d)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.drop(t, d) })
	return d
}

// drop removes a database. A failure because the test has broken the server is no error: the
// database is removed with the server.
func (s *Server) drop(t testing.TB, d Database) {
	if !s.up() {
		return
	}
	if err := s.exec(s.engine.drop(d)); err != nil {
		t.Logf("the database %s stays until %s ends: %v", d, s.engine.name(), err)
	}
}

func (s *Server) up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Alive() && !s.frozen
}

// runs reports whether there is a process, frozen or not.
func (s *Server) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Alive()
}
