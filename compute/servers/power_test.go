package servers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
)

// A powerVerb is a change of power, with what a server is like during and after it.
type powerVerb struct {
	name string
	do   func(*cloudService, context.Context, compute.Caller, compute.ID) error
	task string
	// state and power are those afterwards, listed and running what the host is to make of the server.
	state   string
	power   compute.Power
	listed  string
	running bool
}

var (
	pausing = powerVerb{
		"pause", (*cloudService).PauseServer, "pausing", compute.Paused, compute.PowerPaused, "paused", true,
	}
	unpausing = powerVerb{
		"unpause", (*cloudService).UnpauseServer, "unpausing", compute.Active, compute.Running, "", true,
	}
	suspending = powerVerb{
		"suspend", (*cloudService).SuspendServer, "suspending", compute.Suspended, compute.ShutDown, "suspended", false,
	}
	resuming   = powerVerb{"resume", (*cloudService).ResumeServer, "resuming", compute.Active, compute.Running, "", true}
	hardReboot = powerVerb{"reboot", hardRebooted, "rebooting_hard", compute.Active, compute.Running, "", true}
	stopping   = powerVerb{
		"stop", (*cloudService).StopServer, "powering-off", compute.Stopped, compute.ShutDown, "", false,
	}
	starting = powerVerb{"start", (*cloudService).StartServer, "powering-on", compute.Active, compute.Running, "", true}
)

func hardRebooted(s *cloudService, ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.RebootServer(ctx, by, id, true)
}

// Servers are paused and suspended, go on, and are rebooted in any of these states. Their states,
// what their host is to do, and what is recorded, are Nova's.
func TestPauseAndSuspend(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	for i, verb := range []powerVerb{
		pausing, unpausing, suspending, resuming, pausing, hardReboot, suspending, hardReboot, stopping, starting,
	} {
		by := ann
		by.Request = fmt.Sprint("req-power-", i)
		w.must(verb.do(w.cloudService, ctx, by, vm))
		during := must(w.Server(ctx, vm))
		if during.Task != verb.task {
			t.Errorf("during %s the server is %s", verb.name, during.Task)
		}
		listed := must(w.Wanted(ctx, "cn1"))[0]
		if listed.Power != verb.listed || listed.Running != verb.running || listed.Event == "" {
			t.Errorf("during %s the host is to have %+v", verb.name, listed)
		}
		for _, other := range []powerVerb{pausing, unpausing, suspending, resuming} {
			attribute := "task_state " + verb.task
			if other.name == "pause" || other.name == "suspend" {
				if during.State != compute.Active {
					attribute = "vm_state " + during.State
				}
			} else if want := map[string]string{
				"unpause": compute.Paused,
				"resume":  compute.Suspended,
			}[other.name]; during.State != want {
				attribute = "vm_state " + during.State
			}
			w.refusedSaying(other.do(w.cloudService, ctx, ann, vm),
				fmt.Sprintf("Cannot '%s' instance %s while it is in %s", other.name, vm, attribute))
		}
		w.work(w.cloudService, nil)
		after := must(w.Server(ctx, vm))
		if after.State != verb.state || after.Task != "" || after.Power != verb.power {
			t.Errorf("after %s the server is %s, %s, %d", verb.name, after.State, after.Task, after.Power)
		}
		if listed := must(w.Wanted(ctx, "cn1"))[0]; listed.Power != verb.listed || listed.Running != verb.running ||
			listed.Event != "" || listed.Boot != "" {
			t.Errorf("after %s the host is to have %+v", verb.name, listed)
		}
		action := must(w.Actions(ctx, vm))[0]
		events := must(w.Action(ctx, vm, action.Request)).Events
		if action.Action != verb.name || len(events) == 0 || events[0].Event != "compute_"+verb.name+"_instance" ||
			events[0].Result != "Success" {
			t.Errorf("after %s its last action is %+v with %+v", verb.name, action, events)
		}
		w.agrees(verb.name)
		w.later(time.Second)
	}
}

// refusedSaying wants the refusal of an action in the server's state, with Nova's text.
func (w *fixture) refusedSaying(err error, text string) {
	w.Helper()
	w.refusedWith(err, fault.Conflict, compute.InvalidState)
	if err != nil && err.Error() != text {
		w.Errorf("the error is %q, want %q", err, text)
	}
}

