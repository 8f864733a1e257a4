package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// units are those of flags that are numbers.
var units = regexp.MustCompile(`\b(hosts|servers|seconds|rows|bytes|MiB|kbit/s)\b`)

// The help of every command is within 80 columns, and each flag has a help text: without a full
// stop at the end, as the others, and with its unit.
func TestHelp(t *testing.T) {
	root := newRoot(environment{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }})
	commands := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		commands++
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(out.String()) {
			if cmd.HasParent() && cmd.Parent().Name() == "completion" { // cobra's own texts
				break
			}
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > helpWidth || line != strings.TrimRight(line, " ") {
				t.Errorf("%s --help: a line is wider than %d columns or ends in a space:\n%s", cmd.CommandPath(), helpWidth, line)
			}
		}
		for _, part := range []string{cmd.Short, cmd.UseLine()} {
			if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), part) && cmd.Long == "" {
				t.Errorf("%s --help does not have %q", cmd.CommandPath(), part)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") || strings.TrimSpace(f.Usage) != f.Usage {
				t.Errorf("%s --%s: its description is empty or ends otherwise than others: %q", cmd.CommandPath(), f.Name, f.Usage)
			}
			switch f.Value.Type() {
			case "int", "int64", "uint", "float64", "duration":
				if !units.MatchString(f.Usage) {
					t.Errorf("%s --%s names no unit: %q", cmd.CommandPath(), f.Name, f.Usage)
				}
			}
		})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
	if commands < 20 {
		t.Errorf("%d commands were looked at: this test looks for the wrong thing", commands)
	}
}
