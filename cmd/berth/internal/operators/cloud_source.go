package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/database"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// exitHelp documents the exit codes in the help texts of commands that may have findings, and
// showExitHelp of those that only show something.
const (
	exitHelp = `Exit codes:
  0  there is nothing to report
  1  the records could not be read; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  findings`

	showExitHelp = `Exit codes:
  0  shown
  1  the records could not be read; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used`
)

// NewSources returns the help topic about the sources of records.
func NewSources() *cobra.Command {
	return &cobra.Command{
		Use:   "sources",
		Short: "Where the operators' commands read a cloud's records",
		Long: `The commands for any OpenStack cloud read its records from one of these:

  the APIs       of the cloud that --os-cloud names in clouds.yaml, or that
                 OS_CLOUD, or OS_AUTH_URL and the other variables of an openrc
                 file name; with the login that the openstack client would do
                 with the same files and variables
  the database   of the placement service, with --config or --connection: one
                 query for each table instead of four requests for each
                 provider. It has the records of placement only
  a file         with --from-file, which berth records export has written

Which one, how much was read and how long it took is printed on standard error,
with a note for everything that could not be read.`,
	}
}

// A cloudSource selects where a command has the records of a cloud from, by its flags.
type cloudSource struct {
	options cloudapi.Options
	iface   cli.Choice
	db      database.Source
	file    string
}

// flags adds the flags to a command.
func (s *cloudSource) flags(cmd *cobra.Command) {
	s.apiFlags(cmd)
	cli.Group(cmd, cli.SourceFlags, func(f *pflag.FlagSet) {
		s.db.Flags(f)
		f.StringVar(&s.file, "from-file", "", "`FILE`: file that berth records export has written; - is standard input")
	})
}

// apiFlags adds the flags that select APIs. They have the names that they have in the openstack
// client.
func (s *cloudSource) apiFlags(cmd *cobra.Command) {
	s.iface.Known = []string{"public", "internal", "admin"}
	cli.Group(cmd, cli.SourceFlags, func(f *pflag.FlagSet) {
		f.StringVar(&s.options.Cloud, "os-cloud", "", "`NAME`: cloud in clouds.yaml (default $OS_CLOUD)")
		f.StringVar(&s.options.Region, "os-region-name", "", "`NAME`: region of the endpoints")
		f.Var(&s.iface, "os-interface", "`INTERFACE`: kind of the endpoints: public, internal or admin")
	})
}

// databaseFlags adds the flags that select a database.
func (s *cloudSource) databaseFlags(cmd *cobra.Command) {
	cli.Group(cmd, cli.SourceFlags, func(f *pflag.FlagSet) { s.db.Flags(f) })
}

// errNoSource is the error when nothing says where the records are.
var errNoSource = errors.New(`nothing says which cloud to read. One of these does:
  --os-cloud NAME       a cloud in clouds.yaml, as for the openstack client (or OS_CLOUD)
  OS_AUTH_URL, …        the variables that an openrc file sets
  --config FILE         a placement.conf: the database of the placement service
  --connection URL      the URL of that database, or @FILE with it
  --from-file FILE      what berth records export has written`)

// read reads parts of the records. Standard error has what was read, how long it took, and what is
// missing. The error has its exit code.
func (s *cloudSource) read(ctx context.Context, env cli.Env, parts cloud.Parts) (*cloud.Cloud, error) {
	if s.ways() > 1 {
		return nil, cli.Fail(cli.ExitUsage, errors.New("records are read from one source: --os-cloud and its like, "+
			"--config or --connection, and --from-file exclude each other"))
	}
	return s.readGiven(ctx, env, parts)
}

// ways counts the ways to records that the flags name.
func (s *cloudSource) ways() (n int) {
	api := s.options.Cloud + s.options.Region + s.iface.Word
	for _, named := range []bool{api != "", s.db.Given(), s.file != ""} {
		if named {
			n++
		}
	}
	return n
}

// readGiven is read for a source that names one way at most.
func (s *cloudSource) readGiven(ctx context.Context, env cli.Env, parts cloud.Parts) (*cloud.Cloud, error) {
	start := time.Now()
	var c *cloud.Cloud
	var err error
	switch {
	case s.file != "":
		c, err = s.readFile(env.Stdin)
	case s.db.Given():
		c, err = s.readDatabase(ctx, env, parts)
	default:
		c, err = s.readAPIs(ctx, env, parts)
	}
	if err == nil && (s.file != "" || s.db.Given()) { // the reader of APIs says itself why it has not read a part
		err = c.Check(parts)
	}
	switch _, coded := cli.CodeOf(err); {
	case err == nil:
	case errors.Is(err, context.Canceled):
		return nil, cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	case coded:
		return nil, err
	default:
		return nil, cli.Fail(cli.ExitFailure, err)
	}
	fmt.Fprintf(env.Stderr, "read %s from %s in %.1f s\n", describeRecords(c), c.Source, time.Since(start).Seconds())
	for _, text := range c.Unread {
		fmt.Fprintf(env.Stderr, "note: %s\n", text)
	}
	return c, nil
}

