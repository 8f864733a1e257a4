package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// unpack returns the files of a bundle, whose modes must be 0600.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("%s has the mode %v: %v", path, info.Mode(), err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(head.Name, "berth-doctor/")
		if !ok || head.Mode != 0o600 {
			t.Errorf("%s has the mode %o", head.Name, head.Mode)
		}
		files[name] = string(text)
	}
}

func keysOfTexts(texts map[string]string) (names []string) {
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// No secret that a caller has, or that is in a file or a record, is in a bundle of a running cloud,
// and nothing else of the machine. What is in it can be examined again.
func TestDoctorBundle(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer u.stop()
	placement, nova, policy := filepath.Join(dir, "placement.conf"), filepath.Join(dir, "nova.conf"),
		filepath.Join(dir, "policy.yaml")
	extra := filepath.Join(dir, "extra")
	if err := os.Mkdir(extra, 0o700); err != nil {
		t.Fatal(err)
	}
	rewrite(t, placement,
		"[placement_database]\nconnection = postgresql://placement:PLANTED-0@127.0.0.1:1/placement?password=PLANTED-1\n"+
			"[keystone_authtoken]\npassword = PLANTED-2\n# password = PLANTED-3\n")
	rewrite(t, filepath.Join(extra, "10.conf"), "[keystone_authtoken]\nmemcache_secret_key = PLANTED-4\n")
	rewrite(t, nova, "[DEFAULT]\nhost = cn1\ntransport_url = rabbit://nova:PLANTED-5@mq1,nova:PLANTED-6@mq2/\n"+
		"PLANTED-7\n[neutron]\nmetadata_proxy_shared_secret = PLANTED-8\nlogfile = /var/PLANTED-8\n")
	rewrite(t, policy, "placement:usages: http://u:PLANTED-9@policy.test/check\n")
	clouds, err := os.ReadFile(filepath.Join(dir, "clouds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var passwords []string // those of clouds.yaml
	for line := range strings.Lines(string(clouds)) {
		if _, password, ok := strings.Cut(line, "password: "); ok {
			passwords = append(passwords, strings.Trim(strings.TrimSpace(password), `"'`))
		}
	}
	if len(passwords) == 0 {
		t.Fatal("clouds.yaml has no password")
	}
	named := map[string]string{
		"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml"), "OS_CLOUD": "berth-admin",
		"OS_ACCESS_TOKEN": "PLANTED-10", "SECRET_OF_THE_MACHINE": "PLANTED-11",
	}
	bundle := filepath.Join(dir, "report.tar.gz")
	args := []string{
		"doctor", "--bundle", bundle, "--config", placement, "--config-dir", extra, "--settings", nova, "--policy-file",
		policy, "--host", upHostName,
	}
	code, stdout, stderr := berthIn(t, "", named, args...)
	if code != cli.ExitFindings || !strings.Contains(stdout, "  failed   database-schema ") ||
		!strings.Contains(stderr, "wrote "+bundle+", for a bug report") {
		t.Errorf("it exits with %d:\n%s%s", code, stdout, stderr)
	}
	files := unpack(t, bundle)
	want := []string{
		"README.txt", "records.json", "results.json", "results.txt", "settings/10.conf", "settings/nova.conf",
		"settings/placement.conf", "versions.json",
	}
	if diff := cmp.Diff(want, keysOfTexts(files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, text := range files {
		for _, secret := range append(passwords, "PLANTED") {
			if strings.Contains(text, secret) {
				t.Errorf("%s has a secret, %q:\n%s", name, secret, text)
			}
		}
		if !strings.Contains(stderr, "  "+name+" ") {
			t.Errorf("standard error does not name %s:\n%s", name, stderr)
		}
	}
	if strings.Contains(stdout+stderr, "PLANTED") {
		t.Errorf("a secret is printed:\n%s%s", stdout, stderr)
	}
	if files["results.txt"] != stdout || !strings.Contains(files["settings/nova.conf"], "host = cn1") ||
		!strings.Contains(files["versions.json"], `"placement_microversions"`) {
		t.Errorf("results.txt:\n%s\nnova.conf:\n%s\nversions.json:\n%s", files["results.txt"], files["settings/nova.conf"],
			files["versions.json"])
	}

	records := filepath.Join(dir, "records.json")
	rewrite(t, records, files["records.json"])
	code, again, stderr := berthIn(t, "", nil, "doctor", "--from-file", records, "--host", upHostName)
	if before, _, _ := strings.Cut(stdout, "Placement's database"); code != cli.ExitOK ||
		!strings.HasPrefix(again, strings.TrimSpace(before)) {
		t.Errorf("of the records in the bundle it exits with %d:\n%s%s\nwant\n%s", code, again, stderr, before)
	}
	code, stdout, stderr = berthIn(t, "", named, args...)
	if code != cli.ExitFailure || stdout != "" || !strings.Contains(stderr, "exists; a bundle replaces no file") {
		t.Errorf("over a file it exits with %d:\n%s%s", code, stdout, stderr)
	}
	code, _, stderr = berthIn(t, "", named, "doctor", "--bundle", filepath.Join(dir, "none", "report.tar.gz"))
	if code != cli.ExitFailure || !strings.Contains(stderr, "no such file or directory") {
		t.Errorf("in a directory that is not there it exits with %d:\n%s", code, stderr)
	}
}

// Names that users of the cloud have given are hidden, and what agents and aggregates have under
// the names of secrets.
func TestDoctorBundleHidesNames(t *testing.T) {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Aggregate("project-of-HIDDEN-1", "cn1")
	b.Compute.Aggregates[0].Metadata = map[string]string{
		"filter_tenant_id": cloudtest.Project, "admin_password": "PLANTED-1",
	}
	b.Server("HIDDEN-2", "cn1")
	b.Server("HIDDEN-3", "cn1")
	b.Plain("HIDDEN-4", "HIDDEN-2")
	c := b.Done()
	c.Network.Agents = append(c.Network.Agents, cloud.Agent{
		UUID: "a", Type: "Other agent", Configurations: map[string]any{
			"api_token": "PLANTED-2", "list": []any{map[string]any{"url": "http://u:PLANTED-3@h/"}},
		},
	})
	c.Network.Trunks = []cloud.Trunk{{
		UUID: "t", Name: "HIDDEN-5", Parent: cloud.TrunkPort{UUID: "p", Name: "HIDDEN-6"},
		Subports: []cloud.TrunkPort{{UUID: "s", Name: "HIDDEN-7"}},
	}}
	c.Compute.Groups = []cloud.ServerGroup{{
		UUID: "g", Name: "HIDDEN-8", Policy: "anti-affinity",
		Members: []string{c.Compute.Servers[0].UUID, c.Compute.Servers[1].UUID},
	}}
	file := recordsFile(t, c)
	bundle := filepath.Join(t.TempDir(), "report.tgz")
	code, stdout, stderr := berth(t, "doctor", "--from-file", file, "--bundle", bundle, "--hide-names", "--server",
		"HIDDEN-3")
	if code != cli.ExitFindings || !strings.Contains(stdout, "server-scheduled       it is on cn1, ACTIVE") {
		t.Errorf("it exits with %d:\n%s%s", code, stdout, stderr)
	}
	files := unpack(t, bundle)
	for name, text := range files {
		for _, hidden := range []string{"HIDDEN", "PLANTED", cloudtest.Project, cloudtest.User} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s has %q:\n%s", name, hidden, text)
			}
		}
	}
	if !strings.Contains(files["README.txt"], "are hashes with a key that was not kept") {
		t.Errorf("README.txt:\n%s", files["README.txt"])
	}
	// Projects that were equal are: audit finds no consumer of a wrong one.
	records := filepath.Join(t.TempDir(), "records.json")
	rewrite(t, records, files["records.json"])
	if code, stdout, stderr := berth(t, "audit", "--from-file", records, "--severity", "warning"); code != cli.ExitOK {
		t.Errorf("audit of the bundle exits with %d:\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := berth(t, "doctor", "--from-file", file, "--hide-names"); code != cli.ExitUsage ||
		!strings.Contains(stderr, "wants --bundle") {
		t.Errorf("without a bundle it exits with %d:\n%s", code, stderr)
	}
}
