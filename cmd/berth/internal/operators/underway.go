package operators

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// underwayExitHelp documents the exit codes of the commands that list what is under way.
const underwayExitHelp = `Exit codes:
  0  the list was read
  1  it could not be read; standard error says why
  2  wrong arguments`

// underwayOptions are the flags of the commands that list what is under way in a service of
// Berth's.
type underwayOptions struct {
	env    cli.Env
	source cloudSource
	server string
	minAge time.Duration
	limit  int
	out    *cli.Output
}

// flags adds the flags to a command.
func (o *underwayOptions) flags(cmd *cobra.Command) {
	o.source.apiFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "`UUID`: server whose rows are listed, all if none is given")
	f.DurationVar(&o.minAge, "min-age", 0, "`DURATION`: least age; 90s is 90 seconds")
	f.IntVar(&o.limit, "limit", 100, "`N`: number of rows at most, the oldest first")
	o.out = cli.AddOutput(cmd)
}

// query returns the query of the list, or why the flags are wrong.
func (o *underwayOptions) query() (url.Values, error) {
	switch {
	case o.server != "" && !uuidForm.MatchString(o.server):
		return nil, cli.Fail(cli.ExitUsage, fmt.Errorf("--server: want a UUID, not %q", o.server))
	case o.minAge < 0:
		return nil, cli.Fail(cli.ExitUsage, errors.New("--min-age: want a positive duration, such as 10m"))
	case o.limit < 1:
		return nil, cli.Fail(cli.ExitUsage, errors.New("--limit: want a number above 0"))
	}
	query := url.Values{"limit": {strconv.Itoa(o.limit)}}
	if o.server != "" {
		query.Set("server", o.server)
	}
	if o.minAge > 0 {
		query.Set("min_age", strconv.FormatInt(int64(o.minAge/time.Second), 10))
	}
	return query, nil
}

// failed returns the error of a list with its exit code.
func (o *underwayOptions) failed(service string, err error) error {
	if errors.Is(err, cloudapi.ErrNotBerth) {
		err = fmt.Errorf("the %s service has no such list: it is not Berth's, or an older release", service)
	}
	if _, coded := cli.CodeOf(err); coded {
		return err
	}
	return cli.Fail(cli.ExitFailure, err)
}

// print prints the rows, and on standard error whether there are more.
func (o *underwayOptions) print(r cli.Result, more bool) error {
	if more {
		fmt.Fprintf(o.env.Stderr, "note: there is more than the %d oldest; --limit, --min-age and --server select others\n",
			len(r.Rows))
	}
	return o.out.Print(o.env, r)
}

// age is how long ago a time was, for people.
func age(t, now time.Time) string { return max(now.Sub(t), 0).Round(time.Second).String() }

// clock is a time of the near future or past, for people.
func clock(t *time.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return t.Local().Format(time.TimeOnly)
}