// What may be done to paused and suspended servers, besides to make them go on.
func TestActionsOfPausedAndSuspended(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	actions := map[string]func() error{
		"stop":           func() error { return w.StopServer(ctx, ann, vm) },
		"start":          func() error { return w.StartServer(ctx, ann, vm) },
		"reboot":         func() error { return w.RebootServer(ctx, ann, vm, false) },
		"rebuild":        func() error { return w.rebuildOn(w.cloudService) },
		"resize":         func() error { return w.resizeOn(w.cloudService) },
		"migrate":        func() error { return w.MigrateServer(ctx, root, vm, "") },
		"evacuate":       func() error { return w.EvacuateServer(ctx, root, vm, servers.Evacuation{}) },
		"os-migrateLive": func() error { return w.liveOn(w.cloudService) },
		"detach_interface": func() error {
			return w.Detach(ctx, ann, vm, must(w.Server(ctx, vm)).Ports[0].Port)
		},
	}
	for state, verbs := range map[string][2]powerVerb{
		compute.Paused: {pausing, unpausing}, compute.Suspended: {suspending, resuming},
	} {
		w.must(verbs[0].do(w.cloudService, ctx, ann, vm))
		w.work(w.cloudService, nil)
		for name, action := range actions {
			if state == compute.Paused && (name == "os-migrateLive" || name == "detach_interface") {
				continue
			}
			w.refusedSaying(action(), fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", name, vm, state))
		}
		must(w.SetTags(ctx, vm, "update_tags", func([]string) ([]string, error) { return []string{state}, nil }))
		must(w.SetMetadata(ctx, ann, vm, "update metadata", func(m map[string]string) (map[string]string, error) {
			return m, nil
		}))
		w.must(verbs[1].do(w.cloudService, ctx, ann, vm))
		w.work(w.cloudService, nil)
	}
}

// A paused server is paused on the host that it is migrated to, and is never run meanwhile by a
// host that has not paused it. Its migration cannot be forced to complete.
func TestLiveMigrationOfPaused(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	w.paused()
	w.work(w.cloudService, nil)
	vm, source := w.only(), must(w.Server(ctx, w.only())).Host
	w.must(w.liveOn(w.cloudService))
	number := w.lastMigration().Number
	w.refusedSaying(w.CompleteLiveMigration(ctx, root, vm, number),
		fmt.Sprintf("Cannot 'force_complete' instance %s while it is in vm_state paused", vm))
	w.work(w.cloudService, func(host string, want fleet.Wanted) *fleet.Result {
		if want.Running && want.Power != "paused" {
			t.Errorf("%s is to run the server", host)
		}
		return nil
	})
	if vm := must(w.Server(ctx, vm)); vm.Host == source || vm.State != compute.Paused || vm.Power != compute.PowerPaused {
		t.Errorf("the server is %s, %d on %s", vm.State, vm.Power, vm.Host)
	}
	w.agrees("the migration")
}

// Paused and suspended servers are shelved; unshelved, they run.
func TestShelvePausedAndSuspended(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	for _, verb := range []powerVerb{pausing, suspending} {
		w.must(verb.do(w.cloudService, ctx, ann, vm))
		w.work(w.cloudService, nil)
		w.must(w.ShelveServer(ctx, ann, vm))
		w.work(w.cloudService, nil)
		if vm := must(w.Server(ctx, vm)); vm.State != compute.ShelvedOffloaded || vm.Power != compute.ShutDown {
			t.Errorf("after %s and shelve the server is %s, %d", verb.name, vm.State, vm.Power)
		}
		w.must(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}))
		w.work(w.cloudService, nil)
		if vm := must(w.Server(ctx, vm)); vm.State != compute.Active || vm.Power != compute.Running {
			t.Errorf("after unshelve the server is %s, %d", vm.State, vm.Power)
		}
		w.agrees(verb.name)
	}
}

