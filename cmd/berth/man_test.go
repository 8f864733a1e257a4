package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	if code, _, stderr := berth(t, "man", "--date", "2026-11-20", dir); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for file, want := range map[string]string{
		"berth.1":                 `\fBberth\-placement.conf\fR(5)`,
		"berth-placement-serve.1": `\fB\-\-config\fR`,
		"berth-network-serve.1":   `\fB\-\-config\-dir\fR`,
		"berth-placement.conf.5":  `\fBmetrics_listen\fR`,
		"berth-network.conf.5":    `\fBmechanism_drivers\fR`,
		"berth-compute.conf.5":    `\fBenabled_filters\fR`,
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) || !strings.Contains(string(text), `2026\-11\-20`) {
			t.Errorf("%s: %v, want the date and %q in:\n%.300s", file, err, want, text)
		}
	}
	for file, pages := range map[string][2]string{ // a page that it refers to, and one that it does not
		"berth-network-serve.1":   {`network.conf\fR(5)`, `placement.conf\fR(5)`},
		"berth-placement-serve.1": {`placement.conf\fR(5)`, `network.conf\fR(5)`},
		"berth-db-check.1":        {`placement.conf\fR(5)`, `network.conf\fR(5)`},
		"berth-compute-serve.1":   {`compute.conf\fR(5)`, `placement.conf\fR(5)`},
		"berth-agent.1":           {`berth\fR(1)`, `.conf\fR(5)`},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		_, also, _ := strings.Cut(string(text), `"SEE ALSO"`)
		if err != nil || !strings.Contains(also, pages[0]) || strings.Contains(also, pages[1]) {
			t.Errorf("%s refers to %s, %v; want %q and not %q", file, also, err, pages[0], pages[1])
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "berth-man.1")); !os.IsNotExist(err) {
		t.Errorf("the hidden command has a page (%v)", err)
	}
	if code, _, _ := berth(t, "man", filepath.Join(dir, "berth.1")); code != cli.ExitFailure {
		t.Errorf("writing into a file: exit code %d, want %d", code, cli.ExitFailure)
	}
}
