package operators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/database"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/doctor"
)

// doctorOptions are the flags of "berth doctor".
type doctorOptions struct {
	env      cli.Env
	source   cloudSource
	options  doctor.Options
	nova     novaSettings
	ports    []string
	list     bool
	policies []string
	settings []string
	// bundle is the path of the bundle to write, "" for none, and hideNames whether names are hashes
	// in it.
	bundle    string
	hideNames bool
	out       *cli.Output
}

// NewDoctor returns "berth doctor".
func NewDoctor(env cli.Env) *cobra.Command {
	x := &doctorOptions{env: env}
	x.source.db.Once, x.source.db.Standby = true, true
	cmd := &cobra.Command{
		Use:   "doctor [--server SERVER] [--host HOST] [--check CHECK]",
		Short: "Find out why guaranteed bandwidth does not work in a cloud",
		Long: `Doctor examines a cloud from the outside in: whether its services can be reached
and are new enough, clocks, agents and what placement has of them, networks,
ports and compute services, and whether the records agree. Each check is ok,
warns, has failed or is unknown, with what was seen; a failed one says what it
means and the next command to type. It changes nothing. --list lists the checks.

With --server it also follows the server: its port, policy and request, its
allocation, the binding of its ports, and why there was no host. A server that
got no host has given its ports back: name them with --port.

Services that cannot be reached are a failed check. What could not be read is
unknown, never ok. Placement's database is examined in addition to the APIs
when --config or --connection names it. Of other services, --settings takes the
settings files of one host: nova.conf, ml2_conf.ini, openvswitch_agent.ini.

--bundle writes an archive for a bug report: the records, the results, versions,
and the files of --config and --settings without secrets and comments. Nothing
else of the machine is in it.

Exit codes:
  0  no check has failed; some may warn, or be unknown
  1  the records could not be read; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  a check has failed`,
		Example: `  berth doctor --os-cloud admin
  berth doctor --os-cloud admin --server web1
  berth doctor --os-cloud admin --host cn7 \
      --settings /etc/neutron/plugins/ml2/openvswitch_agent.ini
  berth doctor --os-cloud admin --bundle report.tar.gz --hide-names
  berth doctor --os-cloud admin -f value -c check -c result
  berth doctor --list`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	x.source.flags(cmd)
	x.nova.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.options.Server, "server", "", "`SERVER`: server to follow too (name or UUID)")
	f.StringArrayVar(&x.ports, "port", nil, "`PORT`: port that the server was to have (name or UUID); may be repeated")
	f.StringVar(&x.options.Host, "host", "", "`HOST`: host that checks of hosts are restricted to (name)")
	f.StringSliceVar(&x.options.Checks, "check", nil, "`CHECK`: check to make, all if none is given; may be repeated")
	f.StringArrayVar(&x.policies, "policy-file", nil,
		"`FILE`: policy file of a placement service to check; may be repeated")
	f.StringArrayVar(&x.settings, "settings", nil,
		"`FILE`: settings file to check, of a service on the host of --host, or else on this machine; may be repeated")
	f.BoolVar(&x.list, "list", false, "list the checks, and read no cloud")
	f.StringVar(&x.bundle, "bundle", "",
		"`FILE`: archive for a bug report to write, a tar.gz with records and results and without secrets")
	f.BoolVar(&x.hideNames, "hide-names", false,
		"write hashes instead of names of servers, ports, networks, projects and users in the bundle and the results")
	_ = cmd.RegisterFlagCompletionFunc("check", cli.OneOf(doctorCheckNames()...)) // the flag exists: the line above
	x.out = cli.AddOutput(cmd)
	return cmd
}

// doctorCheckNames are the names of all checks.
func doctorCheckNames() (names []string) {
	for _, c := range doctor.Checks() {
		names = append(names, c.Name)
	}
	return names
}

// run makes the checks and prints their results.
func (x *doctorOptions) run(ctx context.Context) error {
	if x.list {
		return x.out.Print(x.env, doctorChecks())
	}
	known := doctorCheckNames()
	for _, name := range x.options.Checks {
		if !slices.Contains(known, name) {
			return cli.Fail(cli.ExitUsage, fmt.Errorf("there is no check %q; berth doctor --list lists them", name))
		}
	}
	if len(x.ports) > 0 && x.options.Server == "" {
		return cli.Fail(cli.ExitUsage, errors.New("--port is about a server, and wants --server"))
	}
	if x.hideNames && x.bundle == "" {
		return cli.Fail(cli.ExitUsage, errors.New("--hide-names is about a bundle, and wants --bundle"))
	}
	if err := x.noBundleYet(); err != nil {
		return err
	}
	if err := x.nova.read(); err != nil {
		return err
	}
	x.options.Filters = &x.nova.Request
	in, err := x.input(ctx)
	if err != nil {
		return err
	}
	x.scrub(in)
	report, err := doctor.Examine(ctx, in, x.options)
	switch {
	case ctx.Err() != nil:
		return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	case err != nil:
		return cli.Fail(cli.ExitFailure, err)
	}
	if err := x.out.Print(x.env, doctorResult(report, x.source.options.Cloud)); err != nil {
		return err
	}
	if err := x.writeBundle(in, report); err != nil {
		return err
	}
	if n := report.Count(doctor.Failed); n > 0 {
		return cli.Fail(cli.ExitFindings, fmt.Errorf("of %d checks %d failed", len(report.Results), n))
	}
	return nil
}