// A host that fails leaves a server as it was; one that it could not suspend or resume is in error.
// It is to keep the memory of one that it could not resume.
func TestPowerFails(t *testing.T) {
	for _, tc := range []struct {
		before, verb powerVerb
		state        string
		listed       string
	}{
		{unpausing, pausing, compute.Active, ""},
		{pausing, unpausing, compute.Paused, "paused"},
		{unpausing, suspending, compute.Error, ""},
		{suspending, resuming, compute.Error, "suspended"},
	} {
		t.Run(tc.verb.name, func(t *testing.T) {
			w := newFixture(t, 2500, "cn1")
			vm := w.boot("vm", w.port(1000))
			w.work(w.cloudService, nil)
			if tc.before.name != "unpause" {
				w.must(tc.before.do(w.cloudService, ctx, ann, vm))
				w.work(w.cloudService, nil)
			}
			before := must(w.Server(ctx, vm))
			w.must(tc.verb.do(w.cloudService, ctx, ann, vm))
			w.work(w.cloudService, onceFails("it cannot")(w))
			after := must(w.Server(ctx, vm))
			if after.State != tc.state || after.Task != "" || after.Power != before.Power {
				t.Errorf("the server is %s, %s, %d", after.State, after.Task, after.Power)
			}
			if f, failed := after.Failure(); failed != (tc.state == compute.Error) ||
				failed && (f.Code != 500 || f.Message != "it cannot") {
				t.Errorf("its fault is %+v", f)
			}
			if listed := must(w.Wanted(ctx, "cn1"))[0]; listed.Power != tc.listed || listed.Event != "" {
				t.Errorf("the host is to have %+v", listed)
			}
			w.agrees(tc.verb.name)
			w.must(w.RebootServer(ctx, ann, vm, true))
			w.work(w.cloudService, nil)
			if got := w.state(vm); got != compute.Active {
				t.Errorf("after a hard reboot the server is %s", got)
			}
		})
	}
}

// A host that is down, or whose agent does not know these states, has changed nothing: the server
// is as it was.
func TestPowerOfHostThatCannot(t *testing.T) {
	for _, verb := range []powerVerb{pausing, suspending} {
		t.Run(verb.name, func(t *testing.T) {
			w := newFixture(t, 2500, "cn1")
			vm := w.boot("vm", w.port(1000))
			w.work(w.cloudService, nil)
			by := ann
			want := func(why string) {
				t.Helper()
				if vm := must(w.Server(ctx, vm)); vm.State != compute.Active || vm.Task != "" || vm.Power != compute.Running {
					t.Errorf("the server is %s, %s, %d", vm.State, vm.Task, vm.Power)
				}
				if listed := must(w.Wanted(ctx, "cn1"))[0]; !listed.Running || listed.Power != "" || listed.Event != "" {
					t.Errorf("the host is to have %+v", listed)
				}
				events := must(w.Action(ctx, vm, by.Request)).Events
				if len(events) == 0 || !strings.Contains(events[0].Details, why) {
					t.Errorf("it failed with %+v", events)
				}
			}
			by.Request = "req-older"
			w.must(verb.do(w.cloudService, ctx, by, vm))
			listed := must(w.Wanted(ctx, "cn1"))[0]
			w.must(w.Done(ctx, "cn1", []fleet.Result{{Server: listed.ID, Event: listed.Event, Generation: listed.Generation}}))
			must(w.Recover(ctx))
			want("older than the compute service and cannot pause or suspend")
			w.later(5 * time.Minute)
			by.Request = "req-down"
			w.must(verb.do(w.cloudService, ctx, by, vm))
			must(w.Recover(ctx))
			want("its host is down")
		})
	}
}

// An administrator's change of the state does not make a paused server run; it may be rebooted, or
// evacuated when its host is down, and runs then.
func TestResetStateOfPaused(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	w.paused()
	w.work(w.cloudService, nil)
	vm := w.only()
	w.must(w.ResetState(ctx, root, vm, compute.Error))
	w.must(w.evacuateOn(w.cloudService))
	w.work(w.cloudService, nil)
	after := must(w.Server(ctx, vm))
	if diff := cmp.Diff([]any{compute.Active, compute.Running}, []any{after.State, after.Power}); diff != "" {
		t.Errorf("the evacuated server (-want +got)\n%s", diff)
	}
	w.report()
	w.work(w.cloudService, nil)
	w.agrees("the evacuation")
}
