package documents

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// TestMigrationPage runs the commands of migration.md about the database, with MariaDB: upstream's
// data is checked and the migration rehearsed on a copy, Berth's tables are added and removed
// next to the running service, and a database on SQLite is moved to the server.
func TestMigrationPage(t *testing.T) {
	live := server.NewDatabase(t, server.MariaDB)
	upstream := server.StartUpstream(t, server.Options{Database: live.Upstream})
	provider := fill(t, upstream.URL())
	s := newShell(t, "migration.md", live.Berth)

	s.types("berth db version --config")
	s.types("berth db check --config")
	s.types("berth db dump --config")
	s.types("berth db restore --connection")
	rehearse(t, s, upstream.URL(), provider)

	s.types("berth db sync --connection")
	s.types("berth db uninstall --config", "--yes") // without a terminal there is no prompt

	s.types("berth db copy --from", "--dry-run")
	s.types("berth db copy --from")
	s.types("berth db check --connection")
}

// fill creates a provider and returns its UUID.
func fill(t *testing.T, url string) string {
	t.Helper()
	c := rest.NewOneShot(url, rest.Newest)
	provider := rest.UUID("cafe", 1)
	c.AddProvider(t, provider, "", rest.Resources{"VCPU": 8, "MEMORY_MB": 4096})
	return provider
}

// rehearse runs the script that compares, on the copy as it is and after a change
// to it.
func rehearse(t *testing.T, s *shell, upstream, provider string) {
	t.Helper()
	copied := server.StartBerth(t, server.Options{Database: "sqlite:///" + filepath.Join(s.dir, "rehearsal/placement.db")})
	defer copied.Stop()
	for path, verdict := range s.compare(upstream, copied.URL()) {
		if verdict != "same" {
			t.Errorf("%s is %s, though nothing was changed", path, verdict)
		}
	}
	c := rest.NewOneShot(copied.URL(), rest.Newest)
	aggregates := rest.Object{
		"resource_provider_generation": c.Generation(t, provider), "aggregates": []string{rest.UUID("a9", 1)},
	}
	c.Must(t, 200, "PUT", "/resource_providers/"+provider+"/aggregates", aggregates)
	for path, verdict := range s.compare(upstream, copied.URL()) {
		// The generation, which all but candidates have, is another one.
		if changed := strings.HasPrefix(path, "/resource_providers"); changed != (verdict == "DIFFERENT") {
			t.Errorf("%s is %s after a change to the provider", path, verdict)
		}
	}
}
