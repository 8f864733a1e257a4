package migration

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
)

// The records of upstream's Placement, written by clients of many releases, are imported into
// another one and into Berth's, and then nothing is different. A provider is among them whose
// inventory became smaller than what is allocated of it.
func TestImport(t *testing.T) {
	t.Setenv("OS_AUTH_TYPE", "admin_token")
	t.Setenv("OS_TOKEN", "admin")
	berth := func(url string, want int, args ...string) string {
		t.Helper()
		t.Setenv("OS_ENDPOINT", url)
		code, out := server.Run(t, toolTime, server.Berth(t), append([]string{"records"}, args...)...)
		if code != want {
			t.Fatalf("berth placement %s ends with %d, want %d\n%s", strings.Join(args, " "), code, want, out)
		}
		return out
	}
	source := server.StartUpstream(t, server.Options{})
	w := newCloud(t, source.URL())
	w.fill()
	var provider struct{ Generation int64 }
	w.c.Read(t, "/resource_providers/"+numa(1, 1), &provider)
	w.put("1.26", "/resource_providers/"+numa(1, 1)+"/inventories", rest.Object{
		"resource_provider_generation": provider.Generation,
		"inventories":                  rest.Object{"VCPU": rest.Object{"total": 2, "max_unit": 4}},
	})
	file := filepath.Join(t.TempDir(), "cloud.json")
	berth(source.URL(), 0, "export", file)
	for name, start := range map[string]func(testing.TB, server.Options) *server.Server{
		"Upstream": server.StartUpstream, "Berth": server.StartBerth,
	} {
		t.Run(name, func(t *testing.T) {
			// Upstream's service does not do several writes at a time on SQLite.
			to := start(t, server.Options{Database: server.NewDatabase(t, server.MariaDB).Upstream}).URL()
			if out := berth(to, 6, "import", file); !strings.Contains(out, "1 request: capacities") {
				t.Errorf("no provider has more allocated than it has:\n%s", out)
			}
			berth(to, 6, "diff", file)
			berth(to, 0, "import", file, "--apply", "--yes")
			berth(to, 0, "diff", file)
			berth(to, 0, "import", file)
			again := filepath.Join(t.TempDir(), "again.json")
			berth(to, 0, "export", again)
			berth(to, 0, "diff", file, again)
		})
	}
}
