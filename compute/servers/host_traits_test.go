package servers_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/internal/racetest"
)

// traits are those that placement has of a host.
func (w *fixture) traits(host string) []string {
	w.Helper()
	_, node := computetest.Host(host, 0)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		w.paths.placement.inner+"/resource_providers/"+string(node.ID)+"/traits", nil)
	w.must(err)
	r.Header.Set("X-Auth-Token", client.NoAuth)
	r.Header.Set("OpenStack-API-Version", "placement 1.6")
	res, err := http.DefaultClient.Do(r)
	w.must(err)
	defer res.Body.Close()
	var all struct{ Traits []string }
	w.must(json.NewDecoder(res.Body).Decode(&all))
	return all.Traits
}

// disable disables the service of a host, or enables it.
func (w *fixture) disable(host string, disabled bool) {
	w.Helper()
	for _, h := range must(w.Services(ctx)) {
		if h.Host == host {
			must(w.ChangeService(ctx, h.ID, fleet.ServiceChange{Disabled: &disabled}))
		}
	}
}

// bootIn creates a server in a zone and returns its state.
func (w *fixture) bootIn(zone string) string {
	w.Helper()
	made := must(w.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: "m1", Image: cirros, Zone: zone}))
	w.work(w.cloudService, nil)
	return w.state(made[0].ID)
}

// A host that comes into a zone has servers of that zone at once, and none once it has left it.
func TestAggregatesCountAtOnce(t *testing.T) {
	w := newFixture(t, 0, "cn1", "cn2")
	must(w.CreateAggregate(ctx, "rack1", "az1"))
	must(w.AddHost(ctx, 1, "cn1"))
	if got := w.bootIn("az1"); got != compute.Active {
		t.Errorf("a server in the zone of a host that was just added is %s", got)
	}
	must(w.AddHost(ctx, 1, "cn2"))
	must(w.RemoveHost(ctx, 1, "cn1"))
	for _, row := range computetest.Read[compute.ServerRow](t, w.store) {
		w.must(w.DeleteServer(ctx, root, row.ID))
	}
	w.work(w.cloudService, nil)
	if got := w.bootIn("az1"); got != compute.Active || computetest.Read[compute.ServerRow](t, w.store)[0].Host != "cn2" {
		t.Errorf("a server in the zone that a host has left is %s", got)
	}
	// Without placement the change is made all the same, and made up for later.
	w.paths.placement.breaks(1, true, false)
	must(w.AddHost(ctx, 1, "cn1"))
	w.paths.placement.heals()
	if left := must(w.Mirror(ctx)); left != 0 || len(computetest.Read[compute.MirrorRow](t, w.store)) != 0 {
		t.Errorf("%d are left", left)
	}
}

// A service that is disabled has no servers any more at once, and one that is enabled has them.
func TestServicesAreDisabledAtOnce(t *testing.T) {
	w := newFixture(t, 0, "cn1")
	before := w.traits("cn1")
	w.disable("cn1", true)
	if !slices.Contains(w.traits("cn1"), inventory.TraitDisabled) {
		t.Errorf("placement has %v", w.traits("cn1"))
	}
	if got := w.bootIn(""); got != compute.Error {
		t.Errorf("a server on a disabled host is %s", got)
	}
	w.disable("cn1", false)
	if !slices.Equal(w.traits("cn1"), before) {
		t.Errorf("placement has %v, want %v", w.traits("cn1"), before)
	}
	if got := w.bootIn(""); got != compute.Active {
		t.Errorf("a server on an enabled host is %s", got)
	}
	// Without placement the service is disabled all the same.
	w.paths.placement.breaks(1, true, false)
	w.disable("cn1", true)
	w.paths.placement.heals()
	if h := must(w.Services(ctx))[0]; !h.Disabled {
		t.Error("the service is enabled")
	}
}

// Whenever a service is disabled while its host's report is brought into placement, placement knows
// in the end.
func TestDisabledDuringAReport(t *testing.T) {
	w := newFixture(t, 0, "cn1")
	_, node := computetest.Host("cn1", 0)
	has := inventory.Host{Name: "cn1", VCPU: inventory.Amount{Total: 8, Initial: 1}}
	w.must(json.Unmarshal([]byte(`"`+string(node.ID)+`"`), &has.ID))
	for at, met := 1, true; met && !t.Failed(); at++ {
		w.disable("cn1", false)
		w.later(time.Hour)
		has.VCPU.Total++
		once := false
		w.paths.placement.happens(at, func() {
			if !once {
				once = true
				w.disable("cn1", true)
			}
		})
		_, err := w.SyncTree(context.Background(), "cn1", has, false)
		w.must(err)
		met = w.paths.placement.heals()
		if met && !slices.Contains(w.traits("cn1"), inventory.TraitDisabled) {
			t.Errorf("disabled before request %d: placement has %v", at, w.traits("cn1"))
		}
		if racetest.Few() && at > 4 {
			break
		}
	}
}
