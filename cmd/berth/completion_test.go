package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completed returns the completions of the last of some words, and the directive.
func completed(t *testing.T, words ...string) (offers []string, directive string) {
	t.Helper()
	code, stdout, stderr := berth(t, append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...)
	if code != exitOK {
		t.Fatalf("completing %q exits with %d: %s", words, code, stderr)
	}
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "urls"), 0o700); err != nil {
		t.Fatal(err)
	}
	rewrite(t, filepath.Join(dir, "url"), "sqlite://")
	const files, noFiles, noFilesNoSpace, extensions, directories = ":0", ":4", ":6", ":8", ":16"
	text, table := []string{"text", "json"}, []string{"table", "json"}
	urls := []string{"sqlite:////", "mysql+pymysql://", "postgresql+psycopg2://", "@"}
	conf := []string{"conf", "ini"}
	for line, want := range map[string]struct {
		offers    []string
		directive string
	}{
		"db ":                                   {[]string{"check", "copy", "dump", "online-data-migrations", "restore", "sync", "uninstall", "version"}, noFiles},
		"db s":                                  {[]string{"sync"}, noFiles},
		"db version ":                           {nil, noFiles},
		"placement ":                            {[]string{"check-auth", "diff", "export", "import", "serve", "top", "tree"}, noFiles},
		"help ":                                 {[]string{"agent", "audit", "capacity", "completion", "compute", "db", "doctor", "explain", "heal", "help", "network", "placement", "up", "version", "watch"}, noFiles},
		"completion ":                           {[]string{"bash", "fish", "powershell", "zsh"}, noFiles},
		"man ":                                  {nil, directories},
		"version -f ":                           {text, noFiles},
		"version --format=":                     {text, noFiles},
		"db check -f ":                          {table, noFiles},
		"db online-data-migrations --format ":   {table, noFiles},
		"db copy -f ":                           {text, noFiles},
		"agent check -f ":                       {text, noFiles},
		"placement check-auth -f ":              {text, noFiles},
		"placement check-auth --token ":         {nil, noFiles},
		"placement serve --config ":             {conf, extensions},
		"network serve --config-file ":          {conf, extensions},
		"compute serve --config-dir ":           {nil, directories},
		"placement serve --listen ":             {nil, noFiles},
		"agent --kind ":                         {[]string{"ovs", "sriov", "ovs,sriov"}, noFiles},
		"agent --compute-config ":               {conf, extensions},
		"up --driver ":                          {[]string{"fake", "netns"}, noFiles},
		"up --data ":                            {nil, directories},
		"db dump --output ":                     {nil, files},
		"db restore -i ":                        {nil, files},
		"db version --connection ":              {urls, noFilesNoSpace},
		"db copy --to my":                       {[]string{"mysql+pymysql://"}, noFilesNoSpace},
		"db copy --from @" + dir + "/u":         {[]string{"@" + dir + "/url", "@" + dir + "/urls/"}, noFilesNoSpace},
		"db copy --from @" + dir + "/nothing/x": {nil, noFiles},
	} {
		words := strings.Split(line, " ")
		offers, directive := completed(t, words...)
		if diff := cmp.Diff(want.offers, slices.Clip(offers)); diff != "" && len(offers)+len(want.offers) > 0 {
			t.Errorf("berth %s offers (-want +got):\n%s", line, diff)
		}
		if directive != want.directive {
			t.Errorf("berth %s ends with %s, want %s", line, directive, want.directive)
		}
	}
}

// A flag with one of a few words, a file or a directory as its value has completions: its help
// names a placeholder or the words; every other flag offers nothing rather than files.
func TestEveryFlagCompletes(t *testing.T) {
	named := map[string]bool{}
	for _, c := range leaves(t) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			named[f.Name] = true
			if _, ok := c.GetFlagCompletionFunc(f.Name); !ok && f.NoOptDefVal == "" {
				t.Errorf("%s --%s completes nothing: a shell offers files", c.CommandPath(), f.Name)
			}
			if placeholder, _ := pflag.UnquoteUsage(f); flagValues[f.Name] == nil && slices.Contains([]string{"FILE", "DIR", "URL", "DRIVER"}, placeholder) {
				t.Errorf("%s --%s takes a %s and has no line in flagValues", c.CommandPath(), f.Name, placeholder)
			}
		})
	}
	for name := range flagValues {
		if !named[name] && !strings.HasPrefix(name, "config") {
			t.Errorf("flagValues has --%s, which no command has", name)
		}
	}
}
