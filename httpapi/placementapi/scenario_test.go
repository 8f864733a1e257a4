package placementapi_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

var update = flag.Bool("update", false, "rewrite the scenarios with the answers of today")

// testTime is when everything in these tests happens.
var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newAPI returns the API on a new store in memory, with the routes, the policy
// and the error codes of the program, and with what the options add.
func newAPI(t testing.TB, options ...func(*httpapi.Config)) http.Handler {
	t.Helper()
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	settings := placement.DefaultSettings()
	settings.Now = func() time.Time { return testTime }
	service, err := placement.NewService(ctx, store, settings)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.New(policy.Options{
		Defaults: placementapi.PolicyDefaults(), EnforceScope: true, EnforceNewDefaults: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	api := &placementapi.API{Placement: service, Policy: rules, Now: settings.Now}
	c := httpapi.Config{
		Service: "placement", History: microversion.Placement, Routes: api.Routes(), Authenticate: httpapi.NoAuth,
		CodeSince: 23, UndefinedCode: placement.CodeUndefined, MaxBody: 1 << 20,
	}
	for _, option := range options {
		option(&c)
	}
	return httpapi.New(c)
}

// TestScenarios plays the dialogues of testdata/scenarios, each against a new
// service.
func TestScenarios(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			server := httptest.NewServer(newAPI(t))
			defer server.Close()
			d := readDialogue(t, path)
			got := d.play(t, server.URL)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(d.text, got); diff != "" {
				t.Errorf("%s (-file +answers):\n%s", path, diff)
			}
		})
	}
}

func scenarioFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	return files
}