// input reads what is examined.
func (x *doctorOptions) input(ctx context.Context) (in doctor.Input, err error) {
	if in.Cloud, err = x.source.survey(ctx, x.env); err != nil {
		return in, err
	}
	if x.source.db.Given() {
		if in.Database, err = x.database(ctx); err != nil {
			return in, err
		}
	}
	if err := x.findPolicies(); err != nil {
		return in, err
	}
	for _, path := range x.policies {
		in.Policies = append(in.Policies, readPolicy(path))
	}
	in.SettingsHost = x.options.Host
	if in.SettingsHost == "" && len(x.settings) > 0 {
		if in.SettingsHost, err = os.Hostname(); err != nil {
			return in, cli.Fail(cli.ExitFailure, fmt.Errorf("the name of this machine: %w; --host names it", err))
		}
	}
	for _, path := range x.settings {
		file, err := readSettingsFile(path)
		if err != nil {
			return in, cli.Fail(cli.ExitUsage, err)
		}
		in.Settings = append(in.Settings, file)
	}
	return in, x.lookUp(ctx, in.Cloud)
}

// namesAPI reports whether the flags or the variables name a cloud with APIs.
func (s *cloudSource) namesAPI(env cli.Env) bool {
	return s.options.Cloud+s.options.Region+s.iface.Word+env.Getenv("OS_CLOUD")+env.Getenv("OS_AUTH_URL")+
		env.Getenv("OS_ENDPOINT") != ""
}

// database examines placement's database. What is wrong with it is part of the result; the error is
// about the settings.
func (x *doctorOptions) database(ctx context.Context) (*doctor.Database, error) {
	d := &doctor.Database{Name: "of the settings"}
	err := x.source.db.Work(ctx, x.env, dbtool.Look, func(db *database.DB) error {
		d.Name = db.Name
		v, err := db.Version(ctx)
		if err != nil {
			return err
		}
		d.Server, d.Revision, d.Release, d.Standing = v.Server, v.Revision, v.Release, string(v.Standing)
		replicas, err := db.Replication(ctx)
		if err != nil {
			return err
		}
		d.ReadOnly, d.Replicas, d.Grant = replicas.ReadOnly, replicas.Replicas, replicas.Grant
		if replicas.Cluster != nil {
			d.Cluster = new(doctor.Cluster(*replicas.Cluster))
		}
		for _, s := range replicas.Standbys {
			d.Standbys = append(d.Standbys, doctor.Standby(s))
		}
		for _, s := range replicas.Sources {
			d.Sources = append(d.Sources, doctor.Source(s))
		}
		if v.Standing == dbtool.StandsEmpty || v.Standing == dbtool.StandsUnknown {
			return nil
		}
		findings, err := db.Check(ctx)
		for _, f := range findings {
			result := map[dbtool.Verdict]doctor.Status{
				dbtool.Success: doctor.OK, dbtool.Warning: doctor.Warning, dbtool.Failure: doctor.Failed,
			}[f.Verdict]
			d.Rows = append(d.Rows, doctor.RowCheck{Name: f.Check, Result: result, Details: f.Details})
		}
		return err
	})
	if code, _ := cli.CodeOf(err); err != nil && code == cli.ExitUsage || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		d.Problem = err.Error()
	}
	return d, nil
}

// findPolicies adds the policy file of placement's settings, where there is one and none is named.
func (x *doctorOptions) findPolicies() error {
	if len(x.policies) > 0 || len(x.source.db.Files)+len(x.source.db.Dirs) == 0 {
		return nil
	}
	cfg, err := x.source.db.Settings()
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	path := daemon.NextToSettings(&cfg.Service, cfg.Policy.File)
	if _, err := os.Stat(path); err == nil {
		x.policies = append(x.policies, path)
	}
	return nil
}

// readPolicy reads a policy file of placement. What is wrong with it is part of the result.
func readPolicy(path string) doctor.PolicyFile {
	f := doctor.PolicyFile{Path: path, Rules: map[string]string{}, Defaults: map[string]string{}}
	for _, rule := range placementapi.PolicyDefaults() {
		f.Defaults[rule.Name] = rule.Check
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Problem = err.Error()
		return f
	}
	f.JSON = json.Valid(text)
	var rules map[string]any
	if err := yaml.Unmarshal(text, &rules); err != nil {
		f.Problem = err.Error()
	}
	for name, rule := range rules {
		f.Rules[name] = fmt.Sprint(rule)
	}
	return f
}

func readSettingsFile(path string) (doctor.SettingsFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return doctor.SettingsFile{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return doctor.SettingsFile{}, err
	}
	return doctor.ParseSettings(path, text, info.ModTime()), nil
}

