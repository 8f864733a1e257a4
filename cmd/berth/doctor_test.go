package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/ops/doctor"
)

// doctorFile is a file of records with which checks have failed: its agents report no bandwidth.
func doctorFile(t *testing.T) string { return recordsFile(t, leaking()) }

func TestDoctor(t *testing.T) {
	file := doctorFile(t)
	dir := t.TempDir()
	settings, policy, same := filepath.Join(dir, "nova.conf"), filepath.Join(dir, "policy.yaml"),
		filepath.Join(dir, "policy.json")
	rewrite(t, settings, "[DEFAULT]\ncpu_allocation_ratio = 16\n")
	rewrite(t, policy, "placement:usages: role:reader\n")
	rewrite(t, same, `{"placement:usages": "role:admin"}`)
	for _, tc := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{
			[]string{"--from-file", file},
			cli.ExitFindings, "  failed   agents-alive           there is no agent",
			"checks 2 failed",
		},
		{[]string{"--from-file", file}, cli.ExitFindings, "  unknown  login, catalog, endpoints, ", ""},
		{
			[]string{"--from-file", file, "--check", "compute-services"},
			cli.ExitOK, "1 ok, 0 warn, 0 failed, 0 unknown\n",
			"read 1 provider",
		},
		{
			[]string{
				"--from-file", file, "--check", "agents-alive,compute-services", "-f", "value", "-c", "check", "-c", "result",
			},
			cli.ExitFindings, "agents-alive failed\ncompute-services ok\n", "of 2 checks 1 failed",
		},
		{
			[]string{"--from-file", file, "--check", "compute-services", "--host", "cn2"},
			cli.ExitFailure, "",
			`no agent, compute service, hypervisor or provider is on a host called "cn2"`,
		},
		{
			[]string{"--from-file", file, "--check", "server-scheduled", "--server", "server0"},
			cli.ExitOK,
			"it is on cn1, ACTIVE", "",
		},
		{
			[]string{"--from-file", file, "--server", "server1"},
			cli.ExitFailure, "",
			`there is no server with the name or UUID "server1"`,
		},
		{
			[]string{"--from-file", file, "--server", "server0", "--port", "a"},
			cli.ExitUsage, "",
			"--port looks the port up in the cloud's APIs",
		},
		{[]string{"--from-file", file, "--port", "a"}, cli.ExitUsage, "", "--port is about a server, and wants --server"},
		{
			[]string{"--from-file", file, "--check", "settings-ratios", "--settings", settings, "--host", "cn1"},
			cli.ExitFindings, "cpu_allocation_ratio = 16, and placement the ratio 4 of VCPU of cn1", "",
		},
		{
			[]string{"--from-file", file, "--check", "settings-ratios", "--settings", settings},
			cli.ExitOK,
			"There is no hypervisor on the host", "",
		},
		{[]string{"--from-file", file, "--settings", settings + ".gone"}, cli.ExitUsage, "", "no such file"},
		{
			[]string{"--from-file", file, "--check", "policy-files", "--policy-file", policy},
			cli.ExitOK,
			`placement:usages is "role:reader", by default`, "",
		},
		{
			[]string{"--from-file", file, "--check", "policy-files", "--policy-file", policy, "--policy-file", same},
			cli.ExitFindings, `placement:usages is "role:reader" in`, "",
		},
		{
			[]string{"--from-file", file, "--check", "policy-files", "--policy-file", policy + ".gone"},
			cli.ExitFindings,
			"no such file", "",
		},
		{
			[]string{"--from-file", file, "--check", "fever"},
			cli.ExitUsage, "",
			`there is no check "fever"; berth doctor --list lists them`,
		},
		{[]string{"--from-file", file, "--connection", "sqlite:////nowhere"}, cli.ExitUsage, "", "exclude each other"},
		{[]string{"--from-file", file + ".gone"}, cli.ExitFailure, "", "no such file"},
		{nil, cli.ExitUsage, "", "--os-cloud NAME"},
		{[]string{"--list", "-f", "value", "-c", "check"}, cli.ExitOK, "login\ncatalog\n", ""},
	} {
		code, stdout, stderr := berth(t, append([]string{"doctor"}, tc.args...)...)
		if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
			t.Errorf("berth doctor %q exits with %d, want %d, and prints:\n%s%s", tc.args, code, tc.code, stdout, stderr)
		}
	}
}

