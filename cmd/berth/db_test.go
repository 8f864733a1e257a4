package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// dumpText is a dump with rows of some tables.
func dumpText(rows map[string][]string) string {
	text := `{"format":"berth placement dump","version":1,"schema":"` + migrations.Target + `"}` + "\n"
	var counts []string
	for _, table := range migrations.Tables {
		var columns []string
		for _, c := range table.Columns {
			columns = append(columns, `"`+c.Name+`"`)
		}
		text += `{"table":"` + table.Name + `","columns":[` + strings.Join(columns, ",") + "]}\n"
		for _, row := range rows[table.Name] {
			text += row + "\n"
		}
		counts = append(counts, fmt.Sprintf(`{"table":"%s","rows":%d}`, table.Name, len(rows[table.Name])))
	}
	sum := sha256.Sum256([]byte(text))
	return text + `{"counts":[` + strings.Join(counts, ",") + `],"sha256":"` + hex.EncodeToString(sum[:]) + `"}` + "\n"
}

// brokenRows are leftovers of old releases: three providers, two of them without a root, and 60
// consumers without a record.
func brokenRows() map[string][]string {
	rows := map[string][]string{
		"resource_classes": {`[null,null,0,"VCPU"]`},
		"resource_providers": {
			`[null,null,1,"p1","one",0,null,null]`, `[null,null,2,"p2","two",0,2,null]`,
			`[null,null,3,"p3","three",0,null,null]`,
		},
		"inventories": {`[null,null,1,1,0,100,0,1,100,1,1]`},
	}
	for i := 1; i <= 60; i++ {
		rows["allocations"] = append(rows["allocations"], fmt.Sprintf(`[null,null,%d,1,"c%02d",0,1]`, i, i))
	}
	return rows
}