// readFile reads a file. It stays as it is, except that its source names it.
func (s *cloudSource) readFile(in io.Reader) (*cloud.Cloud, error) {
	name := "standard input"
	if s.file != "-" {
		f, err := os.Open(s.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, s.file
	}
	c, err := cloud.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.Source = name + " (" + c.Source + ", " + c.Begun.Format(time.RFC3339) + ")"
	return c, nil
}

// readDatabase reads placement's part.
func (s *cloudSource) readDatabase(ctx context.Context, env cli.Env, parts cloud.Parts) (*cloud.Cloud, error) {
	c := &cloud.Cloud{Begun: time.Now().UTC()}
	err := s.db.Work(ctx, env, dbtool.Look, func(db *database.DB) (err error) {
		p := cli.NewProgress(env)
		defer p.End()
		c.Source = "the database " + db.Name
		c.Placement, err = db.Placement(ctx, parts.Any(cloud.ConsumersPart), p.Of("reading"))
		if err != nil {
			return fmt.Errorf("the database %s: %w", db.Name, err)
		}
		return nil
	})
	c.Ended = time.Now().UTC()
	return c, err
}

// readAPIs reads the services.
func (s *cloudSource) readAPIs(ctx context.Context, env cli.Env, parts cloud.Parts) (*cloud.Cloud, error) {
	client, err := s.connect(ctx, env)
	if err != nil {
		return nil, err
	}
	p := cli.NewProgress(env)
	defer p.End()
	return client.Read(ctx, parts, func(what string, done, total int) {
		p.Show(func() string { return fmt.Sprintf("reading %s: %d of %d", what, done, total) })
	})
}

// survey measures how services are reached, and reads the records. A database is read in addition
// to the APIs where these are named too; a cloud that gives no token is a record of that.
func (s *cloudSource) survey(ctx context.Context, env cli.Env) (*cloud.Cloud, error) {
	api := s.namesAPI(env)
	switch {
	case s.file != "" && (api && s.ways() > 1 || s.db.Given()):
		return nil, cli.Fail(cli.ExitUsage,
			errors.New("records are read from one source: --from-file and the others exclude each other"))
	case s.file != "", s.db.Given() && !api:
		return s.readGiven(ctx, env,
			cloud.Parts{Try: cloud.PlacementPart | cloud.ConsumersPart | cloud.ComputePart | cloud.NetworkPart})
	}
	start := time.Now()
	client, err := s.connect(ctx, env)
	if refused, ok := errors.AsType[*cloudapi.LoginError](err); ok && ctx.Err() == nil {
		end := time.Now().UTC()
		around := refused.Environment
		return &cloud.Cloud{
			Source: cmp.Or(around.Login.Cloud, around.Login.URL), Begun: end, Ended: end, Environment: &around,
		}, nil
	}
	if err == nil {
		p := cli.NewProgress(env)
		defer p.End()
		var c *cloud.Cloud
		c, err = client.Survey(ctx, func(what string, done, total int) {
			p.Show(func() string { return fmt.Sprintf("reading %s: %d of %d", what, done, total) })
		})
		if err == nil {
			fmt.Fprintf(env.Stderr, "read %s from %s in %.1f s\n", cmp.Or(describeRecords(c), "nothing"), c.Source,
				time.Since(start).Seconds())
			return c, nil
		}
	}
	if ctx.Err() != nil {
		return nil, cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	}
	if _, coded := cli.CodeOf(err); coded {
		return nil, err
	}
	return nil, cli.Fail(cli.ExitFailure, err)
}

// connect logs in to the cloud of the flags or the variables.
func (s *cloudSource) connect(ctx context.Context, env cli.Env) (*cloudapi.Client, error) {
	o := s.options
	o.Interface, o.Environ = s.iface.Word, env.Environ
	o.Warn = func(text string) { fmt.Fprintf(env.Stderr, "note: %s\n", text) }
	client, err := cloudapi.Connect(ctx, o)
	if errors.Is(err, cloudapi.ErrUnnamed) {
		if err == cloudapi.ErrUnnamed {
			return nil, cli.Fail(cli.ExitUsage, errNoSource)
		}
		return nil, cli.Fail(cli.ExitUsage, fmt.Errorf("%w\n%w", errNoSource, err)) // the error has the clouds that there are
	}
	return client, err
}

// describeRecords describes records for people, in a line.
func describeRecords(c *cloud.Cloud) string {
	var counts []string
	if p := c.Placement; p != nil {
		counts = append(counts, cli.Count(len(p.Providers), "provider"))
		if p.Consumers != nil {
			counts = append(counts, cli.Count(len(p.Consumers), "consumer"))
		}
	}
	if c.Compute != nil {
		counts = append(counts, cli.Count(len(c.Compute.Servers), "server"))
	}
	if c.Network != nil {
		counts = append(counts, cli.Count(len(c.Network.Ports), "port"))
	}
	return strings.Join(counts, ", ")
}
