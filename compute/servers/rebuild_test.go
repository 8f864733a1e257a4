package servers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
)

// rebuild begins to rebuild a server from cirros.
func (w *fixture) rebuild(id compute.ID) servers.Server {
	w.Helper()
	one, err := w.RebuildServer(ctx, ann, id, servers.Rebuilding{Image: cirros})
	w.must(err)
	return one
}

// A rebuild has the host build another generation, as the request says, and leaves the rest as it
// was.
func TestRebuild(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	w.add(&compute.KeypairRow{
		User: ann.User, Name: "key", Type: "ssh", PublicKey: "ssh-rsa AAAA", CreatedAt: computetest.Now,
	})
	name, key, data := "new", "key", "aGVsbG8="
	one, err := w.RebuildServer(ctx, ann, vm, servers.Rebuilding{
		Image: cirros, ServerChange: servers.ServerChange{Name: &name}, Metadata: map[string]string{"a": "b"}, KeyName: &key,
		UserData: &data,
	})
	w.must(err)
	if one.Task != compute.TaskRebuilding || one.State != compute.Active || one.Name != "new" {
		t.Errorf("the server is %s, %s, %s", one.Name, one.State, one.Task)
	}
	listed := must(w.Wanted(ctx, "cn1"))[0]
	if listed.Generation != 1 || !listed.Running || listed.KeyData != "ssh-rsa AAAA" || listed.UserData != data ||
		listed.Metadata["a"] != "b" || len(listed.Ports) != 1 {
		t.Errorf("the host is to have %+v", listed)
	}
	_, err = w.RebuildServer(ctx, ann, vm, servers.Rebuilding{Image: cirros})
	w.refusedWith(err, fault.Conflict, compute.InvalidState)
	w.work(w.cloudService, nil)
	w.agrees("a rebuild")
	w.must(w.StopServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	none := ""
	_, err = w.RebuildServer(ctx, ann, vm, servers.Rebuilding{Image: cirros, KeyName: &none, UserData: &none})
	w.must(err)
	w.work(w.cloudService, nil)
	w.agrees("a rebuild of a stopped server")
	listed = must(w.Wanted(ctx, "cn1"))[0]
	if w.state(vm) != compute.Stopped || listed.Generation != 2 || listed.Running || listed.KeyData != "" ||
		listed.UserData != "" {
		t.Errorf("the server is %s, its host is to have %+v", w.state(vm), listed)
	}
}

// What cannot be built is refused, and changes nothing.
func TestRebuildIsRefused(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm")
	_, err := w.RebuildServer(ctx, ann, vm, servers.Rebuilding{Image: cirros})
	w.refusedWith(err, fault.Conflict, compute.InvalidState)
	w.work(w.cloudService, nil)
	key, many := "none", map[string]string{}
	for _, letter := range "abcdefghijklmnopqrstuvwxyz" {
		for _, other := range "abcdefgh" {
			many[string(letter)+string(other)] = ""
		}
	}
	for _, tc := range []struct {
		to   servers.Rebuilding
		kind fault.Kind
		code fault.Code
	}{
		{servers.Rebuilding{Image: computetest.ID("none")}, fault.Invalid, "ImageNotFound"},
		{servers.Rebuilding{Image: old}, fault.Invalid, "ImageNotActive"},
		{servers.Rebuilding{Image: golden}, fault.Invalid, "ImageUnacceptable"},
		{servers.Rebuilding{Image: pinned}, fault.Invalid, "ImageNUMATopologyRebuildConflict"},
		{servers.Rebuilding{Image: cirros, KeyName: &key}, fault.Invalid, "KeypairNotFound"},
	} {
		_, err := w.RebuildServer(ctx, ann, vm, tc.to)
		w.refusedWith(err, tc.kind, tc.code)
	}
	s := w.serve(w.store, func(s *compute.Settings) { s.Quotas[compute.MetadataItems] = 128 })
	_, err = s.RebuildServer(ctx, ann, vm, servers.Rebuilding{Image: cirros, Metadata: many})
	w.refusedWith(err, fault.Denied, "MetadataLimitExceeded")
	w.must(w.Lock(ctx, ann, vm, ""))
	_, err = w.RebuildServer(ctx, ann, vm, servers.Rebuilding{Image: cirros})
	w.refusedWith(err, fault.Conflict, "InstanceIsLocked")
	w.agrees("refusals")
	if listed := must(w.Wanted(ctx, "cn1"))[0]; listed.Generation != 0 {
		t.Errorf("the host is to have %+v", listed)
	}
}

// A server that its host cannot rebuild is in error, with what it had, and can be rebuilt again; so
// is one whose host is down, which builds it when it is back.
func TestRebuildFails(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	w.rebuild(vm)
	w.work(w.cloudService, func(string, fleet.Wanted) *fleet.Result { return &fleet.Result{Error: "bad image"} })
	if one := must(w.Server(ctx, vm)); one.State != compute.Error || !strings.Contains(w.why(vm), "bad image") ||
		len(one.Ports) != 1 {
		t.Errorf("the server is %+v: %s", one.ServerRow, w.why(vm))
	}
	w.agrees("a rebuild that failed")
	w.rebuild(vm)
	w.work(w.cloudService, nil)
	w.agrees("another rebuild")
	if w.state(vm) != compute.Active {
		t.Errorf("the server is %s: %s", w.state(vm), w.why(vm))
	}
	w.rebuild(vm)
	w.later(2 * time.Minute)
	must(w.Recover(ctx))
	if w.state(vm) != compute.Error || !strings.Contains(w.why(vm), "its host is down") {
		t.Errorf("the server is %s: %s", w.state(vm), w.why(vm))
	}
	w.report()
	w.agrees("a host that is back")
	if listed := must(w.Wanted(ctx, "cn1"))[0]; listed.Generation != 3 || !listed.Running {
		t.Errorf("the host is to have %+v", listed)
	}
}
