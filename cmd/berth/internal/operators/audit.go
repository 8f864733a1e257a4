package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
)

// auditOptions are the flags of "berth audit".
type auditOptions struct {
	env      cli.Env
	source   cloudSource
	options  audit.Options
	codes    []string
	severity cli.Choice
	recheck  recheck
	complete bool
	list     bool
	nova     novaSettings // of which the aliases of PCI devices count
	out      *cli.Output
}

// NewAudit returns "berth audit".
func NewAudit(env cli.Env) *cobra.Command {
	o := &auditOptions{
		env: env, options: audit.Options{Heals: heal.Heals},
		severity: cli.Choice{Known: []string{string(audit.Error), string(audit.Warning), string(audit.Info)}},
	}
	cmd := &cobra.Command{
		Use:   "audit [--code CODE] [--severity SEVERITY] [--recheck]",
		Short: "Find what the services of a cloud disagree on",
		Long: `Audit compares the records of placement, the compute and the network service
with each other: allocations with servers, migrations and ports, providers with
hypervisors and the reports of agents, host aggregates with those of placement.
It changes nothing. Every finding has a code that stays the same, what was found
and expected, and the next command to type. --list lists the codes.

Servers and ports with an operation under way are skipped. The services are read
one after the other, so that what changes meanwhile may appear as a finding:
--recheck reads them a second time after a while, when there are findings, and
reports those of both times. Codes that need records which were not read, for
lack of a right or a service, are named on standard error; with --complete the
exit code is 1 then, unless there are findings.

` + exitHelp,
		Example: `  berth audit --os-cloud admin
  berth audit --os-cloud admin --severity error --complete -f json
  berth audit --os-cloud admin --host cn7
  berth audit --os-cloud admin --recheck
  berth audit --from-file cloud.json --code names-alike -f value -c command
  berth audit --list`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && o.recheck.after > 0 {
				if _, err := time.ParseDuration(args[0]); err == nil { // a flag with an optional value has it after a =
					return fmt.Errorf("%s: want --recheck=%s; without = it is %v", args[0], args[0], recheckAfter)
				}
			}
			return cli.NoArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&o.codes, "code", nil, "`CODE`: code to check, all if none is given; may be repeated")
	f.Var(&o.severity, "severity", "`SEVERITY`: lowest severity to report: error, warning or info")
	f.StringArrayVar(&o.options.Servers, "server", nil, "`SERVER`: server to report on (name or UUID); may be repeated")
	f.StringArrayVar(&o.options.Ports, "port", nil, "`PORT`: port to report on (name or UUID); may be repeated")
	f.StringArrayVar(&o.options.Hosts, "host", nil, "`HOST`: host to report on (name); may be repeated")
	f.Var(&o.recheck, "recheck",
		fmt.Sprintf("report findings that are still there after %v, or after another time with --recheck=30s", recheckAfter))
	f.Lookup("recheck").NoOptDefVal = "true"
	f.BoolVar(&o.complete, "complete", false, "exit with 1 when not all codes could be checked")
	f.BoolVar(&o.list, "list", false, "list the codes, and read no cloud")
	_ = errors.Join( // the flags exist: the lines above
		cmd.RegisterFlagCompletionFunc("code", cli.OneOf(auditCodes()...)),
		cmd.RegisterFlagCompletionFunc("severity", cli.OneOf(o.severity.Known...)))
	o.nova.flags(cmd)
	o.out = cli.AddOutput(cmd)
	return cmd
}

// auditCodes are all codes.
func auditCodes() (codes []string) {
	for _, k := range audit.Kinds() {
		codes = append(codes, string(k.Code))
	}
	return codes
}

