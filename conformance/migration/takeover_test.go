package migration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
)

// sameLines reports lines that differ.
func sameLines(t *testing.T, what string, want, got []string) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: there is nothing to compare with", what)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestThereAndBack takes over the database of a cloud from upstream's service, uses it and returns
// to upstream's.
func TestThereAndBack(t *testing.T) {
	onSample(t, func(t *testing.T, db *database) {
		upstream := db.upstream()
		newCloud(t, upstream.URL()).fill()
		want, schema := observe(t, upstream.URL()), db.schema(false)
		upstream.Stop()

		berth := db.berth(nil)
		want.compare(t, "upstream's database taken over", observe(t, berth.URL()))
		newCloud(t, berth.URL()).change()
		want = observe(t, berth.URL())
		berth.Stop()
		sameLines(t, "Berth changes upstream's tables", schema, db.schema(false))
		db.content()

		upstream.Restart()
		observe(t, upstream.URL()).compare(t, "the database given back", want)
		upstream.Stop()
		db.uninstall()
		sameLines(t, "uninstalling changes upstream's tables", schema, db.schema(false))
		upstream.Restart()
		newCloud(t, upstream.URL()).changeBack()
	})
}

// uninstall drops Berth's own tables. It is forced: the command cannot distinguish a recently
// stopped instance from a running one.
func (db *database) uninstall() {
	db.t.Helper()
	if len(db.schema(true)) == 0 {
		db.t.Error("Berth has no tables of its own: nothing is proved by dropping them")
	}
	tool(db.t, server.Berth(db.t), "db", "uninstall", "--config", db.config(), "--yes", "--force")
	if remaining := db.schema(true); len(remaining) > 0 {
		db.t.Errorf("left of Berth's own tables:\n%s", strings.Join(remaining, "\n"))
	}
}

// changeBack writes to the objects that Berth wrote and removes those that it created.
func (w cloud) changeBack() {
	w.t.Helper()
	w.put("1.38", "/allocations/"+instance(8),
		rest.Claim(w.consumer(instance(8)), map[string]rest.Resources{rest.UUID("b4", 1): {"VCPU": 1}}))
	w.delete("1.39", "/allocations/"+instance(0))
	w.delete("1.39", "/resource_providers/"+rest.UUID("b4", 0))
	w.delete("1.39", "/traits/CUSTOM_NEW_TRAIT")
	w.delete("1.39", "/resource_classes/CUSTOM_NEW_CLASS")
}

// TestBackAndThere begins with a database that Berth created: upstream's tools find nothing to do,
// its service uses it, and Berth continues with its data.
func TestBackAndThere(t *testing.T) {
	onSample(t, func(t *testing.T, db *database) {
		berth := db.berth(nil)
		newCloud(t, berth.URL()).fill()
		want := observe(t, berth.URL())
		berth.Stop()
		db.content()

		upstream := db.upstream()
		observe(t, upstream.URL()).compare(t, "Berth's database taken over", want)
		newCloud(t, upstream.URL()).change()
		want = observe(t, upstream.URL())
		upstream.Stop()

		berth.Restart()
		want.compare(t, "the database given back", observe(t, berth.URL()))
	})
}
