package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
)

// berthIn runs a command line with variables and standard input.
func berthIn(
	t *testing.T, stdin string, variables map[string]string, args ...string,
) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	env := cli.Env{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &err, Environ: environOf(variables), Version: currentVersion(),
	}
	ctx, cancel := context.WithTimeout(t.Context(), hangTime)
	defer cancel()
	root := newRoot(env)
	root.SetArgs(args)
	if failed := root.ExecuteContext(ctx); failed != nil {
		cli.PrintError(&err, failed)
		var ok bool
		if code, ok = cli.CodeOf(failed); !ok {
			code = cli.ExitUsage
		}
	}
	return code, out.String(), err.String()
}

// environOf returns variables as os.Environ does.
func environOf(variables map[string]string) (environ []string) {
	for name, value := range variables {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// readRecords reads a file of records.
func readRecords(t *testing.T, path string) *cloud.Cloud {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := cloud.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A running cloud is exported through its APIs, with clouds.yaml and with the variables of an
// openrc file, and placement's part from its database: the records are the same. The file is read
// again from its name and from standard input.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer u.stop()
	_, _, net0 := u.guaranteed()
	// it has no device, and is on no list but that of trunks
	line := u.made(u.network+"/ports", "port", map[string]any{"name": "line", "network_id": net0})
	u.made(u.network+"/trunks", "trunk", map[string]any{"name": "trunk0", "port_id": line})

	named := map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml")}
	file := filepath.Join(dir, "cloud.json")
	run := func(want int, says string, args ...string) (stdout string) {
		t.Helper()
		code, stdout, stderr := berthIn(t, "", named, args...)
		if code != want || !strings.Contains(stderr, says) {
			t.Errorf("berth %q exits with %d, want %d, and says:\n%s", args, code, want, stderr)
		}
		return stdout
	}
	run(cli.ExitOK, "read 7 providers, 1 consumer, 1 server, ", "records", "export", "--os-cloud", "berth-admin", "--all",
		file)
	run(cli.ExitFailure, "exists; --force replaces it", "records", "export", "--os-cloud", "berth-admin", file)
	run(cli.ExitFailure, "403 Forbidden", "records", "export", "--os-cloud", "berth-demo")
	run(cli.ExitFailure, "there is no cloud nobody; it has berth-admin, berth-demo", "records", "export", "--os-cloud",
		"nobody")
	c := readRecords(t, file)
	if n := c.Network; n == nil || len(n.Ports) != 1 || n.Ports[0].Allocation == nil || n.Ports[0].Request == nil ||
		len(n.Policies) == 0 || len(n.Agents) == 0 {
		t.Errorf("the network's records are %+v", n)
	}
	if s := c.Compute; s == nil || len(s.Servers) != 1 || s.Servers[0].Host != upHostName ||
		s.Servers[0].Flavor.Name != "cirros256" || len(s.Hypervisors) != 3 || len(s.Services) == 0 {
		t.Errorf("compute's records are %+v", s)
	}
	if n := c.Network.Trunks; len(n) != 1 || n[0].Name != "trunk0" ||
		n[0].Parent != (cloud.TrunkPort{UUID: line, Name: "line"}) {
		t.Errorf("the trunks are %+v", n)
	}
	if c.Unread != nil {
		t.Errorf("unread: %q", c.Unread)
	}

	run(cli.ExitOK, "from the database ", "records", "export", "--connection",
		"sqlite:///"+filepath.Join(dir, "placement.db"), "--force", file)
	fromDatabase := readRecords(t, file)
	if diff := cmp.Diff(c.Placement, fromDatabase.Placement); diff != "" {
		t.Errorf("records (-API +database):\n%s", diff)
	}
	again := run(cli.ExitOK, "read 7 providers, 1 consumer from "+file+" (the database ", "records", "export",
		"--from-file", file)
	run(cli.ExitFailure, "has no records of the network service", "records", "export", "--from-file", file, "--network")
	run(cli.ExitOK, "note: "+file, "records", "export", "--from-file", file, "--all", "--force", file)
	code, stdout, stderr := berthIn(t, again, nil, "records", "export", "--from-file", "-")
	if code != cli.ExitOK {
		t.Errorf("from standard input: %d\n%s", code, stderr)
	}
	last, err := cloud.Read(strings.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Placement, last.Placement); diff != "" {
		t.Errorf("records after three files (-want +got):\n%s", diff)
	}
}

// Sources exclude each other, and without any the error names all.
func TestCloudSourceMistakes(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		says []string
	}{
		{
			"", cli.ExitUsage,
			[]string{"--os-cloud NAME", "OS_AUTH_URL", "--config FILE", "--connection URL", "--from-file FILE"},
		},
		{"--os-cloud a --from-file b", cli.ExitUsage, []string{"exclude each other"}},
		{"--os-region-name a --connection sqlite:////nowhere", cli.ExitUsage, []string{"exclude each other"}},
		{"--config a --from-file b", cli.ExitUsage, []string{"exclude each other"}},
		{"--os-interface x", cli.ExitUsage, []string{"want public, internal or admin"}},
		{"--from-file /nowhere", cli.ExitFailure, []string{"/nowhere: no such file"}},
		{"--from-file /dev/null", cli.ExitFailure, []string{"/dev/null: not a file of a cloud's records"}},
		{"--connection sqlite:////nowhere/x.db", cli.ExitDatabase, []string{"/nowhere/x.db"}},
		{"--config /nowhere.conf", cli.ExitUsage, []string{"/nowhere.conf"}},
		{"a b", cli.ExitUsage, []string{"at most one argument"}},
	} {
		code, stdout, stderr := berthIn(t, "", nil, append([]string{"records", "export"}, strings.Fields(tc.args)...)...)
		if code != tc.code || stdout != "" {
			t.Errorf("berth records export %s exits with %d, want %d, and prints %q", tc.args, code, tc.code, stdout)
		}
		contains(t, "standard error of "+tc.args, stderr, tc.says)
	}
}
