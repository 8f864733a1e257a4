package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/restore"
)

// importOptions are the flags of "berth records import".
type importOptions struct {
	env    cli.Env
	source cloudSource
	apply  bool
	merge  bool
	yes    bool
	out    *cli.Output
}

// newRecordsImport returns "berth records import".
func newRecordsImport(env cli.Env) *cobra.Command {
	o := &importOptions{env: env}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Write the records of a file into an empty placement service",
		Long: `Import creates in a placement service what a file that berth records export
has written has of placement: custom resource classes and traits, providers with
their UUIDs, parents before children, inventories, traits, aggregates, and the
allocations of consumers. It is for support, tests and planning. Without --apply
it changes nothing, and prints what it would create; -f value prints the
requests. FILE - is standard input.

The service has to be empty, or to have a part of the file, so that an import
that was interrupted continues when it is repeated. With --merge it may have
other providers and consumers too. What it has with other content is never
changed or removed: it is reported, and skipped with all that needs it. So is
what the service cannot have, such as traits that are newer than it.

Generations are those of the new service, not of the file. Providers whose
allocations exceed their capacity, or break the rules of units, have a greater
inventory until these are written. A file that does not agree with itself is
refused before anything is written.

Import works with every Placement since OpenStack Zed (microversion 1.39), of
Berth or OpenStack, through its API, so that its rules hold; consumers without a
type are written with 1.37. Berth db restore writes into a database.

Exit codes:
  0  the service has all that the file has
  1  could not read, was refused, or stopped; standard error says why
  2  wrong arguments or settings
  6  there is something to create, or something was skipped`,
		Example: `  berth records import cloud.json --os-cloud lab
  berth records import cloud.json --os-cloud lab --apply
  berth records import cloud.json --os-cloud lab -f value -c method -c path
  berth records diff cloud.json --os-cloud lab`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want one argument, a file of records")
			}
			return nil
		},
		ValidArgsFunction: cli.Files(),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	o.source.apiFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.apply, "apply", false, "create the records")
	f.BoolVar(&o.merge, "merge", false, "allow other records in the service, and skip what differs")
	f.BoolVarP(&o.yes, "yes", "y", false, "create them without a confirmation")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run plans the import of a file, carries it out, and prints it.
func (o *importOptions) run(ctx context.Context, path string) error {
	if err := o.out.Check(importColumns); err != nil {
		return err
	}
	parts := cloud.Parts{Need: cloud.PlacementPart | cloud.ConsumersPart}
	file, err := (&cloudSource{file: path}).readGiven(ctx, o.env, parts)
	if err != nil {
		return err
	}
	if wrong := restore.Check(file.Placement); len(wrong) > 0 {
		return cli.Fail(cli.ExitFailure, fmt.Errorf("%s does not agree with itself, and nothing was written:\n  %s", path,
			strings.Join(firstOf(wrong, 10), "\n  ")))
	}
	current, err := o.source.read(ctx, o.env, parts)
	if err != nil {
		return err
	}
	r := importing{Plan: restore.New(file.Placement, current.Placement), target: current.Source}
	if others := r.Others; !o.merge && (others != (restore.Counts{}) || len(r.Conflicts) > 0) {
		return cli.Fail(cli.ExitFailure, fmt.Errorf("%s cannot become what the file has: it has %s and %s that the file "+
			"lacks, and %s of the file could not be written. "+
			"--merge skips that and writes the rest%s",
			current.Source, cli.Count(others.Providers, "provider"), cli.Count(others.Consumers, "consumer"),
			cli.Count(len(r.Conflicts), "record"), strings.Join(append([]string{""}, r.skipped(10)...), "\n")))
	}
	if o.apply && len(r.Stages) > 0 {
		if err := o.carryOut(ctx, &r); err != nil {
			return err
		}
	}
	r.applied = o.apply
	if err := o.out.Print(o.env, r.result()); err != nil {
		return err
	}
	switch {
	case len(r.Conflicts) > 0:
		return cli.Fail(cli.ExitFindings, errors.New("skipped: "+cli.Count(len(r.Conflicts), "record")))
	case len(r.Stages) > 0 && !o.apply:
		return cli.Fail(cli.ExitFindings, errors.New("nothing was changed: --apply creates these"))
	}
	return nil
}