// restored creates a database from rows and returns its URL.
func restored(t *testing.T, url string, rows map[string][]string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(file, []byte(dumpText(rows)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := berth(t, "db", "restore", "--connection", url, "--input", file); code != cli.ExitOK {
		t.Fatalf("berth db restore exits with %d: %s", code, stderr)
	}
	return url
}

func newDatabaseFile(t *testing.T) string {
	return "sqlite:///" + filepath.Join(t.TempDir(), "placement.db")
}

// piped runs a command line in a separate process, with a pipe as its input.
func piped(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asBerth+"=1", "HOME="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &log
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), log.String()
}

func TestDBCommandLines(t *testing.T) {
	empty := map[string][]string{}
	good := restored(t, newDatabaseFile(t), empty)
	broken := restored(t, newDatabaseFile(t), brokenRows())
	settings := settings(t, "[placement_database]\nconnection = "+good)
	secret := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(secret, []byte(good+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inUse := restored(t, newDatabaseFile(t), empty)
	holder, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: strings.TrimPrefix(inUse, "sqlite:///")})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	nobody := "mysql+pymysql://u:s3cret@127.0.0.1:1/placement"
	missing, nothing := newDatabaseFile(t), newDatabaseFile(t)
	if err := os.WriteFile(strings.TrimPrefix(nothing, "sqlite:///"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]commandLine{
		"Help": {
			[]string{"db"}, cli.ExitOK, []string{"placement-manage db sync", "online-data-migrations", "uninstall"}, nil,
		},
		"VersionHelp": {
			[]string{"db", "version", "--help"}, cli.ExitOK, []string{"Examples:", "Exit codes:", "--connection"}, nil,
		},
		"UnknownCommand": {[]string{"db", "sail"}, cli.ExitUsage, nil, []string{`unknown command "sail"`}},
		"NoURL":          {[]string{"db", "version", "--connection", "pony"}, cli.ExitUsage, nil, []string{"connection"}},
		"NoURLFile": {
			[]string{"db", "version", "--connection", "@/nowhere"}, cli.ExitUsage, nil, []string{"/nowhere"},
		},
		"NoServer": {
			[]string{"db", "version", "--connection", nobody},
			cli.ExitDatabase, nil,
			[]string{"placement on 127.0.0.1:1", "connection refused"},
		},
		"InMemory": {
			[]string{"db", "version", "--connection", "sqlite://"}, cli.ExitDatabase, nil, []string{"in memory"},
		},
		"NoFile": {
			[]string{"db", "version", "--connection", missing},
			cli.ExitDatabase, nil,
			[]string{"file does not exist", "berth db sync"},
		},
		"Version": {
			[]string{"db", "version", "--connection", good},
			cli.ExitOK,
			[]string{"SQLite 3.", "422ece571366, Xena (6.0): the one that Berth makes"},
			nil,
		},
		"VersionOfFile": {
			[]string{"db", "version", "--connection", "@" + secret}, cli.ExitOK, []string{"422ece571366"}, nil,
		},
		"VersionOfConfig": {[]string{"db", "version", "--config", settings}, cli.ExitOK, []string{"422ece571366"}, nil},
		"UpstreamsOption": {[]string{"db", "version", "--config-file", settings}, cli.ExitOK, []string{"422ece571366"}, nil},
		"VersionFormat": {
			[]string{"db", "version", "--connection", good, "-f", "xml"},
			cli.ExitUsage, nil,
			[]string{`invalid argument "xml" for "-f, --format" flag: want table, json, yaml, csv or value`},
		},
		"SyncDone": {
			[]string{"db", "sync", "--connection", good},
			cli.ExitOK,
			[]string{"nothing to do: the tables are at revision 422ece571366"},
			nil,
		},
		"SyncDryRun": {
			[]string{"db", "sync", "--connection", missing, "--dry-run"},
			cli.ExitOK,
			[]string{"would do: revision b4ed3a175331, Stein (1.0)", "would do: revision 422ece571366, Xena (6.0)"},
			nil,
		},
		"SyncInUse": {
			[]string{"db", "sync", "--connection", inUse}, cli.ExitInUse, nil, []string{"it is in use by another berth"},
		},
		"CheckGood": {
			[]string{"db", "check", "--connection", good},
			cli.ExitOK,
			[]string{"| Check: Missing Root Provider IDs ", "| Result: Success "},
			nil,
		},
		"CheckInUse": {[]string{"db", "check", "--connection", inUse}, cli.ExitOK, []string{"| Result: Success "}, nil},
		"CheckBroken": {
			[]string{"db", "check", "--connection", broken},
			cli.ExitFindings,
			[]string{"| Result: Failure ", "| Result: Warning ", "online-data-migrations"},
			[]string{"1 failed and 1 warn"},
		},
		"CheckFormat": {
			[]string{"db", "check", "--connection", good, "-f", "yaml"},
			cli.ExitOK,
			[]string{"  - check: Missing Root Provider IDs\n    result: 0\n    details: null\n"},
			nil,
		},
		"MigrateBadCount": {
			[]string{"db", "online-data-migrations", "--connection", broken, "--max-count", "0"},
			cli.ExitUsage, nil,
			[]string{"--max-count 0: it must be a positive number"},
		},
		"MigrateNoCount": {
			[]string{"db", "online_data_migrations", "--connection", broken, "--max-count", "x"},
			cli.ExitUsage, nil,
			[]string{"--max-count x"},
		},
		"MigrateEmpty": {
			[]string{"db", "online-data-migrations", "--connection", nothing},
			cli.ExitDatabase, nil,
			[]string{"it is empty", "berth db sync"},
		},
		"DumpEmpty": {[]string{"db", "dump", "--connection", nothing}, cli.ExitDatabase, nil, []string{"it is empty"}},
		"MigrateInUse": {
			[]string{"db", "online-data-migrations", "--connection", inUse}, cli.ExitInUse, nil, []string{"it is in use"},
		},
		"DumpInUse": {
			[]string{"db", "dump", "--connection", inUse},
			cli.ExitOK,
			[]string{`{"format":"berth placement dump"`, `"sha256":`},
			[]string{"dumped"},
		},
		"DumpNowhere": {
			[]string{"db", "dump", "--connection", good, "--output", "/nowhere/dump"},
			cli.ExitFailure, nil,
			[]string{"/nowhere"},
		},
		"RestoreNoInput": {
			[]string{"db", "restore", "--connection", missing, "--input", "/nowhere"}, cli.ExitUsage, nil, []string{"/nowhere"},
		},
		"RestoreDamaged": {
			[]string{"db", "restore", "--connection", missing, "--input", secret},
			cli.ExitFailure, nil,
			[]string{"the dump is damaged: line 1"},
		},
		"CopyNothing": {[]string{"db", "copy", "--from", good}, cli.ExitUsage, nil, []string{"--from URL --to URL"}},
		"CopyToItself": {
			[]string{"db", "copy", "--from", good, "--to", good}, cli.ExitUsage, nil, []string{"the same database"},
		},
		"CopyInUse": {
			[]string{"db", "copy", "--from", inUse, "--to", missing}, cli.ExitInUse, nil, []string{"it is in use"},
		},
		"CopyDryRun": {
			[]string{"db", "copy", "--from", broken, "--to", missing, "--dry-run"},
			cli.ExitOK,
			[]string{"would copy 65 rows", "allocations                           60"},
			nil,
		},
		"CopyToFull": {
			[]string{"db", "copy", "--from", good, "--to", broken},
			cli.ExitFailure, nil,
			[]string{"it is not empty: its table resource_classes has rows"},
		},
		"CopyHidesSecrets": {
			[]string{"db", "copy", "--from", good, "--to", nobody}, cli.ExitDatabase, nil, []string{"connection refused"},
		},
		"UninstallNothing": {[]string{"db", "uninstall", "--connection", good}, cli.ExitOK, []string{"nothing to do"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.try(t)
			if remaining, _ := filepath.Glob(filepath.Dir(strings.TrimPrefix(missing, "sqlite:///")) +
				"/*"); len(remaining) > 0 {
				t.Errorf("there is %v now", remaining)
			}
		})
	}
}

func TestDBVersionAsJSON(t *testing.T) {
	url := restored(t, newDatabaseFile(t), nil)
	code, stdout, stderr := berth(t, "db", "version", "--connection", url, "-f", "json")
	var v struct {
		Revision, Standing, Target string
		BerthTables                int64 `json:"berth_tables"`
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != cli.ExitOK {
		t.Fatalf("berth db version exits with %d and prints %q: %v %s", code, stdout, err, stderr)
	}
	if v.Revision != migrations.Target || v.Standing != "current" || v.Target != migrations.Target || v.BerthTables != 0 {
		t.Errorf("berth db version prints %+v", v)
	}
}

func TestDBCheckAsJSON(t *testing.T) {
	url := restored(t, newDatabaseFile(t), brokenRows())
	code, stdout, _ := berth(t, "db", "check", "--connection", url, "--json", "--nova-exit-codes")
	var all struct {
		Name   string
		Checks []struct {
			Check   string
			Result  int
			Details *string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || code != 2 {
		t.Fatalf("berth db check exits with %d and prints %q: %v", code, stdout, err)
	}
	if len(all.Checks) != 12 || all.Checks[0].Result != 2 || all.Checks[1].Result != 1 || all.Checks[2].Details != nil {
		t.Errorf("berth db check prints %s", stdout)
	}
}

func TestDBPolicyFileInJSON(t *testing.T) {
	url := restored(t, newDatabaseFile(t), nil)
	conf := settings(t, "[placement_database]\nconnection = "+url, "[oslo_policy]\npolicy_file = policy.json")
	policy := filepath.Join(filepath.Dir(conf), "policy.json")
	for text, code := range map[string]int{"{}": cli.ExitFindings, "admin: role:x\n": 0} {
		if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, stderr := berth(t, "db", "check", "--config", conf); got != code {
			t.Errorf("with the policies %q berth db check exits with %d, want %d: %s", text, got, code, stderr)
		}
	}
}

func TestDBDumpThroughPipes(t *testing.T) {
	url := restored(t, newDatabaseFile(t), brokenRows())
	code, text, stderr := piped(t, "", "db", "dump", "--connection", url)
	if code != cli.ExitOK || text != dumpText(brokenRows()) {
		t.Fatalf("berth db dump exits with %d: %s\n%s", code, stderr, text)
	}
	again := newDatabaseFile(t)
	if code, _, stderr := piped(t, text, "db", "restore", "--connection", again, "--dry-run"); code != cli.ExitOK {
		t.Fatalf("berth db restore --dry-run exits with %d: %s", code, stderr)
	}
	if code, stdout, stderr := piped(t, text, "db", "restore", "--connection", again); code != cli.ExitOK ||
		!strings.Contains(stdout, "restored") {
		t.Fatalf("berth db restore exits with %d: %s", code, stderr)
	}
	if code, _, stderr := piped(t, text, "db", "restore", "--connection", again); code != cli.ExitFailure ||
		!strings.Contains(stderr, "it is not empty") {
		t.Errorf("a second berth db restore exits with %d: %s", code, stderr)
	}
	if code, _, stderr := piped(t, text[:len(text)-10], "db", "restore", "--connection",
		newDatabaseFile(t)); code != cli.ExitFailure || !strings.Contains(
		stderr, "damaged") {
		t.Errorf("berth db restore of a part exits with %d: %s", code, stderr)
	}
}

// A dump that fails leaves the older one.
func TestDBDumpReplacesWhenItIsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump")
	good := restored(t, newDatabaseFile(t), brokenRows())
	if code, _, stderr := berth(t, "db", "dump", "--connection", good, "--output", file); code != cli.ExitOK {
		t.Fatalf("berth db dump exits with %d: %s", code, stderr)
	}
	if code, _, _ := berth(t, "db", "dump", "--connection", newDatabaseFile(t), "--output",
		file); code != cli.ExitDatabase {
		t.Errorf("berth db dump of nothing exits with %d", code)
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != dumpText(brokenRows()) {
		t.Errorf("the file is now %q, %v", text, err)
	}
	if remaining, _ := filepath.Glob(filepath.Dir(file) + "/.*"); slices.ContainsFunc(remaining, func(p string) bool {
		return strings.Contains(p, "dump")
	}) {
		t.Errorf("remaining next to it: %v", remaining)
	}
}

func TestDBMigrateAsJSON(t *testing.T) {
	url := restored(t, newDatabaseFile(t), brokenRows())
	code, stdout, _ := berth(t, "db", "online-data-migrations", "--connection", url, "-f", "json")
	const want = `{"migrations":[{"migration":"set_root_provider_ids","found":2,"completed":2},` +
		`{"migration":"create_incomplete_consumers","found":60,"completed":60}]}`
	var got bytes.Buffer
	if err := json.Compact(&got, []byte(stdout)); code != cli.ExitOK || err != nil ||
		strings.TrimSpace(got.String()) != want {
		t.Errorf("berth db online-data-migrations exits with %d and prints %s", code, stdout)
	}
}
