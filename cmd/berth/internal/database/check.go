package database

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/dbtool"
)

// checkOptions are the flags of "berth db check".
type checkOptions struct {
	env          cli.Env
	source       Source
	out          *cli.Output
	asJSON, nova bool
}

// newDBCheck returns "berth db check", upstream's "placement-status upgrade check": scripts read
// its output and its exit code.
func newDBCheck(env cli.Env) *cobra.Command {
	o := &checkOptions{env: env}
	cmd := &cobra.Command{
		Use:   "check [--config FILE | --connection URL] [-f FORMAT]",
		Short: "Check the database for errors",
		Long: `Check makes the checks of placement-status upgrade check and prints them in the
same format, followed by its own: references to rows that do not exist, usage
above capacity, inconsistent trees of providers, and more. Each finding says
what to do about it. It only reads, and may run while services do.

Exit codes:
  0  no findings
  1  could not check; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  warnings, or errors that must be corrected

With --nova-exit-codes they are those of placement-status and nova-status: 1 for
warnings, and 2 for errors that must be corrected.`,
		Example: `  berth db check --config /etc/placement/placement.conf
  berth db check --connection @/etc/placement/database-url -f json |
      jq '.checks[] | select(.result > 0)'`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.Flags(cmd.Flags())
	o.out = cli.AddOutput(cmd)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "the same as -f json")
	_ = cmd.Flags().MarkHidden("json") // upstream's name for it
	cmd.Flags().BoolVar(&o.nova, "nova-exit-codes", false, "exit with the codes of placement-status and nova-status")
	return cmd
}

// run checks the database.
func (o *checkOptions) run(ctx context.Context) error {
	if o.asJSON {
		o.out.UseJSON()
	}
	return o.source.Work(ctx, o.env, dbtool.Look, func(db *DB) error {
		return checkDB(ctx, o.env, db, o.out, o.nova)
	})
}

// checkDB runs the checks of the database and that of the policy file, and prints the findings.
// They are printed also when one is a failure, which the exit code then says.
func checkDB(ctx context.Context, env cli.Env, db *DB, out *cli.Output, nova bool) error {
	findings, err := db.Check(ctx)
	if err != nil {
		return fmt.Errorf("the database %s: %w", db.Name, err)
	}
	// Upstream's checks come first, and this is the third of them.
	findings = slices.Insert(findings, min(2, len(findings)), checkPolicyFile(db.cfg))
	if err := out.Print(env, findingsResult(findings)); err != nil {
		return err
	}
	return verdict(findings, nova)
}

// checkPolicyFile warns about a policy file in JSON, which upstream's current releases do not read
// (the check "Policy File JSON to YAML Migration" of oslo.upgradecheck).
func checkPolicyFile(cfg *config.Placement) dbtool.Finding {
	f := dbtool.Finding{Check: "Policy File JSON to YAML Migration"}
	path := daemon.NextToSettings(&cfg.Service, cfg.Policy.File)
	if path == "" {
		return f
	}
	text, err := os.ReadFile(path)
	if err == nil && json.Valid(text) {
		f.Verdict = dbtool.Failure
		f.Details = "The policy file " + path +
			" is JSON. Convert it with oslopolicy-convert-json-to-yaml and name the new file in [oslo_policy] policy_file."
	}
	return f
}

// verdict returns an error when not all findings are successes. With nova its exit code is the
// worst of the findings, as oslo.upgradecheck's is the greatest code of all checks.
func verdict(findings []dbtool.Finding, nova bool) error {
	n := map[dbtool.Verdict]int{}
	worst := dbtool.Success
	for _, f := range findings {
		n[f.Verdict]++
		worst = max(worst, f.Verdict)
	}
	if worst == dbtool.Success {
		return nil
	}
	code := cli.ExitFindings
	if nova {
		code = int(worst)
	}
	return cli.Fail(code,
		fmt.Errorf("of %d checks %d failed and %d warn", len(findings), n[dbtool.Failure], n[dbtool.Warning]))
}

// findingsTitle is the title that upstream's command prints above its findings (display_title in
// oslo.upgradecheck).
const findingsTitle = "Upgrade Check Results"

// findingsResult is findings as they are printed: in the table and the JSON of oslo.upgradecheck,
// where a check without details has null.
func findingsResult(findings []dbtool.Finding) cli.Result {
	type check struct {
		Check   string         `json:"check"`
		Result  dbtool.Verdict `json:"result"`
		Details *string        `json:"details"`
	}
	var all struct {
		Name   string  `json:"name"`
		Checks []check `json:"checks"`
	}
	all.Name = findingsTitle
	r := cli.Result{Columns: []string{"Check", "Result", "Details"}}
	for _, f := range findings {
		c := check{Check: f.Check, Result: f.Verdict}
		if f.Details != "" {
			c.Details = &f.Details
		}
		all.Checks = append(all.Checks, c)
		r.Rows = append(r.Rows, []any{f.Check, f.Verdict.String(), cli.OrNone(f.Details)})
	}
	r.Value, r.Text = all, func(w io.Writer) error { return findingsTable(w, findings) }
	return r
}

// findingsTable prints findings as oslo.upgradecheck does with PrettyTable: one column, a cell
// each.
func findingsTable(w io.Writer, findings []dbtool.Finding) error {
	cells := [][]string{{findingsTitle}}
	for _, f := range findings {
		details := "None"
		if f.Details != "" {
			details = wrap(f.Details, 60)
		}
		cells = append(cells, strings.Split("Check: "+f.Check+"\nResult: "+f.Verdict.String()+"\nDetails: "+details, "\n"))
	}
	width := 0
	for _, line := range slices.Concat(cells...) {
		width = max(width, utf8.RuneCountInString(line))
	}
	rule := "+" + strings.Repeat("-", width+2) + "+\n"
	text := rule
	for _, cell := range cells {
		for _, line := range cell {
			text += "| " + line + strings.Repeat(" ", width-utf8.RuneCountInString(line)) + " |\n"
		}
		text += rule
	}
	_, err := io.WriteString(w, text)
	return err
}

// wrap breaks text into lines of at most width characters, all but the first indented, as
// oslo.upgradecheck does with the details (_get_details).
func wrap(text string, width int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = "  " + word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}
