package packaging

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestManualPages renders every page without warnings of troff.
func TestManualPages(t *testing.T) {
	need(t, "groff", "groff-base")
	_, unpacked := pkg(t)
	pages, err := filepath.Glob(filepath.Join(unpacked, "usr/share/man/man*/*.gz"))
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			if out := run(t, "sh", "-c", `gzip -dc "$0" | groff -man -ww -z`, page); out != "" {
				t.Errorf("groff says:\n%s", out)
			}
			out := run(t, "sh", "-c", `gzip -dc "$0" | groff -man -Tutf8 -P-cbou`, page)
			for _, section := range []string{"NAME", "DESCRIPTION", "SEE ALSO"} {
				if !strings.Contains(out, section+"\n") {
					t.Errorf("no section %s:\n%s", section, out)
				}
			}
		})
	}
}

// TestEveryCommandHasItsPage follows the commands that help lists, and has the settings.
func TestEveryCommandHasItsPage(t *testing.T) {
	_, unpacked := pkg(t)
	names := commands(t, filepath.Join(unpacked, "usr/bin/berth"))
	if len(names) < 5 {
		t.Errorf("help lists only %q", names)
	}
	for _, name := range names {
		page := filepath.Join(unpacked, "usr/share/man/man1", strings.ReplaceAll("berth "+name, " ", "-")+".1.gz")
		if _, err := os.Stat(page); err != nil {
			t.Errorf("berth %s: %v", name, err)
		}
	}
	for _, service := range []string{"placement", "network", "compute"} {
		if _, err := os.Stat(filepath.Join(unpacked, "usr/share/man/man5/berth-"+service+".conf.5.gz")); err != nil {
			t.Errorf("the settings of the %s service: %v", service, err)
		}
	}
}

// commands returns the commands below those given, as help lists them.
func commands(t *testing.T, bin string, above ...string) []string {
	t.Helper()
	help := run(t, bin, append(append([]string{}, above...), "--help")...)
	_, list, _ := strings.Cut(help, "Usage:\n")
	list, _, _ = strings.Cut(list, "\nFlags:\n")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]*)  +[A-Z]`).FindAllStringSubmatch(list, -1) { // in groups
		name := m[1]
		if name == "help" {
			continue
		}
		path := append(append([]string{}, above...), name)
		names = append(append(names, strings.Join(path, " ")), commands(t, bin, path...)...)
	}
	return names
}

// TestCompletions has the shells read their files. Those that are not here are
// named.
func TestCompletions(t *testing.T) {
	_, unpacked := pkg(t)
	for _, c := range []struct{ shell, check, file string }{
		{"bash", "-n", "usr/share/bash-completion/completions/berth"},
		{"zsh", "-n", "usr/share/zsh/vendor-completions/_berth"},
		{"fish", "--no-execute", "usr/share/fish/vendor_completions.d/berth.fish"},
	} {
		t.Run(c.shell, func(t *testing.T) {
			file := filepath.Join(unpacked, c.file)
			if text := read(t, file); !strings.Contains(text, "__complete") {
				t.Errorf("%s does not query the program:\n%s", c.file, text)
			}
			if _, err := exec.LookPath(c.shell); err != nil && c.shell != "bash" {
				t.Skipf("NOT PARSED: there is no %s here", c.shell)
			}
			if out := run(t, c.shell, c.check, file); out != "" {
				t.Errorf("%s says:\n%s", c.shell, out)
			}
		})
	}
}

// TestDocumentsOfThePackage follows the links of the packaged documents: what they name is in
// the package too.
func TestDocumentsOfThePackage(t *testing.T) {
	_, unpacked := pkg(t)
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)\s]*)?\)`)
	links := 0
	err := filepath.WalkDir(filepath.Join(unpacked, "usr/share/doc/berth"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".md") {
				return err
			}
			for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
				links++
				if strings.Contains(m[1], "://") {
					continue
				}
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
					t.Errorf("%s links to %s, which the package lacks", strings.TrimPrefix(path, unpacked), m[1])
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if links < 50 {
		t.Errorf("only %d links in the documents of the package", links)
	}
}
