package manpages_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/internal/manpages"
	"github.com/berthcloud/berth/osloconfig"
)

var stamp = manpages.Stamp{Version: "1.2.3", Date: "2026-11-20"}

func tree() *cobra.Command {
	nothing := func(*cobra.Command, []string) error { return nil }
	root := &cobra.Command{
		Use: "ship", Short: "A ship",
		Long: "First paragraph\nin two lines.\n\nload      take\nunload    give\n\n.dot and 'quote'",
	}
	load := &cobra.Command{
		Use: "load [--crane N] WHAT", Short: "Take `cargo` aboard", RunE: nothing,
		Example: "  ship load --crane 2 crates\n\n  # slow\n  ship load grain",
	}
	load.Flags().IntP("crane", "c", 1, "use crane `N`")
	load.Flags().StringArray("hold", nil, "put it there")
	load.Flags().String("secret", "", "not shown")
	load.Flags().Bool("fast", false, "hurry")
	load.Flags().String("config", "", "follow the orders in `FILE`")
	_ = load.Flags().MarkHidden("secret") // it exists: the line above
	root.AddCommand(load, &cobra.Command{Use: "sink", Hidden: true, RunE: nothing})
	return root
}

func TestCommands(t *testing.T) {
	conf := manpages.Page{Name: "ship.conf", Section: 5}
	pages := manpages.Commands(tree(), stamp, func(*cobra.Command) []manpages.Page { return []manpages.Page{conf} })
	var names []string
	for _, p := range pages {
		names = append(names, p.File())
	}
	if diff := cmp.Diff([]string{"ship.1", "ship-load.1"}, names); diff != "" {
		t.Fatalf("pages (-want +got):\n%s", diff)
	}
	wants := []string{
		`.TH "SHIP" 1 "2026\-11\-20" "berth 1.2.3" "Berth"
.nh
.ad l
.SH "NAME"
ship \- A ship
.SH "SYNOPSIS"
\fBship\fR \fICOMMAND\fR ...
.SH "DESCRIPTION"
.PP
First paragraph
in two lines.
.PP
.nf
load      take
unload    give
.fi
.PP
\&.dot and \(aqquote\(aq
.SH "COMMANDS"
.TP
\fBship\-load\fR(1)
Take \fBcargo\fR aboard.
.SH "OPTIONS"
.TP
\fB\-h\fR, \fB\-\-help\fR
Help for ship.
.SH "SEE ALSO"
\fBship\-load\fR(1),
\fBship.conf\fR(5)
`, `.TH "SHIP\-LOAD" 1 "2026\-11\-20" "berth 1.2.3" "Berth"
.nh
.ad l
.SH "NAME"
ship\-load \- Take \(gacargo\(ga aboard
.SH "SYNOPSIS"
\fBship load\fR [\-\-crane N] WHAT [OPTION...]
.SH "DESCRIPTION"
.PP
Take \fBcargo\fR aboard.
.SH "OPTIONS"
.TP
\fB\-\-config\fR \fIFILE\fR
Follow the orders in FILE.
.TP
\fB\-c\fR, \fB\-\-crane\fR \fIN\fR
Use crane N (default 1).
.TP
\fB\-\-fast\fR
Hurry.
.TP
\fB\-h\fR, \fB\-\-help\fR
Help for load.
.TP
\fB\-\-hold\fR \fISTRING\fR
Put it there.
.SH "EXAMPLES"
.PP
.nf
  ship load \-\-crane 2 crates
\&
  # slow
  ship load grain
.fi
.SH "SEE ALSO"
\fBship\fR(1),
\fBship.conf\fR(5)
`,
	}
	for i, want := range wants {
		if diff := cmp.Diff(want, pages[i].Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pages[i].File(), diff)
		}
	}
}

func TestSettings(t *testing.T) {
	secret, text := osloconfig.Secret("swordfish"), `a\b–c,d`
	row := func(group, name string, v osloconfig.Value, help string) config.Setting {
		return config.Setting{Option: osloconfig.Option{
			Name: osloconfig.Name{Group: group, Option: name}, Value: v, Help: help,
		}}
	}
	old := row("hold", "text", osloconfig.String(&text), "See `$$`.")
	old.Older = []osloconfig.Name{{Option: "words"}}
	p := manpages.Settings(manpages.Configuration{
		Page: "ship.conf", Service: "ship", Paths: []manpages.Path{{"/etc/ship", "Orders."}}, Settings: []config.Setting{
			row("hold", "password", osloconfig.Hidden(&secret), "For the hold."),
			row("deck", "area", osloconfig.Int(new(7)), "Size."),
			old,
		}, Ignored: osloconfig.ParseNames("[deck]\nplank rope_end\n[*]\ngalley"),
	}, stamp)
	_, got, _ := strings.Cut(p.Text, "have no effect.\n")
	want := `.SH "[hold]"
.TP
\fBpassword\fR (string,\: secret)
For the hold. Default: \fB***\fR.
.TP
\fBtext\fR (string)
See \fB$$\fR. Default: \fBa\(rsb\[u2013]c,\:d\fR. Also read as \fB[hold] words\fR.
.SH "[deck]"
.TP
\fBarea\fR (integer)
Size. Default: \fB7\fR.
.SH "IGNORED"
.PP
Accepted for the sake of existing files, without effect:
.TP
[deck]
plank, rope_end
.TP
whole groups
galley
.SH "FILES"
.TP
\fI/etc/ship\fR
Orders.
.SH "SEE ALSO"
\fBberth\-ship\-serve\fR(1)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if p.File() != "ship.conf.5" {
		t.Errorf("file %s, want ship.conf.5", p.File())
	}
}
