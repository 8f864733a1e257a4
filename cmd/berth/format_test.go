package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// printNothingForPrograms are the commands without a result that -f could format otherwise, and
// why.
var printNothingForPrograms = map[string]string{
	"berth placement serve":       "a server",
	"berth network serve":         "a server",
	"berth compute serve":         "a server",
	"berth up":                    "a server; --run-guide prints steps as they are taken",
	"berth db dump":               "a dump is lines of JSON",
	"berth records export":        "the file is JSON",
	"berth man":                   "writes files",
	"berth watch":                 "rows as they come (TestWatch)",
	"berth console":               "a server",
	"berth exporter":              "a server",
	"berth help":                  "help is for people",
	"berth completion bash":       "a script for a shell",
	"berth completion fish":       "a script for a shell",
	"berth completion powershell": "a script for a shell",
	"berth completion zsh":        "a script for a shell",
}

// leaves returns all commands that have no subcommands, under the names that they have now. Those
// that have some print their help, but for the agent, which is a server.
func leaves(t *testing.T) (all []*cobra.Command) {
	t.Helper()
	root := newRoot(cli.Env{Environ: os.Environ()})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		switch {
		case c.Annotations[cli.FormerName] != "":
			return
		case !c.HasAvailableSubCommands() && c.Runnable():
			all = append(all, c)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return all
}

// Every command that prints a result prints it for programs too, with the keys that are documented.
func TestResultsAsJSON(t *testing.T) {
	good, broken := restored(t, newDatabaseFile(t), nil), restored(t, newDatabaseFile(t), brokenRows())
	dump := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(dump, []byte(dumpText(brokenRows())), 0o600); err != nil {
		t.Fatal(err)
	}
	moves := filepath.Join(t.TempDir(), "moves.yaml")
	rewrite(t, moves, reshapeMoves)
	agent := agentFile(t)
	counts := []string{"rows", "table"}
	cases := map[string]struct {
		args []string
		code int
		keys []string
		each map[string][]string // the keys of the objects in a list
	}{
		"berth version": {
			nil, cli.ExitOK, []string{"go", "os_traits", "placement_microversions", "platform", "revision", "version"}, nil,
		},
		"berth db version": {
			[]string{"--connection", good},
			cli.ExitOK,
			[]string{"berth_tables", "database", "release", "revision", "server", "standing", "target"},
			nil,
		},
		"berth db check": {
			[]string{"--connection", broken},
			cli.ExitFindings,
			[]string{"checks", "name"},
			map[string][]string{"checks": {"check", "details", "result"}},
		},
		"berth db sync": {
			[]string{"--connection", newDatabaseFile(t)},
			cli.ExitOK,
			[]string{"berth_tables_from", "berth_tables_made", "database", "dry_run", "from", "steps"},
			map[string][]string{"steps": {"release", "revision"}},
		},
		"berth db online-data-migrations": {
			[]string{"--connection", restored(t, newDatabaseFile(t), brokenRows())},
			cli.ExitOK,
			[]string{"migrations"},
			map[string][]string{"migrations": {"completed", "found", "migration"}},
		},
		"berth db restore": {
			[]string{"--connection", newDatabaseFile(t), "--input", dump},
			cli.ExitOK,
			[]string{"database", "dry_run", "rows", "seconds", "tables"},
			map[string][]string{"tables": counts},
		},
		"berth db copy": {
			[]string{"--from", broken, "--to", newDatabaseFile(t)},
			cli.ExitOK,
			[]string{"dry_run", "from", "rows", "rows_before", "rows_copied", "seconds", "tables", "to"},
			map[string][]string{"tables": counts},
		},
		"berth db uninstall": {[]string{"--connection", good, "--yes"}, cli.ExitOK, []string{"database", "dropped"}, nil},
		"berth placement check-auth": {
			[]string{
				"--config",
				settings(t,
					"[api]\nauth_strategy = keystone\n[keystone_authtoken]\nauth_url = http://127.0.0.1:1/v3\nauth_type = password\n"+
						"username = placement\npassword = s3cret\nproject_name = service\nuser_domain_name = Default\n"+
						"project_domain_name = Default"),
			},
			cli.ExitFindings,
			[]string{"ok", "steps"},
			map[string][]string{"steps": {"detail", "result", "step"}},
		},
		"berth explain": {
			[]string{"resources=VCPU:4,DISK_GB:1", "--from-file", sampleRecords(t, 2)},
			cli.ExitFindings,
			[]string{
				"changes", "constraint", "dropped_by_root_required", "fit", "fitting_hosts", "groups", "hosts",
				"hosts_for_all_groups", "hosts_for_each_group", "near",
				"not_taken", "providers", "summary",
			},
			map[string][]string{
				"groups":  {"dropped", "group", "hosts", "providers", "resource_class"},
				"changes": {"group", "hosts", "kind", "name", "names"},
				"near":    {"misses", "name", "uuid"},
			},
		},
		"berth records tree": {[]string{"cn1", "--from-file", sampleRecords(t, 2)}, cli.ExitOK, nil, map[string][]string{
			"": {"aggregates", "allocations", "depth", "generation", "inventories", "name", "traits", "uuid"},
		}},
		"berth records top": {[]string{"--from-file", sampleRecords(t, 2)}, cli.ExitOK, nil, map[string][]string{
			"": {"capacity", "id", "name", "percent", "resource_class", "used"},
		}},
		"berth records diff": {[]string{sampleRecords(t, 2), sampleRecords(t, 3)}, cli.ExitFindings, nil, map[string][]string{
			"": {"after", "before", "change", "consumer_uuid", "provider", "provider_uuid", "subject", "what"},
		}},
		"berth records import": {
			[]string{sampleRecords(t, 2), "--merge"},
			cli.ExitFindings,
			[]string{"applied", "conflicts", "creates", "others", "requests", "target"},
			map[string][]string{
				"conflicts": {"name", "reason", "uuid", "what"}, "requests": {"body", "method", "microversion", "path", "service"},
			},
		},
		"berth records traits": {
			[]string{"--aggregate", traitsAggregate, "--add", "HW_CPU_X86_SGX"},
			cli.ExitFindings,
			[]string{"aggregate", "applied", "creates", "providers"},
			map[string][]string{"providers": {"add", "generation", "name", "remove", "result", "uuid"}},
		},
		"berth audit": {
			[]string{"--from-file", recordsFile(t, leaking())},
			cli.ExitFindings,
			[]string{"findings", "unchecked"},
			map[string][]string{"findings": {"about", "code", "command", "expected", "found", "means", "severity"}},
		},
		"berth doctor": {
			[]string{"--from-file", doctorFile(t)},
			cli.ExitFindings,
			[]string{"checks", "source"},
			map[string][]string{"checks": {"check", "command", "evidence", "group", "means", "result"}},
		},
		"berth upgrade-check": {
			[]string{"--from-file", doctorFile(t), "--to", "2026.2"},
			cli.ExitFindings,
			[]string{"checks", "from", "source", "to"},
			map[string][]string{"checks": {"check", "evidence", "means", "next", "release", "result", "service"}},
		},
		"berth heal": {
			[]string{"--from-file", recordsFile(t, leaking()), "--force"},
			cli.ExitFindings,
			[]string{"commands", "plan", "results"},
			nil,
		},
		"berth capacity headroom": {
			[]string{"--from-file", capacityFile(t), "--query", "resources=VCPU:1"},
			cli.ExitOK,
			[]string{"exact", "hosts", "least", "most", "runs_out"},
			map[string][]string{
				"hosts": {"least", "misses", "most", "name", "uuid"}, "runs_out": {"group", "hosts", "kind", "resource_class"},
			},
		},
		"berth capacity drain": {
			[]string{"--from-file", capacityFile(t), "cn1"},
			cli.ExitOK,
			[]string{"confirm_each_move", "host", "moves", "proven", "stuck", "uuid", "waiting"},
			map[string][]string{"moves": {"allocations", "consumer_uuid", "mappings", "name", "to", "to_uuid"}},
		},
		"berth compute operations": {nil, cli.ExitOK, nil, map[string][]string{
			"": {
				"awaits", "cause", "created_at", "direction", "id", "kind", "project_id", "server", "state", "step", "until",
				"worker",
			},
		}},
		"berth network changes": {nil, cli.ExitOK, nil, map[string][]string{
			"": {"abandoned", "attempted_at", "created_at", "differences", "id", "instance", "kind", "port", "server", "state"},
		}},
		"berth reshape": {
			[]string{"--host", "cn1", "--moves", moves},
			cli.ExitFindings,
			[]string{"applied", "changes", "moves"},
			map[string][]string{
				"changes": {"after", "before", "new", "provider", "resource_class", "uuid"},
				"moves": {
					"amount", "consumer", "from_resource_provider", "resource_class", "to_resource_class", "to_resource_provider",
				},
			},
		},
		"berth agent inventory": {
			[]string{
				"--compute-config",
				settings(t, "[berth]\ncompute_driver = fake\nfake_vcpus = 2\n[DEFAULT]\nstate_path = "+t.TempDir()),
			},
			cli.ExitOK,
			[]string{"plan", "providers"},
			map[string][]string{"providers": {"inventories", "name", "traits", "uuid"}},
		},
		"berth agent check": {
			[]string{"--config", agent}, cli.ExitFindings, nil, map[string][]string{"": {"about", "level", "text"}},
		},
		"berth agent key": {
			[]string{"--config", settings(t, "[berth]\nhost_key_secret = 0123456789abcdef0123456789abcdef"), "cn1"},
			cli.ExitOK,
			nil,
			map[string][]string{"": {"host", "key"}},
		},
	}
	document, err := os.ReadFile("../../docs/operations/README.md")
	if err != nil {
		t.Fatal(err)
	}
	cloud := servedPlacement(t, nil, otherTraits...)
	underway := servedUnderway(t, underwayLists())
	clouds := map[string]map[string]string{
		"berth compute operations": underway, "berth network changes": underway,
		"berth records traits": servedPlacement(t, nil, traitsMembers()...),
		"berth reshape":        servedPlacement(t, nil, reshapeMembers...),
	}
	for _, c := range leaves(t) {
		path := c.CommandPath()
		if _, ok := printNothingForPrograms[path]; ok {
			if c.Flags().Lookup("format") != nil && path != "berth watch" {
				t.Errorf("%s has -f, and is an exception", path)
			}
			continue
		}
		tc, ok := cases[path]
		if !ok {
			t.Errorf("%s prints a result and has no case here: give it -f (addFormat) and document its keys", path)
			continue
		}
		t.Run(path, func(t *testing.T) {
			variables, ok := clouds[path]
			if !ok {
				variables = cloud
			}
			code, stdout, stderr := berthIn(t, "", variables,
				append(append(strings.Fields(path)[1:], tc.args...), "-f", "json")...)
			var got any
			if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != tc.code {
				t.Fatalf("it exits with %d, want %d, and prints %q: %v\n%s", code, tc.code, stdout, err, stderr)
			}
			object, ok := got.(map[string]any)
			if !ok {
				object = map[string]any{"": got}
			} else if diff := cmp.Diff(tc.keys, keysOf(object)); diff != "" {
				t.Errorf("the keys (-want +got):\n%s", diff)
			}
			for list, keys := range tc.each {
				all, _ := object[list].([]any)
				if len(all) == 0 {
					t.Errorf("%q is %v, want objects", list, object[list])
				}
				for _, one := range all {
					if diff := cmp.Diff(keys, keysOf(one.(map[string]any))); diff != "" {
						t.Errorf("the keys of %q (-want +got):\n%s", list, diff)
					}
				}
			}
			for _, key := range slices.Concat(tc.keys, slices.Concat(slices.Collect(maps.Values(tc.each))...)) {
				if !documentsKey(string(document), path, key) {
					t.Errorf("docs/operations/README.md does not say what %q of %s is", key, path)
				}
			}
			if code, _, stderr := berth(t, append(strings.Fields(path)[1:], "-f", "xml")...); code != cli.ExitUsage ||
				!strings.Contains(stderr, `invalid argument "xml" for "-f, --format" flag`) {
				t.Errorf("with -f xml it exits with %d, want %d:\n%s", code, cli.ExitUsage, stderr)
			}
		})
	}
	for path := range printNothingForPrograms {
		if !slices.ContainsFunc(leaves(t), func(c *cobra.Command) bool { return c.CommandPath() == path }) {
			t.Errorf("%s is an exception and no command", path)
		}
	}
}

// documentsKey reports whether the line of a command in the table of results names a key.
func documentsKey(document, path, key string) bool {
	for line := range strings.Lines(document) {
		if strings.HasPrefix(line, "| `"+path+" -f json` |") {
			return strings.Contains(line, "`"+key+"`")
		}
	}
	return false
}

func keysOf(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
