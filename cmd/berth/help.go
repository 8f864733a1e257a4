package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is how many columns help may take.
const helpWidth = 80

// narrowHelp limits the help of a command and all below it to helpWidth columns. It is cobra's help,
// whose flags, examples and paragraphs are broken into lines where they are wider.
func narrowHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("paragraphs", narrowParagraphs)
	cobra.AddTemplateFunc("examples", func(text string) string { return narrowLines(text, ` \`, "    ") })
	cobra.AddTemplateFunc("usage", func(text string) string { return narrowLines("  "+text, "", "      ") })
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "{{. | trimTrailingWhitespaces}}", "{{. | paragraphs}}", 1))
	wrapped := fmt.Sprintf("Flags.FlagUsagesWrapped %d", helpWidth)
	root.SetUsageTemplate(strings.NewReplacer(
		"Flags.FlagUsages", wrapped, "  {{.UseLine}}", "{{usage .UseLine}}", "{{.Example}}", "{{examples .Example}}",
	).Replace(root.UsageTemplate()))
}

// narrowParagraphs refills the paragraphs that have a line that is too wide. Lines that begin with
// a space are parts of tables and unchanged.
func narrowParagraphs(text string) string {
	var out []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		wide := slices.ContainsFunc(lines, func(line string) bool { return len(line) > helpWidth })
		if wide && !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, " ") }) {
			paragraph = narrowLine(strings.Join(lines, " "), "", "")
		}
		out = append(out, paragraph)
	}
	return strings.Join(out, "\n\n")
}

// narrowLines breaks each line that is too wide.
func narrowLines(text, end, indent string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, narrowLine(line, end, indent))
	}
	return strings.Join(out, "\n")
}

// narrowLine breaks a line between words so that its parts are within helpWidth. Continued lines
// have the suffix end, and continuation lines are indented.
func narrowLine(line, end, indent string) string {
	if len(line) <= helpWidth {
		return line
	}
	margin := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var words []string
	for word := range strings.FieldsSeq(line) {
		last := len(words) - 1
		if end != "" && last >= 0 && strings.HasPrefix(words[last], "-") && !strings.HasPrefix(word, "-") {
			words[last] += " " + word // a flag is not separated from its value
			continue
		}
		words = append(words, word)
	}
	var out []string
	current := margin
	for _, word := range words {
		if strings.TrimSpace(current) != "" && len(current)+len(" ")+len(word)+len(end) > helpWidth {
			out = append(out, current+end)
			current = margin + indent
		}
		if strings.TrimSpace(current) != "" {
			current += " "
		}
		current += word
	}
	return strings.Join(append(out, current), "\n")
}
