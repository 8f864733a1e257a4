package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/operators"
	"github.com/berthcloud/berth/internal/dbtest"
)

// completed returns the completions of the last of some words, and the directive.
func completed(t *testing.T, words ...string) (offers []string, directive string) {
	t.Helper()
	code, stdout, stderr := berth(t, append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...)
	if code != cli.ExitOK {
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
	formats := []string{"table", "json", "yaml", "csv", "value"}
	urls := []string{"sqlite:////", "mysql+pymysql://", "postgresql+psycopg2://", "@"}
	conf := []string{"conf", "ini"}
	for line, want := range map[string]struct {
		offers    []string
		directive string
	}{
		"db ": {
			[]string{"check", "copy", "dump", "online-data-migrations", "restore", "sync", "uninstall", "version"}, noFiles,
		},
		"db s":        {[]string{"sync"}, noFiles},
		"db version ": {nil, noFiles},
		"placement ":  {[]string{"check-auth", "serve"}, noFiles},
		"records ":    {[]string{"diff", "export", "import", "top", "traits", "tree"}, noFiles},
		"heal ":       {nil, noFiles},
		"capacity ":   {[]string{"drain", "headroom"}, noFiles},
		"help ": {[]string{
			"agent", "audit", "capacity", "completion", "compute", "console", "db", "doctor", "explain", "exporter", "heal",
			"help", "network", "placement", "records", "reshape", "up", "upgrade-check", "version", "watch",
		}, noFiles},
		"completion ":                         {[]string{"bash", "fish", "powershell", "zsh"}, noFiles},
		"man ":                                {nil, directories},
		"version -f ":                         {formats, noFiles},
		"version --format=":                   {formats, noFiles},
		"db check -f ":                        {formats, noFiles},
		"db online-data-migrations --format ": {formats, noFiles},
		"db copy -f ":                         {formats, noFiles},
		"agent check -f ":                     {formats, noFiles},
		"placement check-auth -f ":            {formats, noFiles},
		"placement check-auth --token ":       {nil, noFiles},
		"placement serve --config ":           {conf, extensions},
		"network serve --config-file ":        {conf, extensions},
		"compute serve --config-dir ":         {nil, directories},
		"placement serve --listen ":           {nil, noFiles},
		"agent --kind ":                       {[]string{"ovs", "sriov", "ovs,sriov"}, noFiles},
		"agent --compute-config ":             {conf, extensions},
		"upgrade-check --to ": {
			[]string{"2023.1", "2023.2", "2024.1", "2024.2", "2025.1", "2025.2", "2026.1", "2026.2"}, noFiles,
		},
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
			if placeholder, _ := pflag.UnquoteUsage(f); flagValues[f.Name] == nil &&
				slices.Contains([]string{"FILE", "DIR", "URL", "DRIVER"}, placeholder) {
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

// What a placement service has in its database completes too, also from a file with nothing else,
// in bounded time and without a word.
func TestCompleteNamesOfADatabase(t *testing.T) {
	onDatabases(t, func(t *testing.T, newURL func(*testing.T) string) {
		url := newURL(t)
		conf := settings(t, databaseOf(url))
		r := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0", "--config", conf)
		const nested, second = "6f1b1a5e-0000-4000-8000-000000000003", "6f1b1a5e-0000-4000-8000-0000000000a2"
		for _, body := range []string{
			`{"name": "cn1", "uuid": "` + watchedHost + `"}`, `{"name": "cn 2", "uuid": "` + watchedOther + `"}`,
			`{"name": "cn1:eth0", "uuid": "` + nested + `", "parent_provider_uuid": "` + watchedHost + `"}`,
		} {
			send(t, r.url, "POST", "/resource_providers", body)
		}
		change(t, r.url)
		send(t, r.url, "PUT", "/allocations/"+second, `{"allocations": {"`+watchedHost+`": {"resources": {"VCPU": 1}}},
			"project_id": "another", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`)
		send(t, r.url, "PUT", "/resource_classes/CUSTOM_VC", "")
		file := filepath.Join(t.TempDir(), "cloud.json")
		if code, _, stderr := berth(t, "records", "export", "--config", conf, file); code != cli.ExitOK {
			t.Fatal(stderr)
		}
		for _, source := range []string{"--config=" + conf, "--connection=" + url, "--from-file=" + file} {
			for _, tc := range []struct {
				line string
				want []string
			}{
				{"records tree ", []string{"cn 2", "cn1"}},
				{"capacity drain cn1", []string{"cn1"}},
				{"explain --host c", []string{"cn 2", "cn1"}},
				{"watch --tree ", []string{"cn 2", "cn1"}},
				{"watch --class VC", []string{"VCPU"}},
				{"records top --class CUSTOM_", []string{"CUSTOM_VC"}},
				{"watch --consumer ", []string{watchedServer, second}},
				{"watch --consumer " + second, []string{second}},
				{"watch --consumer 7", nil},
				{"audit --server 6f1b", []string{watchedServer, second}},
				{"audit --port ", nil},
			} {
				words := strings.Split(tc.line, " ")
				words = append([]string{cobra.ShellCompNoDescRequestCmd}, slices.Insert(words, len(words)-1, source)...)
				if strings.HasPrefix(words[len(words)-3], "--") { // a flag and its value stay together
					words[len(words)-2], words[len(words)-3] = words[len(words)-3], words[len(words)-2]
				}
				code, stdout, stderr := berth(t, words...)
				lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
				if last := len(lines) - 1; code != cli.ExitOK || !slices.Equal(lines[:last], tc.want) || lines[last] != ":4" ||
					strings.Contains(stderr, "database") {
					t.Errorf("berth %s completes to %q, want %q; %s", words, lines, tc.want, stderr)
				}
			}
		}
		r.stop()
		server := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(url)
		if server == "" {
			return
		}
		proxy := dbtest.NewProxy(t, server)
		proxy.HalfOpen()
		begun := time.Now()
		offers, _ := completed(t, "records", "tree", "--connection", strings.Replace(url, server, proxy.Address(), 1), "")
		if took := time.Since(begun); len(offers) > 0 || took > 2*operators.CompletionTime {
			t.Errorf("a database that does not answer completes to %q after %s", offers, took)
		}
	})
}
