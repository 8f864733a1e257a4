package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// databases are the kinds that operators have.
var databases = []struct {
	name string
	url  func(*testing.T) string
}{
	{"SQLite", newDatabaseFile},
	{"MariaDB", func(t *testing.T) string { return dbtest.MariaDB(t).NewDatabase(t) }},
	{"PostgreSQL", func(t *testing.T) string { return dbtest.PostgreSQL(t).NewDatabase(t) }},
}

// onDatabases runs a test on each kind, in a sample on SQLite and one kind of server.
func onDatabases(t *testing.T, test func(t *testing.T, url func(*testing.T) string)) {
	t.Helper()
	for _, d := range append(databases[:1:1], sweep.Sample(t, databases[1:], 2)...) {
		t.Run(d.name, func(t *testing.T) {
			if testing.Short() && d.name != "SQLite" {
				t.Skip("needs a database server")
			}
			test(t, d.url)
		})
	}
}

// upstream runs a program of Debian's placement-api on a database.
func upstream(t *testing.T, url, program string, args ...string) (code int, stdout string) {
	t.Helper()
	path := "/usr/bin/" + program
	upstreamtest.Need(t, "placement-api python3-pymysql python3-psycopg2", path)
	conf := filepath.Join(t.TempDir(), "placement.conf")
	text := "[placement_database]\nconnection = " + strings.ReplaceAll(url, "$", "$$") + "\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, append([]string{"--config-file", conf}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	t.Logf("%s %v exits with %d\n%s%s", program, args, cmd.ProcessState.ExitCode(), out.String(), log.String())
	return cmd.ProcessState.ExitCode(), out.String()
}

var checkResult = regexp.MustCompile(`Check: (.*?) *\|\n\| Result: (\w+)`)

// results lists upstream's checks in a table, and their results.
func results(table string) (all []string) {
	for _, m := range checkResult.FindAllStringSubmatch(table, 3) {
		all = append(all, m[1]+": "+m[2])
	}
	return all
}

// sameVerdict compares the checks of both on one database.
func sameVerdict(t *testing.T, url string) {
	t.Helper()
	code, stdout, stderr := berth(t, "db", "check", "--nova-exit-codes", "--connection", url)
	wantCode, want := upstream(t, url, "placement-status", "upgrade", "check")
	if code != wantCode {
		t.Errorf("berth db check exits with %d, upstream's with %d: %s", code, wantCode, stderr)
	}
	if diff := cmp.Diff(results(want), results(stdout)); diff != "" || len(results(want)) != 3 {
		t.Errorf("results (-upstream +berth):\n%s", diff)
	}
}

// sameMigrations runs those of both, each on one of two equal databases, and compares their output.
func sameMigrations(t *testing.T, ours, theirs string, args ...string) {
	t.Helper()
	code, stdout, _ := berth(t,
		append([]string{"db", "online_data_migrations", "--nova-exit-codes", "--connection", ours}, args...)...)
	wantCode, want := upstream(t, theirs, "placement-manage", append([]string{"db", "online_data_migrations"}, args...)...)
	if code != wantCode {
		t.Errorf("berth's migrations %v exit with %d, upstream's with %d", args, code, wantCode)
	}
	if diff := cmp.Diff(want, stdout); diff != "" && code != cli.NovaBadInput {
		t.Errorf("the output of the migrations %v (-upstream +berth):\n%s", args, diff)
	}
}

func TestUpstreamSaysTheSameOfBrokenRows(t *testing.T) {
	racetest.Skip(t)
	onDatabases(t, func(t *testing.T, url func(*testing.T) string) {
		ours, theirs := restored(t, url(t), brokenRows()), restored(t, url(t), brokenRows())
		sameVerdict(t, ours)
		if strings.HasPrefix(ours, "sqlite") { // which database it is does not matter here
			sameMigrations(t, ours, theirs, "--max-count", "zero")
			sameMigrations(t, ours, theirs, "--max-count", "2")
			sameVerdict(t, ours)
		}
		sameMigrations(t, ours, theirs, "--max-count", "7")
		sameMigrations(t, ours, theirs)
		sameVerdict(t, ours)
		if diff := cmp.Diff(essence(t, theirs), essence(t, ours)); diff != "" {
			t.Errorf("rows afterwards (-upstream +berth):\n%s", diff)
		}
	})
}

