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

// newDBCheck returns "berth db check", upstream's "placement-status upgrade check": scripts read its
// output and its exit code.
func newDBCheck(env cli.Env) *cobra.Command {
	var source Source
	var form *cli.Choice
	var asJSON, nova bool
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

With --nova-exit-codes they are those of placement-status and nova-status:

  1  warnings
  2  errors that must be corrected`,
		Example: `  berth db check --config /etc/placement/placement.conf
  berth db check --connection @/etc/placement/database-url -f json |
      jq '.checks[] | select(.result > 0)'`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return source.Work(cmd.Context(), env, dbtool.Look, func(db *DB) error {
				return checkDB(cmd.Context(), env, db, asJSON || form.Json(), nova)
			})
		},
	}
	source.Flags(cmd)
	form = cli.AddFormat(cmd, "table")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as -f json")
	_ = cmd.Flags().MarkHidden("json") // upstream's name for it
	cmd.Flags().BoolVar(&nova, "nova-exit-codes", false, "exit with the codes of placement-status and nova-status")
	return cmd
}

// checkDB runs the checks of the database and that of the policy file, and prints the findings.
// They are printed also when one is a failure, which the exit code then says.
func checkDB(ctx context.Context, env cli.Env, db *DB, asJSON, nova bool) error {
	findings, err := db.Check(ctx)
	if err != nil {
		return fmt.Errorf("the database %s: %w", db.Name, err)
	}
	// Upstream's checks come first, and this is the third of them.
	findings = slices.Insert(findings, min(2, len(findings)), checkPolicyFile(db.cfg))
	if asJSON {
		err = findingsJSON(env.Stdout, findings)
	} else {
		err = findingsTable(env.Stdout, findings)
	}
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	return verdict(findings, nova)
}

// checkPolicyFile warns about a policy file in JSON, which upstream's current releases do not read
// (the check "Policy File JSON to YAML Migration" of oslo.upgradecheck).
func checkPolicyFile(cfg *config.Placement) dbtool.Finding {
	f := dbtool.Finding{Check: "Policy File JSON to YAML Migration"}
	path := daemon.BesideSettings(&cfg.Service, cfg.Policy.File)
	if path == "" {
		return f
	}
	text, err := os.ReadFile(path)
	if err == nil && json.Valid(text) {
		f.Verdict = dbtool.Failure
		f.Details = "The policy file " + path + " is JSON. Convert it with oslopolicy-convert-json-to-yaml and name the new file in [oslo_policy] policy_file."
	}
	return f
}

// verdict returns an error when not all findings are successes. With nova its exit code is the worst
// of the findings, as oslo.upgradecheck's is the greatest code of all checks.
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
	return cli.Fail(code, fmt.Errorf("of %d checks %d failed and %d warn", len(findings), n[dbtool.Failure], n[dbtool.Warning]))
}

// findingsTitle is the title that upstream's command prints above its findings (display_title in
// oslo.upgradecheck).
const findingsTitle = "Upgrade Check Results"

// findingsJSON prints findings in the JSON of oslo.upgradecheck, where a check without details has
// null.
func findingsJSON(w io.Writer, findings []dbtool.Finding) error {
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
	for _, f := range findings {
		c := check{Check: f.Check, Result: f.Verdict}
		if f.Details != "" {
			c.Details = &f.Details
		}
		all.Checks = append(all.Checks, c)
	}
	return cli.WriteJSON(w, all)
}

// findingsTable prints findings as oslo.upgradecheck does with PrettyTable: one column, a cell each.
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