// lookUp looks up what the records do not have of the server: its image, which is omitted where
// there is none, and ports that it was to have.
func (x *doctorOptions) lookUp(ctx context.Context, c *cloud.Cloud) error {
	if x.options.Server == "" || c.Compute == nil {
		return nil
	}
	if x.source.file != "" || !x.source.namesAPI(x.env) {
		if len(x.ports) > 0 {
			return cli.Fail(cli.ExitUsage, errors.New("--port looks the port up in the cloud's APIs"))
		}
		return nil
	}
	client, err := x.source.connect(ctx, x.env)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	i := slices.IndexFunc(c.Compute.Servers, func(s cloud.Server) bool {
		return s.UUID == x.options.Server || s.Name == x.options.Server
	})
	if i >= 0 && c.Compute.Servers[i].Image != "" {
		if image, err := client.Image(ctx, c.Compute.Servers[i].Image); err == nil {
			x.options.Image = &image
		}
	}
	for _, word := range x.ports {
		p, err := client.Port(ctx, word)
		if err != nil {
			return cli.Fail(cli.ExitFailure, err)
		}
		x.options.Ports = append(x.options.Ports, p)
	}
	return nil
}

// evidenceShown is how much of what was seen people are shown of a check.
const evidenceShown = 5

// doctorResult is the result as it is printed, for people with a line at its end when they have
// given the cloud by a flag.
func doctorResult(report doctor.Report, cloud string) cli.Result {
	r := cli.Result{Columns: []string{"Check", "Result", "Evidence", "Impact", "Command"}, Value: report}
	for _, c := range report.Results {
		var seen []string
		for _, e := range c.Evidence {
			seen = append(seen, e.Text)
		}
		r.Rows = append(r.Rows, []any{c.Check, string(c.Result), strings.Join(seen, "; "), c.Means, c.Command})
	}
	r.Text = func(w io.Writer) error {
		text := doctorText(report)
		if cloud != "" && strings.Contains(text, "\n           next   ") {
			text += "The commands take the cloud of OS_CLOUD: export OS_CLOUD=" + cloud + "\n"
		}
		_, err := io.WriteString(w, text)
		return err
	}
	return r
}

// doctorText is the result for people. Checks of a group that are unknown for the same reasons are
// one; without a token nothing is known, which is said once.
func doctorText(report doctor.Report) string {
	var b strings.Builder
	results := report.Results
	outside := slices.ContainsFunc(results, func(c doctor.Result) bool {
		return c.Check == "login" && c.Result == doctor.Failed
	})
	unknown := report.Count(doctor.Unknown)
	if outside {
		results = slices.DeleteFunc(slices.Clone(results), func(c doctor.Result) bool { return c.Result == doctor.Unknown })
	}
	group := ""
	for i := 0; i < len(results); i++ {
		c := results[i]
		if c.Group != group {
			if group != "" {
				b.WriteByte('\n')
			}
			group = c.Group
			fmt.Fprintf(&b, "%s\n", group)
		}
		names := []string{c.Check}
		for ; c.Result == doctor.Unknown && i+1 < len(results); i++ {
			next := results[i+1]
			if next.Group != group || next.Result != doctor.Unknown || !slices.Equal(next.Evidence, c.Evidence) {
				break
			}
			names = append(names, next.Check)
		}
		shown := c.Evidence
		if len(shown) > evidenceShown+1 { // a line about one more is as long as the one more
			shown = shown[:evidenceShown]
		}
		if len(names) > 1 {
			fmt.Fprintf(&b, "  %-8s %s\n%33s", c.Result, strings.Join(names, ", "), "")
		} else {
			fmt.Fprintf(&b, "  %-8s %-22s", c.Result, c.Check)
		}
		b.WriteByte(' ')
		var commands []string
		for k, e := range shown {
			if k > 0 {
				fmt.Fprintf(&b, "%34s", "")
			}
			fmt.Fprintf(&b, "%s\n", e.Text)
			if e.Command != "" && e.Result != doctor.OK && !slices.Contains(commands, e.Command) {
				commands = append(commands, e.Command)
			}
		}
		if more := len(c.Evidence) - len(shown); more > 0 {
			fmt.Fprintf(&b, "%34s… and %d more, in -f json\n", "", more)
		}
		if c.Means != "" {
			fmt.Fprintf(&b, "           impact %s\n", c.Means)
		}
		for k, command := range commands {
			fmt.Fprintf(&b, "           %-6s %s\n", map[bool]string{true: "next"}[k == 0], command)
		}
	}
	if outside && unknown > 0 {
		fmt.Fprintf(&b, "\nWithout a token nothing is read: %d checks are unknown.\n", unknown)
	}
	fmt.Fprintf(&b, "\n%d ok, %d warn, %d failed, %d unknown\n", report.Count(doctor.OK), report.Count(doctor.Warning),
		report.Count(doctor.Failed), unknown)
	return b.String()
}

// doctorChecks lists the checks.
func doctorChecks() cli.Result {
	r := cli.Result{Columns: []string{"Check", "Group", "Examines", "Impact"}}
	for _, c := range doctor.Checks() {
		r.Rows = append(r.Rows, []any{c.Name, c.Group, c.Examines, c.Means})
	}
	return r
}