// With berth up all checks are ok, of its APIs and of its database, and those of a server with a
// guaranteed port. A cloud that cannot be reached is the first check that has failed.
func TestDoctorOfUp(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer u.stop()
	_, _, net0 := u.guaranteed()
	named := map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml"), "OS_CLOUD": "berth-admin"}
	database := "sqlite:///" + filepath.Join(dir, "placement.db")
	code, stdout, stderr := berthIn(t, "", named, "doctor", "--server", "server0", "--connection", database)
	if code != cli.ExitOK || !strings.HasSuffix(stdout, " ok, 0 warn, 0 failed, 0 unknown\n") ||
		strings.Contains(stderr, "note:") {
		t.Errorf("berth doctor exits with %d:\n%s%s", code, stdout, stderr)
	}

	// A server that requests more than there is.
	huge := u.made(u.network+"/qos/policies", "policy", map[string]any{"name": "huge"})
	u.made(u.network+"/qos/policies/"+huge+"/minimum_bandwidth_rules", "minimum_bandwidth_rule", map[string]any{
		"min_kbps": 2_000_000_000, "direction": "egress",
	})
	port := u.made(u.network+"/ports", "port", map[string]any{"name": "port1", "network_id": net0, "qos_policy_id": huge})
	u.made(u.compute+"/servers", "server", map[string]any{
		"name": "server1", "flavorRef": "c1", "imageRef": upImage, "networks": []map[string]any{{"port": port}},
	})
	u.await(map[string]int{"ACTIVE": 1, "ERROR": 1})
	code, stdout, stderr = berthIn(t, "", named, "doctor", "--server", "server1", "--port", "port1", "-f", "value", "-c",
		"check", "-c", "result")
	if code != cli.ExitFindings ||
		!strings.Contains(stdout, "server-scheduled failed\nserver-candidates failed\nserver-ports ok\n") {
		t.Errorf("of a server without a host it exits with %d:\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = berthIn(t, "", named, "doctor", "--server", "server1", "--port", "port2")
	if code != cli.ExitFailure || !strings.Contains(stderr, `there is no port with the id or name "port2"`) {
		t.Errorf("of a port that is not there it exits with %d:\n%s%s", code, stdout, stderr)
	}

	// The commands are for a cloud that the client knows by a variable.
	code, stdout, stderr = berthIn(t, "", map[string]string{"OS_CLIENT_CONFIG_FILE": named["OS_CLIENT_CONFIG_FILE"]},
		"doctor", "--os-cloud", "berth-admin", "--check", "failed-servers")
	if code != cli.ExitOK || !strings.HasSuffix(stdout,
		"0 ok, 1 warn, 0 failed, 0 unknown\nThe commands take the cloud of OS_CLOUD: export OS_CLOUD=berth-admin\n") {
		t.Errorf("with the name of a cloud it exits with %d:\n%s%s", code, stdout, stderr)
	}

	// Who may read nothing.
	named["OS_CLOUD"] = "berth-demo"
	code, stdout, stderr = berthIn(t, "", named, "doctor")
	if code != cli.ExitOK || !strings.Contains(stdout, "  warning  token-roles ") ||
		!strings.Contains(stdout, "  unknown  records-read           The records of the placement service were not read. "+
			"The placement service answers GET") {
		t.Errorf("for a member it exits with %d:\n%s%s", code, stdout, stderr)
	}
	// A cloud that is not there, and a database that is not.
	deleted := map[string]string{
		"OS_AUTH_URL": "http://127.0.0.1:1/v3", "OS_USERNAME": "a", "OS_PASSWORD": "hidden-word", "OS_PROJECT_NAME": "c",
	}
	code, stdout, stderr = berthIn(t, "", deleted, "doctor", "--connection", "sqlite:////nowhere/placement.db")
	if code != cli.ExitFindings || !strings.HasPrefix(stdout, doctor.Checks()[0].Group+"\n  failed   login ") ||
		!strings.Contains(stdout, "next   curl -sS -i -m 20 http://127.0.0.1:1/v3") ||
		!strings.Contains(stdout, "  failed   database-schema ") || strings.Contains(stdout, "  unknown  ") ||
		!strings.Contains(stdout, "\nWithout a token nothing is read: ") || strings.Contains(stdout+stderr, "hidden-word") {
		t.Errorf("without a cloud it exits with %d:\n%s%s", code, stdout, stderr)
	}
}

// A database that is a replica is looked at, and is a failed check; without the right to see what
// it follows the statement that gives it is printed.
func TestDoctorOfReplica(t *testing.T) {
	if os.Getenv("BERTH_TEST_NO_DATABASES") != "" {
		t.Skip("BERTH_TEST_NO_DATABASES is set")
	}
	primary, replica := dbtest.NewReplica(t, dbtest.Fast())
	d := primary.CreateDatabase(t)
	if code, _, stderr := berth(t, "db", "sync", "--connection", d.URL(primary.Address())); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	look := func(s *dbtest.Server, code int, wants ...string) (stdout string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			got, stdout, stderr := berth(t, "doctor", "--connection", d.URL(s.Address()), "--check",
				"database-schema,database-replicas,records-read")
			if !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(stdout, want) }) && got == code {
				return stdout
			}
			if time.Now().After(end) { // the replica does not follow at once
				t.Fatalf("of %s it exits with %d, want %d and %q:\n%s%s", s.Address(), got, code, wants, stdout, stderr)
			}
		}
	}
	look(primary, cli.ExitOK, "  ok       database-replicas      1 replica connected to the server; ")
	out := look(replica, cli.ExitFindings, "  ok       database-schema ",
		"takes no writes: it is a standby, or was made read-only", "is not shown to the user of the database")
	_, grant, _ := strings.Cut(out, "this lets it: ")
	grant, _, _ = strings.Cut(grant, "\n")
	primary.Exec(t, grant)
	look(replica, cli.ExitFindings, "takes no writes: it follows "+primary.Address()+", which placement has to use",
		"the server follows "+primary.Address()+", 0 s behind")
	replica.Exec(t, "STOP SLAVE SQL_THREAD", "SET GLOBAL read_only = 0")
	look(replica, cli.ExitOK, "  warning  database-replicas      the server does not apply what it receives of ",
		"next   mysql -e 'SHOW ALL REPLICAS STATUS\\G'", "takes writes, and follows "+primary.Address())
}

