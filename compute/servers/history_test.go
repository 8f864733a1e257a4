package servers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/servers"
)

// Records of what has ended are removed when they are older than the setting says, in batches:
// actions with their events, moves and the usage of deleted servers. What is under way keeps its
// own, and nothing is removed without the setting.
func TestHistory(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	const history = 30 * 24 * time.Hour
	s := w.serve(w.store, func(s *compute.Settings) { s.History = history })
	deleted, vm := w.boot("deleted", w.port(1000)), w.boot("vm", w.port(1000))
	w.work(s, nil)
	w.must(w.LiveMigrateServer(ctx, root, vm, servers.LiveMigration{}))
	w.must(w.DeleteServer(ctx, ann, deleted))
	w.work(s, nil)
	for i := range 500 {
		w.add(&compute.ActionRow{
			ID: computetest.ID(fmt.Sprint("action", i)), Server: deleted, Action: "reboot", StartedAt: w.clock(),
			UpdatedAt: w.clock(),
		})
	}
	w.must(w.StopServer(ctx, ann, vm)) // and its host does not answer
	must(s.Recover(ctx))
	actions := func(id compute.ID) int { return len(must(w.Actions(ctx, id))) }
	if removed := must(s.RemoveHistory(ctx)); removed != 0 {
		t.Errorf("%d young records were removed", removed)
	}
	w.later(history + time.Second)
	w.report()
	w.boot("young")
	if removed := must(s.RemoveHistory(ctx)); removed != 504 || actions(deleted) != 0 || actions(vm) != 3 {
		t.Errorf("%d records were removed, and %d and %d actions stay; want 504, 0, 3", removed, actions(deleted),
			actions(vm))
	}
	w.work(s, nil)
	if removed := must(s.RemoveHistory(ctx)); removed != 2 || actions(vm) != 1 {
		t.Errorf("%d records were removed, and %d actions stay, when the server was stopped", removed, actions(vm))
	}
	if n := len(computetest.Read[compute.MigrationRow](w, w.store)) +
		len(computetest.Read[compute.DeletedRow](w, w.store)); n != 0 {
		t.Errorf("%d moves and deleted servers stay", n)
	}
	events := map[compute.ID]bool{}
	for _, e := range computetest.Read[compute.EventRow](w, w.store) {
		events[e.Action] = true
	}
	for _, a := range computetest.Read[compute.ActionRow](w, w.store) {
		delete(events, a.ID)
	}
	if len(events) != 0 {
		t.Errorf("events stay without their actions: %v", events)
	}
	w.must(w.StartServer(ctx, ann, vm))
	if last := must(w.Actions(ctx, vm))[0]; last.Action != "start" || last.Sequence != 3 {
		t.Errorf("the newest action is %s at %d", last.Action, last.Sequence)
	}
	w.work(s, nil)
	w.agrees("removal of old records")
}