// firstOf returns the first of some lines, and a line that says how many more there are.
func firstOf(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n:n], fmt.Sprintf("and %d more", len(lines)-n))
}

// An importing is an import with what it is about.
type importing struct {
	*restore.Plan
	target  string
	applied bool
}

// carryOut sends the requests stage by stage, after a confirmation.
func (o *importOptions) carryOut(ctx context.Context, r *importing) error {
	if err := r.describe(o.env.Stderr); err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	if err := cli.Confirm(ctx, o.env.Stderr, o.env.Stdin, o.yes); err != nil {
		return err
	}
	client, err := o.source.connect(ctx, o.env)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	start, all, done := time.Now(), len(r.Requests()), 0
	p := cli.NewProgress(o.env)
	for _, s := range r.Stages {
		err := client.Send(ctx, s.Requests, func() {
			done++
			p.Show(func() string { return fmt.Sprintf("writing %s: %d of %d requests", s.Name, done, all) })
		})
		if err != nil {
			p.End()
			if errors.Is(err, context.Canceled) {
				err = errors.New("interrupted")
			}
			return cli.Fail(cli.ExitFailure,
				fmt.Errorf("%w; %d of %d requests were answered: the same command continues", err, done, all))
		}
	}
	p.End()
	fmt.Fprintf(o.env.Stderr, "%s in %.1f s\n", cli.Count(all, "request"), time.Since(start).Seconds())
	return nil
}

var importColumns = []string{"Method", "Path", "Microversion", "Body"}

// result is the import as it is printed: for programs the requests.
func (r *importing) result() cli.Result {
	requests := r.Requests()
	result := cli.Result{Columns: importColumns, Text: r.describe}
	for _, q := range requests {
		result.Rows = append(result.Rows, []any{q.Method, q.Path, q.Microversion, string(q.Body)})
	}
	result.Value = struct {
		Target    string             `json:"target"`
		Applied   bool               `json:"applied"`
		Creates   restore.Counts     `json:"creates"`
		Others    restore.Counts     `json:"others"`
		Conflicts []restore.Conflict `json:"conflicts"`
		Requests  []cloud.Request    `json:"requests"`
	}{r.target, r.applied, r.Creates, r.Others, r.Conflicts, requests}
	return result
}

// describe says what the import is about to do, or has done.
func (r *importing) describe(w io.Writer) error {
	var lines []string
	counts := fmt.Sprintf("%d resource classes, %s, %s, %s", r.Creates.Classes, cli.Count(r.Creates.Traits, "trait"),
		cli.Count(r.Creates.Providers, "provider"), cli.Count(r.Creates.Consumers, "consumer"))
	switch {
	case len(r.Stages) == 0:
		lines = append(lines, "nothing to create in "+r.target)
	case r.applied:
		lines = append(lines, "created in "+r.target+": "+counts)
	default:
		lines = append(lines, "to create in "+r.target+": "+counts)
		for _, s := range r.Stages {
			lines = append(lines, fmt.Sprintf("  %15s: %s", cli.Count(len(s.Requests), "request"), s.Name))
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(append(lines, r.skipped(100)...), "\n"))
	return err
}

// skipped lists conflicts, so many at most.
func (r *importing) skipped(most int) []string {
	var lines []string
	for _, c := range r.Conflicts {
		about := c.UUID
		if c.Name != "" {
			about = c.Name + " (" + c.UUID + ")"
		}
		lines = append(lines, fmt.Sprintf("  skipped: %s %s: %s", c.What, about, c.Reason))
	}
	return firstOf(lines, most)
}
