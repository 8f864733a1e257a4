package manpages

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns a page for root and for every command below it that help lists, in section 1.
// Each refers to the pages above and below it, and to those that also returns for it.
func Commands(root *cobra.Command, s Stamp, also func(*cobra.Command) []Page) []Page {
	page := command(root, s, also(root))
	pages := []Page{page}
	for _, c := range shown(root) {
		pages = append(pages, Commands(c, s, also)...)
	}
	return pages
}

func shown(c *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() && !sub.Hidden {
			list = append(list, sub)
		}
	}
	return list
}

func command(c *cobra.Command, s Stamp, also []Page) Page {
	c.InitDefaultHelpFlag() // cobra adds it only when the command runs
	w := begin(pageName(c), 1, c.Short, s)
	w.synopsis(c)
	w.section("DESCRIPTION")
	w.prose(cond(c.Long != "", c.Long, c.Short+"."))
	w.commands(c)
	w.options(c)
	if c.Example != "" {
		w.section("EXAMPLES")
		w.verbatim(strings.Trim(c.Example, "\n"))
	}
	w.seeAlso(c, also)
	return Page{pageName(c), 1, w.String()}
}

func pageName(c *cobra.Command) string {
	return strings.ReplaceAll(c.CommandPath(), " ", "-")
}

func (w *writer) synopsis(c *cobra.Command) {
	w.section("SYNOPSIS")
	if len(shown(c)) > 0 {
		w.WriteString(bold(c.CommandPath()) + " " + italic("COMMAND") + " ...\n")
		return
	}
	rest := strings.TrimPrefix(c.UseLine(), c.CommandPath())
	w.WriteString(bold(c.CommandPath()) + escape(strings.ReplaceAll(rest, "[flags]", "[OPTION...]")) + "\n")
}

func (w *writer) commands(c *cobra.Command) {
	subs := shown(c)
	if len(subs) == 0 {
		return
	}
	w.section("COMMANDS")
	for _, sub := range subs {
		w.item(reference(pageName(sub), 1), sub.Short+".")
	}
}

func (w *writer) options(c *cobra.Command) {
	w.section("OPTIONS")
	for _, f := range each(c.NonInheritedFlags().VisitAll) {
		if f.Hidden {
			continue
		}
		value, usage := Option(f)
		term := bold("--" + f.Name)
		if f.Shorthand != "" {
			term = bold("-"+f.Shorthand) + ", " + term
		}
		if value != "" {
			term += " " + italic(value)
		}
		w.item(term, sentence(usage, f.DefValue))
	}
}

// each collects the arguments with which visit calls its function.
func each[F any](visit func(func(F))) []F {
	var all []F
	visit(func(f F) { all = append(all, f) })
	return all
}

// Option returns the name of an option's value, "" for none, and what the option is. The name is in
// backquotes in the usage, or else that of its type. In "`IMAGE`: image of the server" it is not a
// part of the text.
func Option(f *pflag.Flag) (value, text string) {
	if before, rest, ok := strings.Cut(f.Usage, "`"); ok {
		if name, after, ok := strings.Cut(rest, "`"); ok {
			if text, ok := strings.CutPrefix(after, ": "); ok && before == "" {
				return name, text
			}
			return name, before + name + after
		}
	}
	switch kind := f.Value.Type(); kind {
	case "bool":
		return "", f.Usage
	case "stringArray", "stringSlice":
		return "STRING", f.Usage
	default:
		return strings.ToUpper(kind), f.Usage
	}
}

// sentence turns an option's usage into a sentence and adds the default, unless that is the zero of
// its type or the usage names one already.
func sentence(usage, byDefault string) string {
	usage = strings.ToUpper(usage[:1]) + usage[1:]
	if Zero(byDefault) || strings.Contains(usage, "(default ") {
		return usage + "."
	}
	return usage + " (default " + byDefault + ")."
}

// Zero reports whether a default is that of its type, which is not worth mentioning.
func Zero(value string) bool {
	switch value {
	case "", "false", "0", "0s", "[]":
		return true
	}
	return false
}

func (w *writer) seeAlso(c *cobra.Command, also []Page) {
	var refs []string
	if c.HasParent() {
		refs = append(refs, reference(pageName(c.Parent()), 1))
	}
	for _, sub := range shown(c) {
		refs = append(refs, reference(pageName(sub), 1))
	}
	for _, p := range also {
		refs = append(refs, reference(p.Name, p.Section))
	}
	if len(refs) == 0 {
		return
	}
	w.section("SEE ALSO")
	w.WriteString(strings.Join(refs, ",\n") + "\n")
}

func cond(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}
