package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement/service"
)

// servedPlacement serves a placement service that requests have been sent to, and returns the
// variables that name it. Meanwhile sees each request that changes something; it may be nil.
func servedPlacement(t *testing.T, meanwhile func(), requests ...string) map[string]string {
	t.Helper()
	api := placementapitest.New(t, service.DefaultSettings())
	for _, line := range requests {
		method, rest, _ := strings.Cut(line, " ")
		path, body, _ := strings.Cut(rest, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Auth-Token", "admin")
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code > 299 {
			t.Fatalf("%s = %d %s", line, w.Code, w.Body)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && meanwhile != nil {
			meanwhile()
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return map[string]string{"OS_AUTH_TYPE": "admin_token", "OS_ENDPOINT": s.URL, "OS_TOKEN": "admin", "HOME": t.TempDir()}
}

// The requests that make a provider like that of sampleRecords, but for its traits.
var otherTraits = []string{
	`POST /resource_providers {"uuid": "00000000-0000-4000-8000-000000000001", "name": "cn1"}`,
	`PUT /resource_providers/00000000-0000-4000-8000-000000000001/traits {"resource_provider_generation": 0, "traits": ` +
		`["HW_CPU_X86_AVX"]}`,
}

// A file is imported into an empty service: first as a dry run, then with its requests, then there
// is nothing to do, and no difference.
func TestImport(t *testing.T) {
	empty, file := servedPlacement(t, nil), sampleRecords(t, 2)
	for _, tc := range []struct {
		args         string
		code         int
		stdout, says string
	}{
		{"import FILE", cli.ExitFindings, `to create in the placement service at URL: 0 resource classes, 0 traits, 1 provider, 1 consumer
        1 request: providers at depth 0
        1 request: inventories
        1 request: traits
        1 request: allocations
`, "nothing was changed: --apply creates these"},
		{"import FILE -f value -c method -c path", cli.ExitFindings, `POST /resource_providers
PUT /resource_providers/00000000-0000-4000-8000-000000000001/inventories
PUT /resource_providers/00000000-0000-4000-8000-000000000001/traits
PUT /allocations/00000000-0000-4000-8000-0000000000c1
`, ""},
		{"import FILE --apply", cli.ExitUsage, "", "confirm with --yes"},
		{
			"diff FILE -f value -c change -c what", cli.ExitFindings,
			"removed provider\nremoved inventory\nremoved trait\nremoved allocation\n", "",
		},
		{"import FILE --apply --yes -c price", cli.ExitUsage, "", `there is no column "price"`},
		{
			"import FILE --apply --yes", cli.ExitOK,
			"created in the placement service at URL: 0 resource classes, 0 traits, 1 provider, 1 consumer\n", "4 requests in ",
		},
		{"diff FILE", cli.ExitOK, "no differences\n", ""},
		{"import FILE", cli.ExitOK, "nothing to create in the placement service at URL\n", ""},
		{"import FILE --apply -f value", cli.ExitOK, "", ""},
		{
			"import " + sampleRecords(t, 3), cli.ExitFailure, "",
			"it has 0 providers and 0 consumers that the file lacks, and 1 record of the file could not be written",
		},
		{"import FILE --from-file x", cli.ExitUsage, "", "unknown flag: --from-file"},
		{"import", cli.ExitUsage, "", "want one argument"},
		{"import FILE --column x", cli.ExitUsage, "", `there is no column "x"`},
	} {
		args := strings.Fields(strings.ReplaceAll(tc.args, "FILE", file))
		code, stdout, stderr := berthIn(t, "", empty, append([]string{"records"}, args...)...)
		want := strings.ReplaceAll(tc.stdout, "URL", empty["OS_ENDPOINT"])
		if diff := cmp.Diff(want, stdout); diff != "" || code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("berth placement %s exits with %d, want %d; standard error:\n%s\nstandard output (-want +got):\n%s",
				tc.args, code, tc.code, stderr, diff)
		}
	}
}

// Into a service that is not empty a file is imported with --merge only, and what differs stays.
func TestImportMerges(t *testing.T) {
	used, file := servedPlacement(t, nil, append([]string{`POST /resource_providers {"name": "cn0"}`}, otherTraits...)...),
		sampleRecords(t, 2)
	const conflict = "  skipped: traits cn1 (00000000-0000-4000-8000-000000000001): the service has HW_CPU_X86_AVX, and " +
		"the file HW_CPU_X86_VMX\n"
	run := func(code int, stdout, says string, args ...string) {
		t.Helper()
		got, out, stderr := berthIn(t, "", used, append([]string{"records", "import", file}, args...)...)
		want := strings.ReplaceAll(stdout, "URL", used["OS_ENDPOINT"])
		if diff := cmp.Diff(want, out); diff != "" || got != code || !strings.Contains(stderr, says) {
			t.Errorf("%q: exit code %d, want %d; standard error:\n%s\nstandard output (-want +got):\n%s", args, got, code,
				stderr, diff)
		}
	}
	run(cli.ExitFailure, "",
		"it has 1 provider and 0 consumers that the file lacks, and 1 record of the file could not be written", "--apply",
		"--yes")
	run(cli.ExitFindings,
		"created in the placement service at URL: 0 resource classes, 0 traits, 0 providers, 1 consumer\n"+conflict,
		"skipped: 1 record", "--merge", "--apply", "--yes")
	run(cli.ExitFindings, "nothing to create in the placement service at URL\n"+conflict, "skipped: 1 record", "--merge",
		"--apply", "--yes")
}

// An import that is interrupted says so, and the same command goes on.
func TestImportGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var requests atomic.Int64
	empty := servedPlacement(t, func() {
		if requests.Add(1) == 2 {
			cancel()
		}
	})
	file := sampleRecords(t, 2)
	var out, complaints strings.Builder
	env := cli.Env{Stdout: &out, Stderr: &complaints, Environ: environOf(empty)}
	code := run(ctx, []string{"records", "import", file, "--apply", "--yes"}, env)
	if says := complaints.String(); code != cli.ExitFailure ||
		!strings.Contains(says, "interrupted; 2 of 4 requests were answered: the same command continues") {
		t.Errorf("it exits with %d, and says:\n%s", code, says)
	}
	for _, args := range [][]string{{"import", file, "--apply", "--yes"}, {"diff", file}} {
		if code, stdout, stderr := berthIn(t, "", empty, append([]string{"records"}, args...)...); code != cli.ExitOK {
			t.Errorf("%q exits with %d:\n%s%s", args, code, stdout, stderr)
		}
	}
	if n := requests.Load(); n != 4 {
		t.Errorf("both together have sent %d requests, want 4", n)
	}
}

// A file that does not agree with itself is refused, and nothing is written.
func TestImportRefuses(t *testing.T) {
	empty := servedPlacement(t, func() { t.Error("something is written") })
	c := readRecords(t, sampleRecords(t, 2))
	c.Placement.Providers[0].Usages["VCPU"] = 5
	c.Placement.Providers[0].Parent = "00000000-0000-4000-8000-000000000009"
	path := filepath.Join(t.TempDir(), "wrong.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := cloud.Write(f, c); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := berthIn(t, "", empty, "records", "import", path, "--apply", "--yes", "--merge")
	if code != cli.ExitFailure || stdout != "" {
		t.Errorf("it exits with %d, and prints %s", code, stdout)
	}
	contains(t, "standard error", stderr, []string{
		"does not agree with itself, and nothing was written",
		"provider 00000000-0000-4000-8000-000000000001 has the parent 00000000-0000-4000-8000-000000000009, which is not " +
			"there",
		"has 5 of VCPU in use, and consumers have 2 of it",
	})
}
