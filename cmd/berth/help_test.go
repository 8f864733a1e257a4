package main

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// units are those of flags that are numbers.
var units = regexp.MustCompile(`\b(hosts|servers|requests|seconds|rows|bytes|MiB|kbit/s)\b`)

// The help of every command is within 80 columns, and each flag has a help text: without a full
// stop at the end, as the others, and with its unit.
func TestHelp(t *testing.T) {
	root := newRoot(cli.Env{Stdout: io.Discard, Stderr: io.Discard})
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
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > cli.HelpWidth ||
				line != strings.TrimRight(line, " ") {
				t.Errorf("%s --help: a line is wider than %d columns or ends in a space:\n%s", cmd.CommandPath(), cli.HelpWidth,
					line)
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

// The examples of every command are command lines that it takes.
func TestExamples(t *testing.T) {
	lines := 0
	for _, groups := range leaves(t) {
		if groups.Parent().Name() == "completion" { // cobra's own
			continue
		}
		for _, line := range exampleLines(groups.Example) {
			lines++
			root := newRoot(cli.Env{Stdout: io.Discard, Stderr: io.Discard})
			cmd, rest, err := root.Find(line[1:])
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("an example of %s: %q: %v", groups.CommandPath(), line, err)
			}
		}
	}
	if lines < 40 {
		t.Errorf("%d examples were looked at: this test looks for the wrong thing", lines)
	}
}

// exampleLines are the words of the command lines of berth in an example, as a shell has them.
func exampleLines(example string) (lines [][]string) {
	for line := range strings.Lines(strings.ReplaceAll(example, "\\\n", "")) {
		var words []string
		for i, part := range strings.Split(strings.TrimSpace(line), "'") {
			if i%2 == 1 { // between quotes
				words = append(words, part)
			} else {
				words = append(words, strings.Fields(part)...)
			}
		}
		begin := slices.Index(words, "berth")
		if begin < 0 || words[0] == "#" {
			continue
		}
		words = words[begin:]
		if end := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ";") }); end >= 0 {
			words = append(slices.Clone(words[:end]), strings.TrimSuffix(words[end], ";"))
		}
		if end := slices.IndexFunc(words, func(w string) bool { return w == "|" || w == ">" || w == "&&" }); end >= 0 {
			words = words[:end]
		}
		lines = append(lines, words)
	}
	return lines
}