// The policy file of placement's settings is found.
func TestDoctorFindsThePolicyFile(t *testing.T) {
	dir := t.TempDir()
	rewrite(t, filepath.Join(dir, "placement.conf"),
		"[placement_database]\nconnection = sqlite:///"+filepath.Join(dir, "none.db")+"\n")
	rewrite(t, filepath.Join(dir, "policy.yaml"), "placement:usages: role:reader\n")
	code, stdout, stderr := berth(t, "doctor", "--from-file", doctorFile(t), "--config",
		filepath.Join(dir, "placement.conf"))
	if code != cli.ExitUsage || !strings.Contains(stderr, "exclude each other") {
		t.Errorf("with a file and a database it exits with %d:\n%s%s", code, stdout, stderr)
	}
	named := map[string]string{
		"OS_AUTH_URL": "http://127.0.0.1:1/v3", "OS_USERNAME": "a", "OS_PASSWORD": "b", "OS_PROJECT_NAME": "c",
	}
	code, stdout, stderr = berthIn(t, "", named, "doctor", "--config", filepath.Join(dir, "placement.conf"), "--check",
		"policy-files")
	if code != cli.ExitOK ||
		!strings.Contains(stdout, filepath.Join(dir, "policy.yaml")+": 1 rule, different from the default: 1") {
		t.Errorf("it exits with %d:\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("it has made a database")
	}
}

// The page has the table of checks.
func TestDoctorDocument(t *testing.T) {
	_, page, _ := strings.Cut(documents(t)["docs/operations/doctor.md"], "\n## Checks\n")
	rows := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `") {
			rows++
		}
	}
	for _, c := range doctor.Checks() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.Examines, c.Means); !strings.Contains(page, row) {
			t.Errorf("docs/operations/doctor.md lacks\n%s", row)
		}
	}
	if rows != len(doctor.Checks()) {
		t.Errorf("docs/operations/doctor.md has %d checks, want %d", rows, len(doctor.Checks()))
	}
}
