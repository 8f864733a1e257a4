package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// recordsFile writes records to a file.
func recordsFile(t *testing.T, c *cloud.Cloud) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Write(f, c); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// leaking is a cloud with one finding: a server holds more than its flavor requests.
func leaking() *cloud.Cloud {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Server("server0", "cn1")
	b.Add(cloudtest.UUID("server server0"), cloudtest.UUID("host cn1"), map[string]int64{"MEMORY_MB": 1})
	return b.Done()
}

func TestAudit(t *testing.T) {
	file := recordsFile(t, leaking())
	healthy := cloudtest.New()
	healthy.Host("cn1", "")
	for _, tc := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--from-file", recordsFile(t, healthy.Done())}, cli.ExitOK, "no findings\n", "read 1 provider"},
		{
			[]string{"--from-file", file},
			cli.ExitFindings, "warning: flavor-amount-superfluous\n",
			"the services disagree: 1 finding\n",
		},
		{
			[]string{"--from-file", file, "-f", "value", "-c", "code", "-c", "found"},
			cli.ExitFindings,
			"flavor-amount-superfluous it has allocated MEMORY_MB 1025\n", "",
		},
		{[]string{"--from-file", file, "--severity", "error"}, cli.ExitOK, "no findings\n", ""},
		{[]string{"--from-file", file, "--code", "orphaned-allocation"}, cli.ExitOK, "no findings\n", ""},
		{[]string{"--from-file", file, "--server", "server0", "--host", "cn1"}, cli.ExitFindings, "about     server ", ""},
		{
			[]string{"--from-file", file, "--server", "server1"},
			cli.ExitUsage, "",
			`there is no server with the name or UUID "server1"`,
		},
		{
			[]string{"--from-file", file, "--port", "port0"},
			cli.ExitUsage, "",
			`there is no port of a server with the name or UUID "port0"`,
		},
		{
			[]string{"--from-file", file, "--host", "CN1", "--host", "cn9"},
			cli.ExitUsage, "",
			`there is no host with the name "cn9"`,
		},
		{
			[]string{"--from-file", file, "--server", cloudtest.UUID("deleted")},
			cli.ExitOK, "no findings\n",
			"note: no record has the UUID " + cloudtest.UUID("deleted"),
		},
		{
			[]string{"--from-file", file, "--code", "orphan"},
			cli.ExitUsage, "",
			`there is no code "orphan"; berth audit --list lists them`,
		},
		{[]string{"--from-file", file, "--severity", "bad"}, cli.ExitUsage, "", "want error, warning or info"},
		{[]string{"--from-file", file, "-c", "price"}, cli.ExitUsage, "", `there is no column "price"`},
		{[]string{"--os-cloud", "prod", "--recheck", "1m"}, cli.ExitUsage, "", "1m: want --recheck=1m; without = it is 10s"},
		{[]string{"--from-file", file + ".missing"}, cli.ExitFailure, "", "no such file"},
		{[]string{"--codes", "-f", "value", "-c", "code"}, cli.ExitOK, "orphaned-allocation\n", ""},
	} {
		code, stdout, stderr := berth(t, append([]string{"audit"}, tc.args...)...)
		if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
			t.Errorf("berth audit %q exits with %d, want %d, and prints:\n%s%s", tc.args, code, tc.code, stdout, stderr)
		}
	}
	c := leaking()
	c.Network = nil
	if code, _, stderr := berth(t, "audit", "--from-file", recordsFile(t, c)); code != cli.ExitFindings ||
		!strings.Contains(stderr, "note: not checked everywhere: port-of-gone-server") {
		t.Errorf("without the network service it exits with %d:\n%s", code, stderr)
	}
	c = healthy.Done()
	for _, tc := range []struct {
		cut    func()
		code   int
		stdout string
	}{
		{func() {}, cli.ExitOK, "no findings\n"},
		{func() { c.Compute, c.Network = nil, nil }, cli.ExitFailure, "no findings in what could be checked\n"},
	} {
		tc.cut()
		if code, stdout, stderr := berth(t, "audit", "--complete", "--from-file", recordsFile(t, c)); code != tc.code ||
			stdout != tc.stdout {
			t.Errorf("berth audit --complete exits with %d, want %d, and prints:\n%s%s", code, tc.code, stdout, stderr)
		}
	}
}

