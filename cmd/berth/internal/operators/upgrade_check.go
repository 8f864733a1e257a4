package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/upgrade"
	"github.com/berthcloud/berth/osloconfig"
)

// upgradeOptions are the flags of "berth upgrade-check".
type upgradeOptions struct {
	env    cli.Env
	source cloudSource
	to     cli.Choice
	nova   novaSettings
	list   bool
	out    *cli.Output
}

// NewUpgradeCheck returns "berth upgrade-check".
func NewUpgradeCheck(env cli.Env) *cobra.Command {
	x := &upgradeOptions{env: env}
	for _, r := range request.Releases()[1:] {
		x.to.Known = append(x.to.Known, r.String())
	}
	cmd := &cobra.Command{
		Use:   "upgrade-check --to RELEASE",
		Short: "Say what a release of OpenStack will change in a cloud",
		Long: `Upgrade-check says which changes of the releases up to RELEASE concern a cloud
as it is: inventories that Nova will move, traits that it will require, PCI
devices in placement, roles that new default policies do not know, settings that
were removed. It changes nothing. --list lists the checks.

The result of a check is "required" when something has to be done before the
upgrade, "changes" when the release changes something by itself or offers
something, "ok", or "unknown" when what it needs was not read. Each that is not
ok has the next command, or the page to read.

The release of the cloud is that of its Nova. --nova-config names a nova.conf
whose settings are checked, and whose aliases of PCI devices are tried out; it
may be the one for the next release.

Exit codes:
  0  nothing has to be done before the upgrade
  1  the records could not be read; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  something has to be done before the upgrade`,
		Example: `  berth upgrade-check --os-cloud admin --to 2026.1
  berth upgrade-check --os-cloud admin --to 2026.2 \
      --nova-config /etc/nova/nova.conf
  berth upgrade-check --from-file cloud.json --to 2025.1 -f json
  berth upgrade-check --list`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	x.source.flags(cmd)
	x.nova.flags(cmd)
	f := cmd.Flags()
	f.Var(&x.to, "to", "`RELEASE`: release to upgrade to, "+x.to.Known[0]+" to "+x.to.Known[len(x.to.Known)-1])
	f.BoolVar(&x.list, "list", false, "list the checks, and read no cloud")
	_ = cmd.RegisterFlagCompletionFunc("to", cli.OneOf(x.to.Known...)) // the flag exists: the lines above
	x.out = cli.AddOutput(cmd)
	return cmd
}

// upgradeColumns are those of the results.
var upgradeColumns = []string{"Check", "Release", "Result", "Evidence", "Impact", "Next"}

// run makes the checks and prints their results.
func (x *upgradeOptions) run(ctx context.Context) error {
	if x.list {
		return x.out.Print(x.env, upgradeChecks())
	}
	to, ok := request.ParseRelease(x.to.Word)
	if !ok {
		return cli.Fail(cli.ExitUsage, errors.New("nothing says which release is meant: --to RELEASE names it"))
	}
	if err := x.out.Check(upgradeColumns); err != nil {
		return err
	}
	if err := x.nova.read(); err != nil {
		return err
	}
	in := upgrade.Input{
		To: to, Requests: x.nova.Request, Zone: x.nova.ScheduleZone, DefaultZone: x.nova.DefaultZone,
		PCIInPlacement: x.nova.inPlacement, Aliases: x.nova.aliases,
	}
	if err := x.readSettings(&in); err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := x.read(ctx, &in); err != nil {
		return err
	}
	report, err := upgrade.Check(ctx, in)
	if err != nil { // that of ctx
		return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	}
	if err := x.out.Print(x.env, upgradeResult(report)); err != nil {
		return err
	}
	if n := report.Count(upgrade.Required); n > 0 {
		return cli.Fail(cli.ExitFindings, fmt.Errorf("before the upgrade to %s something has to be done: %s of %d", report.To,
			cli.Count(n, "check"), len(report.Results)))
	}
	return nil
}

// readSettings reads the settings of the nova.conf that was given.
func (x *upgradeOptions) readSettings(in *upgrade.Input) error {
	if x.nova.file == "" {
		return nil
	}
	text, err := os.ReadFile(x.nova.file)
	if err != nil {
		return err
	}
	file, err := osloconfig.Parse(x.nova.file, text)
	if err != nil {
		return err
	}
	in.Settings = map[osloconfig.Name]string{}
	for name, value := range file.All() {
		in.Settings[name] = value
	}
	return nil
}

// read reads the records, and from APIs the flavors and the roles of users. What cannot be read of
// these is a note.
func (x *upgradeOptions) read(ctx context.Context, in *upgrade.Input) (err error) {
	if in.Cloud, err = x.source.survey(ctx, x.env); err != nil {
		return err
	}
	if l := in.Cloud.Environment; l != nil && l.Login.Problem.Kind != "" {
		return cli.Fail(cli.ExitFailure, errors.New(l.Login.Problem.Text))
	}
	for _, text := range in.Cloud.Unread {
		fmt.Fprintf(x.env.Stderr, "note: %s\n", text)
	}
	if in.Cloud.Environment != nil {
		for _, service := range []string{"placement", "compute", "network"} {
			if reason := in.Cloud.Environment.Unread[service]; reason != "" {
				fmt.Fprintf(x.env.Stderr, "note: %s\n", reason)
			}
		}
	}
	if in.Cloud.Placement == nil && in.Cloud.Compute == nil {
		return cli.Fail(cli.ExitFailure, errors.New("neither placement's records nor those of the compute service were read"))
	}
	if x.source.file != "" || x.source.db.Given() || in.Cloud.Compute == nil {
		return nil
	}
	client, err := x.source.connect(ctx, x.env)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	return x.readMore(ctx, client, in)
}

func (x *upgradeOptions) readMore(ctx context.Context, client *cloudapi.Client, in *upgrade.Input) (err error) {
	if in.Flavors, err = client.Flavors(ctx); err != nil {
		fmt.Fprintf(x.env.Stderr, "note: The flavors were not read: %v.\n", err)
		in.Flavors = nil
	}
	p := cli.NewProgress(x.env)
	in.Users, err = client.Users(ctx, in.Cloud.Compute.Servers, func(what string, done, total int) {
		p.Show(func() string { return fmt.Sprintf("reading %s: %d of %d", what, done, total) })
	})
	p.End()
	if err != nil {
		fmt.Fprintf(x.env.Stderr, "note: The roles of users were not read: %v.\n", err)
		in.Users = nil
	}
	if ctx.Err() != nil {
		return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	}
	return nil
}

// upgradeResult is the result as it is printed.
func upgradeResult(report upgrade.Report) cli.Result {
	r := cli.Result{Columns: upgradeColumns, Value: report}
	for _, c := range report.Results {
		var seen []string
		for _, e := range c.Evidence {
			seen = append(seen, e.Text)
		}
		r.Rows = append(r.Rows, []any{c.Check, c.Release, string(c.Result), strings.Join(seen, "; "), c.Means, c.Next})
	}
	r.Text = func(w io.Writer) error {
		_, err := io.WriteString(w, upgradeText(report))
		return err
	}
	return r
}

// upgradeText is the result for people.
func upgradeText(report upgrade.Report) string {
	var b strings.Builder
	from := report.From
	if from == "" {
		from = "a release that is not known"
	}
	fmt.Fprintf(&b, "From %s to %s\n", from, report.To)
	for _, c := range report.Results {
		fmt.Fprintf(&b, "  %-8s %-7s %-20s", c.Result, c.Release, c.Check)
		shown := c.Evidence
		if len(shown) > evidenceShown+1 { // a line about one more is as long as the one more
			shown = shown[:evidenceShown]
		}
		var next []string
		for i, e := range shown {
			if i > 0 {
				fmt.Fprintf(&b, "%39s", "")
			}
			fmt.Fprintf(&b, " %s\n", e.Text)
			if e.Next != "" && !slices.Contains(next, e.Next) {
				next = append(next, e.Next)
			}
		}
		if more := len(c.Evidence) - len(shown); more > 0 {
			fmt.Fprintf(&b, "%39s … and %d more, in -f json\n", "", more)
		}
		if c.Means != "" {
			fmt.Fprintf(&b, "           impact %s\n", c.Means)
		}
		for i, text := range next {
			fmt.Fprintf(&b, "           %-6s %s\n", map[bool]string{true: "next"}[i == 0], text)
		}
	}
	fmt.Fprintf(&b, "\n%d required, %d changes, %d ok, %d unknown\n",
		report.Count(upgrade.Required), report.Count(upgrade.Changes), report.Count(upgrade.OK),
		report.Count(upgrade.Unknown))
	return b.String()
}

// upgradeChecks lists the checks.
func upgradeChecks() cli.Result {
	r := cli.Result{Columns: []string{"Check", "Release", "Service", "Examines", "Impact"}}
	for _, c := range upgrade.Checks() {
		release := "every"
		if c.Since != 0 {
			release = c.Since.String()
		}
		r.Rows = append(r.Rows, []any{c.Name, release, c.Service, c.Examines, c.Means})
	}
	return r
}
