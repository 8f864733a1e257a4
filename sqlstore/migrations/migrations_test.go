package migrations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

func TestAfterLeadsToTarget(t *testing.T) {
	f := func(from string, want ...string) {
		t.Helper()
		var got []string
		for _, r := range migrations.After(from) {
			got = append(got, r.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("After(%q) (-want +got):\n%s", from, diff)
		}
	}
	f("", "b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366")
	f("b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366")
	f("b5c396305c25", "422ece571366")
	f(migrations.Target)
	f("a082b8bb98d0")
}

func TestStepsHaveScriptsOrChecks(t *testing.T) {
	for _, database := range databases {
		for _, r := range migrations.After("") {
			script, err := migrations.Script(database, r.ID)
			if err != nil {
				t.Errorf("Script(%s, %s) = %v", database, r.ID, err)
			}
			if checks := r.Blockers != ""; checks == (len(script) > 0) || checks != (r.Remedy != "") {
				t.Errorf("%s, revision %s: %d statements, blockers %q, remedy %q",
					database, r.ID, len(script), r.Blockers, r.Remedy)
			}
		}
	}
}