// essence is a dump without the values that differ between runs: times, and ids of consumers, which
// are assigned in any order.
func essence(t *testing.T, url string) string {
	t.Helper()
	code, text, stderr := berth(t, "db", "dump", "--connection", url)
	if code != cli.ExitOK {
		t.Fatalf("berth db dump exits with %d: %s", code, stderr)
	}
	text, _, _ = strings.Cut(text, `{"counts"`)
	text = regexp.MustCompile(`(?m)^\[(null|"[-0-9: ]+"),(null|"[-0-9: ]+"),`).ReplaceAllString(text, "[")
	lines := strings.Split(regexp.MustCompile(`\[\d+,"(c\d+)"`).ReplaceAllString(text, `[c "$1"`), "\n")
	return strings.Join(sortedConsumers(lines), "\n")
}

// sortedConsumers sorts the lines of consumers where they are.
func sortedConsumers(lines []string) []string {
	var places []int
	var some []string
	for i, line := range lines {
		if strings.HasPrefix(line, "[c ") {
			places, some = append(places, i), append(some, line)
		}
	}
	slices.Sort(some)
	for i, line := range some {
		lines[places[i]] = line
	}
	return lines
}

// Upstream's tools treat databases that Berth created, left or filled as their own; and Berth
// recognises theirs.
func TestUpstreamsToolsAndBerthsWorkTogether(t *testing.T) {
	racetest.Skip(t)
	onDatabases(t, func(t *testing.T, url func(*testing.T) string) {
		theirs, made := url(t), url(t)
		upstream(t, theirs, "placement-manage", "db", "sync")
		_, stdout, _ := berth(t, "db", "version", "--connection", theirs)
		contains(t, "berth db version", stdout,
			[]string{"422ece571366, Xena (6.0): the one that Berth makes", "berth tables  none"})

		filled := restored(t, newDatabaseFile(t), brokenRows())
		succeeds(t, "copied and compared: 65 rows", "db", "copy", "--from", filled, "--to", theirs)
		succeeds(t, "create_incomplete_consumers", "db", "online-data-migrations", "--connection", theirs)
		sameVerdict(t, theirs)

		succeeds(t, "done: revision 422ece571366", "db", "sync", "--connection", made)
		succeeds(t, "", "db", "uninstall", "--yes", "--connection", made)
		if _, version := upstream(t, made, "placement-manage", "db",
			"version"); strings.TrimSpace(version) != "422ece571366" {
			t.Errorf("placement-manage db version prints %q", version)
		}
	})
}

func succeeds(t *testing.T, prints string, args ...string) {
	t.Helper()
	code, stdout, stderr := berth(t, args...)
	if code != cli.ExitOK || !strings.Contains(stdout, prints) {
		t.Fatalf("berth %v exits with %d: %s%s", args, code, stdout, stderr)
	}
}

func TestDBUninstallRequestsConfirmation(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a database server")
	}
	url := databases[1].url(t)
	berth(t, "db", "sync", "--connection", url)
	code, stdout, stderr := piped(t, "y\n", "db", "uninstall", "--connection", url)
	if code != cli.ExitUsage || !strings.Contains(stderr, "confirm with --yes") ||
		!strings.Contains(stdout, "berth_changes") {
		t.Errorf("berth db uninstall without a terminal exits with %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := piped(t, "", "db", "uninstall", "--yes", "--connection", url); code != cli.ExitOK ||
		!strings.Contains(stdout, "done") {
		t.Errorf("berth db uninstall --yes exits with %d: %s%s", code, stdout, stderr)
	}
	if _, stdout, _ := piped(t, "", "db", "uninstall", "--connection", url); !strings.Contains(stdout, "nothing to do") {
		t.Errorf("once more it prints %s", stdout)
	}
}
