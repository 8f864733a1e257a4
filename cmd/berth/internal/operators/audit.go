package operators

import (
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

// NewAudit returns "berth audit".
func NewAudit(env cli.Env) *cobra.Command {
	var source cloudSource
	options := audit.Options{Heals: heal.Heals}
	var list, complete bool
	var recheck time.Duration
	var out *cli.Output
	var codes, known []string
	for _, k := range audit.Kinds() {
		known = append(known, string(k.Code))
	}
	severity := &cli.Choice{Known: []string{string(audit.Error), string(audit.Warning), string(audit.Info)}}
	cmd := &cobra.Command{
		Use:   "audit [--code CODE] [--severity SEVERITY] [--recheck]",
		Short: "Find what the services of a cloud disagree on",
		Long: `Audit compares the records of placement, the compute and the network service
with each other: allocations with servers, migrations and ports, providers with
hypervisors and the reports of agents, host aggregates with those of placement.
It changes nothing. Every finding has a code that stays the same, what was found
and expected, and the next command to type. --codes lists the codes.

Servers and ports that something is under way with are left out. The services
are read one after the other, so that what changes meanwhile may appear as a
finding: --recheck reads them a second time after a while, when something was
found, and reports what was found both times. Codes that need records which
were not read, for lack of a right or a service, are named on standard error;
with --complete the exit code is 1 then, unless something else was found.

` + cloudSourceHelp + `

` + operatorExitHelp,
		Example: `  berth audit --os-cloud admin
  berth audit --os-cloud admin --severity error --complete -f json
  berth audit --os-cloud admin --host cn7
  berth audit --os-cloud admin --recheck
  berth audit --from-file cloud.json --code names-alike -f value -c command
  berth audit --codes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && cmd.Flag("recheck").Changed {
				if _, err := time.ParseDuration(args[0]); err == nil { // a flag with an optional value has it behind a =
					return fmt.Errorf("%s: want --recheck=%s; without = it is 10 seconds", args[0], args[0])
				}
			}
			return cli.NoArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				return cli.Fail(cli.ExitFailure, out.Print(env.Stdout, auditCodes()))
			}
			for _, code := range codes {
				if !slices.Contains(known, code) {
					return cli.Fail(cli.ExitUsage, fmt.Errorf("there is no code %q; berth audit --codes lists them", code))
				}
				options.Codes = append(options.Codes, audit.Code(code))
			}
			switch {
			case recheck < 0:
				return cli.Fail(cli.ExitUsage, fmt.Errorf("--recheck %v: want a duration that is not negative", recheck))
			case cmd.Flag("recheck").Changed && source.file != "":
				return cli.Fail(cli.ExitUsage, errors.New("a file does not change: --recheck and --from-file exclude each other"))
			}
			if err := out.Check(auditColumns); err != nil {
				return err
			}
			options.Severity = audit.Severity(severity.Word)
			c, err := source.read(cmd.Context(), env, cloud.All)
			if err != nil {
				return err
			}
			x := index.New(c)
			if err := checkNames(env, x, options); err != nil {
				return cli.Fail(cli.ExitUsage, err)
			}
			found := audit.Check(x, options)
			if cmd.Flag("recheck").Changed && len(found.Findings) > 0 {
				fmt.Fprintf(env.Stderr, "found at first: %d; looking again in %v\n", len(found.Findings), recheck)
				select {
				case <-cmd.Context().Done():
					return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
				case <-time.After(recheck):
				}
				if c, err = source.read(cmd.Context(), env, cloud.All); err != nil {
					return err
				}
				found = audit.Intersect(found, audit.Check(index.New(c), options))
			}
			for _, u := range found.Unchecked {
				fmt.Fprintf(env.Stderr, "note: not looked for everywhere: %s. %s\n", audit.Join(u.Codes), u.Reason)
			}
			if err := out.Print(env.Stdout, auditResult(found)); err != nil {
				if _, coded := cli.CodeOf(err); coded {
					return err
				}
				return cli.Fail(cli.ExitFailure, err)
			}
			if n := len(found.Findings); n > 0 {
				return cli.Fail(cli.ExitFindings, fmt.Errorf("the services disagree: %s", cli.Count(n, "finding")))
			}
			if complete && len(found.Unchecked) > 0 {
				return cli.Fail(cli.ExitFailure, errors.New("not everything could be looked at"))
			}
			return nil
		},
	}
	source.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&codes, "code", nil, "look for `CODE` only; may be repeated")
	f.Var(severity, "severity", "look for `SEVERITY` and what is worse: error, warning or info")
	f.StringArrayVar(&options.Servers, "server", nil, "print what is about the server `NAME` or UUID only; may be repeated")
	f.StringArrayVar(&options.Ports, "port", nil, "print what is about the port `NAME` or UUID only; may be repeated")
	f.StringArrayVar(&options.Hosts, "host", nil, "print what is on the host `NAME` only; may be repeated")
	f.DurationVar(&recheck, "recheck", recheckAfter, "look again after `DURATION`, 10 seconds if none is given, and report what stays")
	f.Lookup("recheck").NoOptDefVal = recheckAfter.String()
	f.BoolVar(&complete, "complete", false, "fail when codes could not be looked for everywhere")
	f.BoolVar(&list, "codes", false, "list the codes, and read no cloud")
	_ = errors.Join( // the flags exist: the lines above
		cmd.RegisterFlagCompletionFunc("code", cli.OneOf(known...)),
		cmd.RegisterFlagCompletionFunc("severity", cli.OneOf(severity.Known...)))
	out = cli.AddOutput(cmd)
	return cmd
}

// checkNames returns an error for a server, a port or a host by whose name no record is found, which may be a mistake in typing. About a UUID it is a note
// only: what had it was deleted, perhaps by the command before.
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

// recheckAfter is how long audit waits before it looks again, unless another time is given. Most of what services do between two requests
// is done by then.
const recheckAfter = 10 * time.Second

var auditColumns = []string{"Code", "Severity", "About", "Found", "Expected", "Command"}

// auditResult is the result as it is printed.
func auditResult(found audit.Result) cli.Result {
	r := cli.Result{Columns: auditColumns, Value: found}
	for _, f := range found.Findings {
		var about []string
		for _, s := range f.About {
			about = append(about, s.String())
		}
		r.Rows = append(r.Rows, []any{string(f.Code), string(f.Severity), about, f.Found, f.Expected, f.Command})
	}
	r.Text = func(w io.Writer) error {
		var b strings.Builder
		for i, f := range found.Findings {
			fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Code)
			for _, line := range [][2]string{
				{"about", strings.Join(cli.Cells(r.Rows[i][2:3]), "")}, {"found", f.Found}, {"expected", f.Expected}, {"means", f.Means}, {"next", f.Command},
			} {
				fmt.Fprintf(&b, "  %-9s %s\n", line[0], line[1])
			}
			b.WriteByte('\n')
		}
		switch {
		case len(found.Findings) > 0:
		case len(found.Unchecked) > 0:
			b.WriteString("nothing found in what could be looked at\n")
		default:
			b.WriteString("nothing found\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	return r
}

// auditCodes lists the kinds of findings.
func auditCodes() cli.Result {
	r := cli.Result{Columns: []string{"Code", "Severity", "Means", "Mends"}}
	for _, k := range audit.Kinds() {
		r.Rows = append(r.Rows, []any{string(k.Code), string(k.Severity), k.Means, k.Repair})
	}
	return r
}
