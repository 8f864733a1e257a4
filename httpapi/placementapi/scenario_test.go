package placementapi_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/placement/service"
)

// testTime is when everything in these tests happens.
var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newAPI returns the API on a new store in memory, with the routes, the policy
// and the error codes of the program, and with what the options add.
func newAPI(t testing.TB, options ...func(*httpapi.Config)) http.Handler {
	t.Helper()
	settings := service.DefaultSettings()
	settings.Now = func() time.Time { return testTime }
	return placementapitest.New(t, settings, options...)
}

// TestScenarios plays the dialogues of testdata/scenarios, each against a new
// service.
func TestScenarios(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			server := httptest.NewServer(newAPI(t))
			defer server.Close()
			golden.Compare(t, path, readDialogue(t, path).play(t, server.URL))
		})
	}
}

func scenarioFiles(t testing.TB) []string {
	t.Helper()
	return golden.Files(t, "testdata/scenarios/*.txt")
}