// run checks the records, and prints the findings.
func (o *auditOptions) run(ctx context.Context) error {
	if o.list {
		return o.out.Print(o.env, auditKinds())
	}
	known := auditCodes()
	for _, code := range o.codes {
		if !slices.Contains(known, code) {
			return cli.Fail(cli.ExitUsage, fmt.Errorf("there is no code %q; berth audit --list lists them", code))
		}
		o.options.Codes = append(o.options.Codes, audit.Code(code))
	}
	if o.recheck.after > 0 && o.source.file != "" {
		return cli.Fail(cli.ExitUsage, errors.New("a file does not change: --recheck and --from-file exclude each other"))
	}
	if err := o.out.Check(auditColumns); err != nil {
		return err
	}
	if err := o.nova.read(); err != nil {
		return err
	}
	o.options.Severity = audit.Severity(o.severity.Word)
	c, err := o.source.read(ctx, o.env, cloud.All)
	if err != nil {
		return err
	}
	x := index.New(c)
	x.PCI = o.nova.Request.PCI
	if err := checkNames(o.env, x, o.options); err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	result := audit.Check(x, o.options)
	if n := len(result.Findings); o.recheck.after > 0 && n > 0 {
		fmt.Fprintf(o.env.Stderr, "%s; rechecking in %v\n", cli.Count(n, "finding"), o.recheck.after)
		select {
		case <-ctx.Done():
			return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
		case <-time.After(o.recheck.after):
		}
		if c, err = o.source.read(ctx, o.env, cloud.All); err != nil {
			return err
		}
		x = index.New(c)
		x.PCI = o.nova.Request.PCI
		result = audit.Intersect(result, audit.Check(x, o.options))
	}
	noteSpentDevices(o.env, c)
	for _, u := range result.Unchecked {
		fmt.Fprintf(o.env.Stderr, "note: not checked everywhere: %s. %s\n", audit.Join(u.Codes), u.Reason)
	}
	if err := o.out.Print(o.env, auditResult(result)); err != nil {
		return err
	}
	if n := len(result.Findings); n > 0 {
		return cli.Fail(cli.ExitFindings, fmt.Errorf("the services disagree: %s", cli.Count(n, "finding")))
	}
	if o.complete && len(result.Unchecked) > 0 {
		return cli.Fail(cli.ExitFailure, errors.New("not everything could be checked"))
	}
	return nil
}

// recheckAfter is how long audit waits before it reads the services again, unless another time is
// given. Most of what services do between two requests is done by then.
const recheckAfter = 10 * time.Second

// A recheck is the value of --recheck: the time until the second reading, 0 for none. It implements
// pflag.Value.
type recheck struct{ after time.Duration }

// Set implements pflag.Value. "true" is what the flag has without a value.
func (r *recheck) Set(text string) error {
	switch text {
	case "true":
		r.after = recheckAfter
		return nil
	case "false":
		r.after = 0
		return nil
	}
	after, err := time.ParseDuration(text)
	if err != nil || after <= 0 {
		return errors.New("want a duration such as 30s")
	}
	r.after = after
	return nil
}

// String implements pflag.Value.
func (r *recheck) String() string {
	if r.after == 0 {
		return ""
	}
	return r.after.String()
}

// Type implements pflag.Value. The flag needs no value.
func (r *recheck) Type() string { return "bool" }

// checkNames returns an error for a server, a port or a host whose name no record has, which may be
// a mistake in typing. About a UUID it is a note only: what had it was deleted, perhaps by the
// command before.
func checkNames(env cli.Env, x *index.Index, o audit.Options) error {
	for _, s := range audit.Unknown(x, o) {
		switch _, err := guarantee.ParseUUID(s.ID); {
		case s.Kind == "host":
			return fmt.Errorf("there is no host with the name %q", s.ID)
		case err != nil:
			kind := s.Kind
			if kind == "port" {
				kind = "port of a server" // others are not read
			}
			return fmt.Errorf("there is no %s with the name or UUID %q", kind, s.ID)
		}
		fmt.Fprintf(env.Stderr, "note: no record has the UUID %s\n", s.ID)
	}
	return nil
}

var auditColumns = []string{"Code", "Severity", "About", "Found", "Expected", "Command"}

// auditResult is the result as it is printed.
func auditResult(result audit.Result) cli.Result {
	r := cli.Result{Columns: auditColumns, Value: result}
	for _, f := range result.Findings {
		r.Rows = append(r.Rows, []any{string(f.Code), string(f.Severity), subjects(f.About), f.Actual, f.Expected, f.Command})
	}
	r.Text = func(w io.Writer) error {
		var b strings.Builder
		for _, f := range result.Findings {
			fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Code)
			for _, line := range [][2]string{
				{"about", strings.Join(subjects(f.About), ", ")},
				{"found", f.Actual},
				{"expected", f.Expected},
				{"impact", f.Means},
				{"next", f.Command},
			} {
				fmt.Fprintf(&b, "  %-9s %s\n", line[0], line[1])
			}
			b.WriteByte('\n')
		}
		switch {
		case len(result.Findings) > 0:
		case len(result.Unchecked) > 0:
			b.WriteString("no findings in what could be checked\n")
		default:
			b.WriteString("no findings\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	return r
}

// auditKinds lists the kinds of findings.
func auditKinds() cli.Result {
	r := cli.Result{Columns: []string{"Code", "Severity", "Impact", "Fix"}}
	for _, k := range audit.Kinds() {
		r.Rows = append(r.Rows, []any{string(k.Code), string(k.Severity), k.Means, k.Repair})
	}
	return r
}