// guaranteed starts a server, server0, with a port on a network with a subnet; the port guarantees
// bandwidth.
func (u *upRun) guaranteed() (server, port, network string) {
	u.t.Helper()
	network = u.made(u.network+"/networks", "network", map[string]any{
		"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 100,
	})
	u.made(u.network+"/subnets", "subnet", map[string]any{"network_id": network, "ip_version": 4, "cidr": "10.0.4.0/24"})
	gold := u.made(u.network+"/qos/policies", "policy", map[string]any{"name": "policy0"})
	u.made(u.network+"/qos/policies/"+gold+"/minimum_bandwidth_rules", "minimum_bandwidth_rule", map[string]any{
		"min_kbps": 1_000_000, "direction": "egress",
	})
	port = u.made(u.network+"/ports", "port", map[string]any{"network_id": network, "qos_policy_id": gold})
	server = u.made(u.compute+"/servers", "server", map[string]any{
		"name": "server0", "flavorRef": "c1", "imageRef": upImage, "networks": []map[string]any{{"port": port}},
	})
	u.await(map[string]int{"ACTIVE": 1})
	return server, port, network
}

// The services of berth up agree, with a server that has a guaranteed port.
func TestAuditOfUp(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer u.stop()
	u.guaranteed()
	named := map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml"), "OS_CLOUD": "berth-admin"}
	code, stdout, stderr := berthIn(t, "", named, "audit")
	if code != cli.ExitOK || stdout != "no findings\n" || strings.Contains(stderr, "note:") {
		t.Errorf("berth audit exits with %d:\n%s%s", code, stdout, stderr)
	}
}

// undoing is standard error of a command, and undoes what it is about to look at again.
type undoing struct {
	strings.Builder
	undo func()
}

func (u *undoing) Write(text []byte) (int, error) {
	if undo := u.undo; undo != nil && strings.Contains(string(text), "rechecking") {
		u.undo = nil
		undo()
	}
	return u.Builder.Write(text)
}

// A second look finds what is still there.
func TestAuditLooksAgain(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer u.stop()
	root := cloudtest.UUID("deleted")
	u.request("POST", u.url+"/resource_providers", map[string]any{"name": "deleted", "uuid": root}, nil)
	u.request("PUT", u.url+"/resource_providers/"+root+"/traits",
		map[string]any{"resource_provider_generation": 0, "traits": []string{"COMPUTE_NODE"}}, nil)
	look := func(undo func()) (code int, stdout, stderr string) {
		var out strings.Builder
		said := &undoing{undo: undo}
		named := map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml"), "OS_CLOUD": "berth-admin"}
		env := cli.Env{Stdout: &out, Stderr: said, Environ: environOf(named)}
		code = run(t.Context(), []string{"audit", "--recheck=1ms"}, env)
		return code, out.String(), said.String()
	}
	if code, stdout, stderr := look(nil); code != cli.ExitFindings || !strings.Contains(stdout, "provider-of-gone-host") ||
		!strings.Contains(stderr, "1 finding; rechecking in 1ms\n") {
		t.Errorf("berth audit --recheck exits with %d:\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr := look(func() { u.request("DELETE", u.url+"/resource_providers/"+root, nil, nil) })
	if code != cli.ExitOK || stdout != "no findings\n" || strings.Count(stderr, "read ") != 2 {
		t.Errorf("after the fault is removed berth audit --recheck exits with %d:\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := look(nil); code != cli.ExitOK || strings.Count(stderr, "read ") != 1 {
		t.Errorf("berth audit --recheck of a healthy cloud exits with %d:\n%s", code, stderr)
	}
}

// The page has the table of codes.
func TestAuditDocument(t *testing.T) {
	page := documents(t)["docs/operations/audit.md"]
	rows := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `") {
			rows++
		}
	}
	for _, k := range audit.Kinds() {
		if row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Code, k.Severity, k.Means, k.Repair); !strings.Contains(page,
			row) {
			t.Errorf("docs/operations/audit.md lacks\n%s", row)
		}
	}
	if rows != len(audit.Kinds()) {
		t.Errorf("docs/operations/audit.md has %d codes, want %d", rows, len(audit.Kinds()))
	}
}
