package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/changefeed"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// watchOptions are the flags of "berth watch".
type watchOptions struct {
	env                          cli.Env
	source                       cloudSource
	tree, consumer, class, since string
	root                         string // of the tree, of a database
	interval                     time.Duration
	out                          *cli.Output
}

// NewWatch returns "berth watch".
func NewWatch(env cli.Env) *cobra.Command {
	x := &watchOptions{env: env}
	cmd := &cobra.Command{
		Use:   "watch [--tree HOST] [--consumer UUID] [--class CLASS]",
		Short: "Show what changes in placement, as it changes",
		Long: `Watch prints a line for each provider, inventory, trait, aggregate and
allocation that is added, removed or changed, until Ctrl-C.

Berth's placement service has a stream of events, with who changed something, by
which request. When the connection breaks, watch continues after the last event,
at whichever instance answers; it says so when events are lost. --since begins
with what changed before: since an id of an event, a time, or for a duration, as
far as the log goes back.

Other placement services, and databases (--config, --connection), are read again
and again, which is said at the beginning. Then it is not known who changed
something, and a change that is taken back between two readings is not seen. Of
more than 100 providers only those whose generation rose are read each time, and
all of them each tenth time: until then allocations that were deleted may not be
seen.

Exit codes:
  0  interrupted, as it is meant to end
  1  the records could not be read; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used`,
		Example: `  berth watch --os-cloud admin
  berth watch --os-cloud admin --tree cn1 --since 10m
  berth watch --os-cloud admin --since 2026-01-02T15:04
  berth watch --os-cloud admin --class VCPU -f json | jq .after`,
		Args: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"tree", "consumer", "class", "since"} {
				if f := cmd.Flag(name); f.Changed && f.Value.String() == "" {
					return fmt.Errorf("--%s: want a value", name)
				}
			}
			return cli.NoArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	x.source.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.tree, "tree", "", "`HOST`: host to watch (name or UUID of its provider)")
	f.StringVar(&x.consumer, "consumer", "", "`UUID`: consumer whose allocations are watched, such as a server")
	f.StringVar(&x.class, "class", "", "`CLASS`: resource class whose inventories and allocations are watched")
	f.StringVar(&x.since, "since", "",
		"`ID|DURATION|TIME`: beginning, as the id of an event, 10m, or 2026-01-02T15:04:05 in local time")
	f.DurationVar(&x.interval, "interval", 5*time.Second,
		"`DURATION`: time between two readings where there is no stream; 30s is 30 seconds")
	x.out = cli.AddOutput(cmd)
	return cmd
}

