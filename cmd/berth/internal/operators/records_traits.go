package operators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// traitsOptions are the flags of "berth records traits".
type traitsOptions struct {
	env       cli.Env
	source    cloudSource
	aggregate string
	add       []string
	remove    []string
	apply     bool
	yes       bool
	out       *cli.Output
}

// newRecordsTraits returns "berth records traits".
func newRecordsTraits(env cli.Env) *cobra.Command {
	o := &traitsOptions{env: env}
	cmd := &cobra.Command{
		Use:   "traits --aggregate AGGREGATE [--add TRAIT]",
		Short: "Add and remove traits of all providers of an aggregate",
		Long: `Traits adds and removes traits of all resource providers that are members of
an aggregate, and leaves their other traits as they are. The aggregate is one of
Nova's host aggregates, by its name, or one of placement's, by its UUID. Without
--apply it changes nothing, and prints what it would change.

A trait of --add whose name begins with CUSTOM_ is created when placement does
not know it. Each provider is changed with the generation that was read, and is
read again when somebody else has changed it meanwhile. When one cannot be
changed, the others are, and the same command continues.

Traits that a compute service or an agent reports come back with its next
report, and traits of theirs that were added leave again.

It works with every Placement since OpenStack Zed, of Berth or OpenStack.

Exit codes:
  0  all providers have the traits of --add, and none those of --remove
  1  could not read, was refused, or stopped; standard error says why
  2  wrong arguments or settings
  6  there is something to change`,
		Example: `  berth records traits --os-cloud admin --aggregate gpu --add CUSTOM_RACK_7
  berth records traits --os-cloud admin --aggregate gpu --add CUSTOM_RACK_7 \
      --remove CUSTOM_RACK_6 --apply`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.apiFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.aggregate, "aggregate", "", "`AGGREGATE`: name of a host aggregate, or UUID of placement's")
	f.StringSliceVar(&o.add, "add", nil, "`TRAITS`: traits that all providers get; may be repeated")
	f.StringSliceVar(&o.remove, "remove", nil, "`TRAITS`: traits that none of them keeps; may be repeated")
	f.BoolVar(&o.apply, "apply", false, "change the providers")
	f.BoolVarP(&o.yes, "yes", "y", false, "change them without a confirmation")
	o.out = cli.AddOutput(cmd)
	return cmd
}

var (
	traitsColumns = []string{"Provider", "UUID", "Add", "Remove", "Result"}
	traitName     = regexp.MustCompile(`^[A-Z0-9_]{1,255}$`)
)

// check refuses wrong values.
func (o *traitsOptions) check() error {
	slices.Sort(o.add)
	slices.Sort(o.remove)
	o.add, o.remove = slices.Compact(o.add), slices.Compact(o.remove)
	if o.aggregate == "" {
		return errors.New("--aggregate is missing: the name of a host aggregate, or a UUID")
	}
	if len(o.add)+len(o.remove) == 0 {
		return errors.New("nothing to do: want --add or --remove")
	}
	for _, name := range slices.Concat(o.add, o.remove) {
		if !traitName.MatchString(name) {
			return fmt.Errorf("%q is no name of a trait: want capital letters, digits and _", name)
		}
	}
	for _, name := range o.add {
		if slices.Contains(o.remove, name) {
			return fmt.Errorf("%s is both added and removed", name)
		}
	}
	return nil
}

// run plans the changes of all providers, carries them out, and prints them.
func (o *traitsOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := o.out.Check(traitsColumns); err != nil {
		return err
	}
	client, err := o.source.connect(ctx, o.env)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	p := traitsPlan{client: client, add: o.add, remove: o.remove, Providers: []traitsChange{}, Creates: []string{}}
	if err := p.read(ctx, o.aggregate); err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	if o.apply && p.count(toChange) > 0 {
		if err := p.describe(o.env.Stderr); err != nil {
			return cli.Fail(cli.ExitFailure, err)
		}
		if err := cli.Confirm(ctx, o.env.Stderr, o.env.Stdin, o.yes); err != nil {
			return err
		}
		if err := p.apply(ctx); err != nil {
			return cli.Fail(cli.ExitFailure, err)
		}
	}
	p.Applied = o.apply
	if err := o.out.Print(o.env, p.result()); err != nil {
		return err
	}
	switch n := p.count(toChange); {
	case p.count(failedChange) > 0:
		return cli.Fail(cli.ExitFailure, fmt.Errorf("%s could not be changed: the same command continues",
			cli.Count(p.count(failedChange), "provider")))
	case n > 0 && o.apply:
		return cli.Fail(cli.ExitFailure, errors.New("interrupted: the same command continues"))
	case n > 0:
		return cli.Fail(cli.ExitFindings, errors.New("nothing was changed: --apply changes these"))
	}
	return nil
}

// result is the plan as it is printed.
func (p *traitsPlan) result() cli.Result {
	r := cli.Result{Columns: traitsColumns, Value: p}
	for _, c := range p.Providers {
		result := c.Result
		if c.Error != "" {
			result += ": " + c.Error
		}
		r.Rows = append(r.Rows, []any{c.Name, c.UUID, c.Add, c.Remove, result})
	}
	return r
}

// describe says what is about to be done.
func (p *traitsPlan) describe(w io.Writer) error {
	var lines []string
	for _, name := range p.Creates {
		lines = append(lines, "to create: "+name)
	}
	for _, c := range p.Providers {
		if c.Result == toChange {
			lines = append(lines, fmt.Sprintf("to change: %s %s", c.Name, c.difference()))
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(firstOf(lines, 100), "\n"))
	return err
}

// difference is a change in one word for each trait.
func (c *traitsChange) difference() string {
	var words []string
	for _, name := range c.Add {
		words = append(words, "+"+name)
	}
	for _, name := range c.Remove {
		words = append(words, "-"+name)
	}
	return strings.Join(words, " ")
}

// decode reads the answer to a request, which has to have a status.
func decode(what string, status int, body []byte, into any) error {
	if status != statusOK {
		return fmt.Errorf("%s: %d %s", what, status, cloudapi.Message(status, body))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: the answer is not what the API has: %w", what, err)
	}
	return nil
}
