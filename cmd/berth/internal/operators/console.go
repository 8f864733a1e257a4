package operators

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/database"
	"github.com/berthcloud/berth/console"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/ops/cloud"
)

// consoleOptions are the flags of "berth console".
type consoleOptions struct {
	env      cli.Env
	source   cloudSource
	nova     novaSettings
	listen   string
	interval time.Duration
	rate     float64
}

// NewConsole returns "berth console".
func NewConsole(env cli.Env) *cobra.Command {
	x := &consoleOptions{env: env}
	cmd := &cobra.Command{
		Use:   "console [--listen HOST:PORT]",
		Short: "Serve a page that shows a cloud's placement",
		Long: `Console serves a page on this machine that shows a cloud: which hosts are how
full, what a host consists of and who has what of it, why a request has no valid
host, how much still fits. It prints the page's URL, which has a key: open it in
a browser of this machine. Whoever has the URL can see what the login can.

The records are read as those of the other commands are, from the APIs of any
OpenStack cloud, placement's database, or a file. While a page is open they are
read again after each --interval; of placement's API only what has changed.
Nothing is changed in the cloud.

Only this machine can reach it. From another one, forward the port with ssh:
ssh -L 8790:127.0.0.1:8790 HOST, and open the same URL there.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  the records could not be read, or the login failed; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  5  the address cannot be used`,
		Example: `  berth console --os-cloud admin
  berth console --config /etc/placement/placement.conf --listen 127.0.0.1:9000
  berth console --from-file cloud.json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	x.source.flags(cmd)
	x.nova.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.listen, "listen", "127.0.0.1:8790", "`HOST:PORT`: address of the page, on loopback")
	f.DurationVar(&x.interval, "interval", 15*time.Second,
		"`DURATION`: time between two readings while a page is open; 30s is 30 seconds")
	f.Float64Var(&x.rate, "requests-per-second", 100,
		"`NUMBER`: number of requests per second to the APIs, of all services together; 0 is no bound")
	return cmd
}

// check refuses wrong values.
func (x *consoleOptions) check() error {
	host, _, err := net.SplitHostPort(x.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: want HOST:PORT", x.listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--listen %s: the page is for this machine only, at 127.0.0.1, [::1] or localhost; "+
			"others forward the port with ssh", x.listen)
	}
	switch {
	case x.interval < time.Second:
		return errors.New("--interval: want 1s or more")
	case !(x.rate >= 0):
		return errors.New("--requests-per-second: want a number that is not negative")
	}
	return nil
}

// run serves the page until ctx ends.
func (x *consoleOptions) run(ctx context.Context) error {
	if err := x.check(); err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := x.nova.read(); err != nil {
		return err
	}
	log, output, err := logging.Open(logging.Options{Text: true, Name: "console"}, x.env.Stderr)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	defer output.Close()
	source, err := x.open(ctx)
	if err != nil {
		if _, coded := cli.CodeOf(err); !coded {
			err = cli.Fail(cli.ExitFailure, err)
		}
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", x.listen)
	if err != nil {
		return cli.Fail(cli.ExitListen, fmt.Errorf("listening on %s: %w", x.listen, unwrapListen(err)))
	}
	key := console.NewKey(ln.Addr().String())
	c := console.New(console.Options{Source: source, Access: key, Log: log})
	running, stop := context.WithCancel(ctx) // its end ends the streams of pages
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(running)
	}()
	fmt.Fprintf(x.env.Stdout, "http://%s%s/%s\n", ln.Addr(), console.Path, key.Query())
	err = x.serve(ctx, ln, c, log)
	stop()
	<-done
	return cli.Fail(cli.ExitFailure, err)
}

// serve answers requests that name this machine. Streams of events have time-outs of their own.
func (x *consoleOptions) serve(ctx context.Context, ln net.Listener, c *console.Console, log *slog.Logger) error {
	front := httpserver.NewFront(c, httpserver.FrontSettings{
		MaxRequests: 200, Hosts: httpserver.NewHosts(), CompressMinSize: console.CompressMinSize,
		Refuse: httpapi.Refusal(nil),
	}, nil)
	return httpserver.Serve(ctx, ln, front, httpserver.ServeOptions{Log: log, StopTimeout: time.Second})
}

// open returns the source that the flags name. The records are read once, so that what is wrong
// with them is known at the start.
func (x *consoleOptions) open(ctx context.Context) (console.Source, error) {
	api := x.source.namesAPI(x.env)
	switch {
	case x.source.ways() > 1:
		return console.Source{}, cli.Fail(cli.ExitUsage, errors.New("records are read from one source: --os-cloud and its "+
			"like, --config or --connection, and --from-file exclude each other"))
	case x.source.file != "":
		c, err := x.source.readGiven(ctx, x.env, cloud.All)
		if err != nil {
			return console.Source{}, err
		}
		return console.File(c)
	case x.source.db.Given():
		return x.openDatabase(ctx)
	case !api:
		return console.Source{}, cli.Fail(cli.ExitUsage, errNoSource)
	}
	x.source.options.Rate = x.rate
	client, err := x.source.connect(ctx, x.env)
	if err != nil {
		return console.Source{}, err
	}
	x.nova.note(x.env)
	p, first := cli.NewProgress(x.env), true
	source := console.APIs(client, console.APIOptions{
		Interval: x.interval, Nova: x.nova.Settings,
		Progress: func(what string, done, total int) {
			if first {
				p.Show(func() string { return fmt.Sprintf("reading %s: %d of %d", what, done, total) })
			}
		},
	})
	read := source.Read
	source.Read = func(ctx context.Context) (*console.Reading, error) {
		reading, err := read(ctx)
		p.End()
		first = first && err != nil
		return reading, err
	}
	return source, nil
}

// openDatabase returns the source that reads placement's database.
func (x *consoleOptions) openDatabase(ctx context.Context) (console.Source, error) {
	db := x.source.db
	db.Once = true // the next reading tries again
	read := func(ctx context.Context, p func(table string, rows, total int64)) (c *cloud.Cloud, err error) {
		c = &cloud.Cloud{Begun: time.Now().UTC()}
		err = db.Work(ctx, x.env, dbtool.Look, func(db *database.DB) (err error) {
			c.Source = "the database " + db.Name
			c.Placement, err = db.Placement(ctx, true, p)
			return err
		})
		c.Ended = time.Now().UTC()
		return c, err
	}
	p := cli.NewProgress(x.env)
	first, err := read(ctx, p.Of("reading"))
	p.End()
	if err != nil {
		return console.Source{}, err
	}
	return console.Records(first.Source, x.interval, func(ctx context.Context) (*cloud.Cloud, error) {
		return read(ctx, nil)
	}), nil
}