// run watches until ctx ends.
func (x *watchOptions) run(ctx context.Context) error {
	switch {
	case x.source.ways() > 1:
		return cli.Fail(cli.ExitUsage,
			errors.New("one source is watched: --os-cloud and its like, and --config or --connection exclude each other"))
	case x.source.file != "":
		return cli.Fail(cli.ExitUsage, errors.New("a file does not change: name a cloud or a database"))
	case x.interval < time.Second:
		return cli.Fail(cli.ExitUsage, errors.New("--interval: want 1s or more"))
	}
	if err := x.check(); err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := x.out.Check(eventColumns); err != nil {
		return err
	}
	note := func(text string) { fmt.Fprintf(x.env.Stderr, "note: %s\n", text) }
	w := changefeed.Watcher{Event: x.printer(), Notice: note}
	// the first reading may name what is read
	poll := func(what *string, read func(context.Context) (*cloud.Placement, error)) error {
		if x.since != "" {
			note("--since has no effect: what changed before is not known")
		}
		note(fmt.Sprintf("%s has no stream of events: it is read each %s; who changed something is not known", *what,
			x.interval))
		started := false
		first := func(ctx context.Context) (*cloud.Placement, error) {
			p, err := read(ctx)
			if err != nil || started {
				return p, err
			}
			if x.tree != "" && len(p.Providers) == 0 {
				return nil, fmt.Errorf("no provider has the name or UUID %q", x.tree)
			}
			started = true
			x.noteClass(note, p.Classes)
			fmt.Fprintf(x.env.Stderr, "watching %s\n", *what)
			return p, nil
		}
		return changefeed.Poll(ctx, first, x.interval,
			changefeed.Filter{Consumer: x.consumer, Class: x.class, Tree: x.tree != ""}, w)
	}
	if x.source.db.Given() {
		database := "a database"
		x.source.db.Once = true // it is tried again here, and said
		return x.ended(poll(&database, func(ctx context.Context) (*cloud.Placement, error) {
			c, err := x.source.readDatabase(ctx, x.env, cloud.Parts{Need: cloud.PlacementPart | cloud.ConsumersPart})
			if err != nil {
				return nil, err
			}
			database = c.Source
			return x.only(c.Placement), nil
		}))
	}
	client, err := x.source.connect(ctx, x.env)
	if ctx.Err() != nil {
		return nil // interrupted
	}
	if err != nil {
		return x.ended(err)
	}
	query := url.Values{}
	for name, value := range map[string]string{
		"tree": x.tree, "consumer": x.consumer, "class": x.class, "since": x.since,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	started := false
	err = changefeed.Stream(ctx, func(ctx context.Context, last string) (io.ReadCloser, error) {
		body, err := client.Events(ctx, query, last)
		switch {
		case err == nil && !started:
			started = true
			if x.class != "" {
				if known, err := client.Names(ctx, cloudapi.Classes, ""); err == nil { // else it is not known
					var classes []string
					for _, c := range known {
						classes = append(classes, c.Name)
					}
					x.noteClass(note, classes)
				}
			}
			fmt.Fprintf(x.env.Stderr, "watching %s\n", client.Source())
		case err != nil && (errors.Is(err, cloudapi.ErrNoEvents) || cloudapi.Refused(err)):
			err = changefeed.Stop{Err: err}
		}
		return body, err
	}, w)
	if errors.Is(err, cloudapi.ErrNoEvents) && !started {
		what := client.Source() // a cloud, or a placement service without an identity service
		if !strings.HasPrefix(what, "the placement service ") {
			what = "the placement service of " + what
		}
		err = poll(&what, client.Poller(x.tree).Read)
	}
	return x.ended(err)
}

var (
	uuidForm    = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$`)
	classForm   = regexp.MustCompile(`^[A-Z0-9_]+$`)
	eventIDForm = regexp.MustCompile(`^[0-9a-z!-]*\.[0-9a-z.!-]*$`)
)

// sinceForms are those of times of --since, in the local time zone where they name none.
var sinceForms = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly,
}

// check refuses wrong values, with which nothing would ever be shown, and makes a time of --since
// one that the service understands.
func (x *watchOptions) check() error {
	switch {
	case x.consumer != "" && !uuidForm.MatchString(x.consumer):
		return fmt.Errorf("--consumer: want a UUID, such as a server's, not %q", x.consumer)
	case x.class != "" && !classForm.MatchString(x.class):
		return fmt.Errorf("--class: want the name of a resource class, such as VCPU, not %q", x.class)
	case x.since == "" || eventIDForm.MatchString(x.since):
		return nil
	}
	if ago, err := time.ParseDuration(x.since); err == nil && ago > 0 {
		return nil
	}
	for _, form := range sinceForms {
		if t, err := time.ParseInLocation(form, x.since, time.Local); err == nil {
			x.since = t.UTC().Format(time.RFC3339)
			return nil
		}
	}
	return fmt.Errorf("--since: want an event's id, a duration such as 10m, or a time such as 2026-01-02T15:04:05, not %q",
		x.since)
}

// noteClass says so when the class that is watched does not exist, and is awaited.
func (x *watchOptions) noteClass(note func(string), classes []string) {
	if x.class != "" && !slices.Contains(classes, x.class) {
		note(fmt.Sprintf("there is no resource class %s now", x.class))
	}
}

// ended returns the error with its exit code.
func (x *watchOptions) ended(err error) error {
	if _, coded := cli.CodeOf(err); err == nil || coded {
		return err
	}
	return cli.Fail(cli.ExitFailure, err)
}

// only returns the records with the providers of the tree that is watched.
func (x *watchOptions) only(p *cloud.Placement) *cloud.Placement {
	if x.tree == "" {
		return p
	}
	for i := range p.Providers {
		if provider := &p.Providers[i]; provider.Name == x.tree || provider.UUID == x.tree {
			x.root = provider.Root
		}
	}
	part := *p
	part.Providers = nil
	for i := range p.Providers {
		if x.root != "" && p.Providers[i].Root == x.root {
			part.Providers = append(part.Providers, p.Providers[i])
		}
	}
	return &part
}

var eventColumns = append(append([]string{"Time"}, changeColumns...), "Request ID", "User ID")

// printer returns a function that prints events as they come.
func (x *watchOptions) printer() func(changefeed.Event) error {
	print := x.out.Stream(x.env, eventColumns)
	return func(e changefeed.Event) error {
		row := append([]any{e.Time.Format(time.RFC3339)}, changeRow(e.Change)...)
		return print(append(row, cli.OrNone(e.RequestID), cli.OrNone(e.User)), e, e.Text(time.Now()))
	}
}
