package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/internal/manpages"
)

// HelpWidth is how many columns help may take, those of a terminal by default.
const HelpWidth = 80

// The titles of groups of flags that several commands have.
const (
	ServerFlags = "Server"
	SourceFlags = "Source of the records (berth help sources)"
	OutputFlags = "Output"
)

// groupTitles are the titles of groups in the order in which help has them, after the flags without
// a group.
var groupTitles = []string{ServerFlags, SourceFlags, OutputFlags}

// groupKey is the annotation of a flag with the title of its group.
const groupKey = "group"

// Group adds the flags that add defines to a command. Its help has them under one of the titles.
func Group(cmd *cobra.Command, title string, add func(f *pflag.FlagSet)) {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(f)
	f.VisitAll(func(flag *pflag.Flag) { flag.Annotations = map[string][]string{groupKey: {title}} })
	cmd.Flags().AddFlagSet(f)
}

// AddConfigFlags adds the flags for settings files. OpenStack's name of the first, --config-file,
// is accepted too.
func AddConfigFlags(f *pflag.FlagSet, file string, files, dirs *[]string) {
	f.StringArrayVar(files, "config", nil,
		"`FILE`: settings, a "+file+"; may be repeated, later ones win; --config-file is the same")
	f.StringArrayVar(dirs, "config-dir", nil, "`DIR`: directory whose *.conf files are read after the files")
}

// registerUsages makes flagUsages and topicUsage known to cobra's templates, of which there is one
// set for all commands.
var registerUsages = sync.OnceFunc(func() {
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	cobra.AddTemplateFunc("topicUsage", topicUsage)
})

// SetUsage has the help of a command and of all below it list flags in groups, and help topics by
// what is typed to read them.
func SetUsage(root *cobra.Command) {
	registerUsages()
	root.SetUsageTemplate(strings.NewReplacer(
		"Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagUsages .LocalFlags}}",
		"{{if .IsAdditionalHelpTopicCommand}}\n  {{rpad .CommandPath .CommandPathPadding}} {{.Short}}",
		"{{if .IsAdditionalHelpTopicCommand}}\n  {{topicUsage .}}",
	).Replace(root.UsageTemplate()))
}

// topicUsage is the line about a help topic in the help of its parent. A topic is no command that
// can be run.
func topicUsage(topic *cobra.Command) string {
	width := 0
	for _, c := range topic.Parent().Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			width = max(width, len(c.Name()))
		}
	}
	return fmt.Sprintf("%s help %-*s  %s", topic.Parent().CommandPath(), width, topic.Name(), topic.Short)
}

// flagUsages describes flags in groups, each with its title, within HelpWidth.
func flagUsages(f *pflag.FlagSet) string {
	groups, width := map[string][][2]string{}, 0
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		value, text := manpages.Option(flag)
		name := "      --" + flag.Name
		if flag.Shorthand != "" {
			name = "  -" + flag.Shorthand + ", --" + flag.Name
		}
		if value != "" {
			name += " " + value
		}
		if !manpages.Zero(flag.DefValue) && !strings.Contains(text, "(default ") {
			text += " (default " + flag.DefValue + ")"
		}
		title := ""
		if group := flag.Annotations[groupKey]; len(group) > 0 {
			title = group[0]
		}
		groups[title] = append(groups[title], [2]string{name, text})
		width = max(width, len(name))
	})
	var b strings.Builder
	for _, title := range append([]string{""}, groupTitles...) {
		if len(groups[title]) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:\n", cmp.Or(title, "Flags"))
		for _, line := range groups[title] {
			for i, text := range wrap(line[1], HelpWidth-width-3) {
				name := ""
				if i == 0 {
					name = line[0]
				}
				fmt.Fprintf(&b, "%-*s   %s\n", width, name, text)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// wrap breaks a text into lines between words.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// A Choice is the value of a flag that accepts one of a few words. It implements pflag.Value.
type Choice struct {
	Word  string
	Known []string
	// Former are words that are accepted too, each with the one that it stands for.
	Former map[string]string
}

// Set implements pflag.Value.
func (c *Choice) Set(word string) error {
	word = cmp.Or(c.Former[word], word)
	if !slices.Contains(c.Known, word) {
		last := len(c.Known) - 1
		return fmt.Errorf("want %s or %s", strings.Join(c.Known[:last], ", "), c.Known[last])
	}
	c.Word = word
	return nil
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Word }

// Type implements pflag.Value.
func (c *Choice) Type() string { return "string" }
