package fleet_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/inventory"
)

// Servers and migrations have the units that are assigned on the host: a migration what its server
// may come back to, on another host or on the same one.
func TestUnitsOfConsumers(t *testing.T) {
	c := newCloud(t)
	mdev := func(card string) string {
		return fmt.Sprintf(`{"mdevs": [{"uuid": "u", "type": "t", "device": %q, "resource_class": "VGPU"}]}`, card)
	}
	hosted := func(name, host, card string) *compute.HostedRow {
		return &compute.HostedRow{
			Server: computetest.ID(name), Host: host, DesiredState: compute.DesiredRunning, Assignment: []byte(mdev(card)),
			CreatedAt: computetest.Now,
		}
	}
	migration := func(name, server, source, dest, former string) *compute.MigrationRow {
		return &compute.MigrationRow{
			ID: computetest.ID(name), Server: computetest.ID(server), Type: compute.TypeResize, Status: compute.StatusFinished,
			Source: source, Dest: dest, Former: []byte(former), CreatedAt: computetest.Now, UpdatedAt: computetest.Now,
		}
	}
	c.Add(computetest.Server("stays", "cn1"), hosted("stays", "cn1", "a"),
		computetest.Server("left", "cn2"), hosted("left", "cn1", "b"), hosted("left", "cn2", "x"),
		migration("leaves", "left", "cn1", "cn2", `{"assignment": `+mdev("b")+`}`),
		computetest.Server("grows", "cn1"), hosted("grows", "cn1", "d"),
		migration("growth", "grows", "cn1", "cn1", `{"assignment": `+mdev("c")+`, "resized": `+mdev("d")+`}`),
		computetest.Server("plain", "cn1"))
	want := map[string]string{"stays": "a", "leaves": "b", "grows": "d", "growth": "c", "plain": ""}
	var ids []string
	for name := range want {
		ids = append(ids, string(computetest.ID(name)))
	}
	all := must(c.Consumers(ctx, "cn1", ids))
	for name, card := range want {
		var units []inventory.Unit
		if card != "" {
			units = []inventory.Unit{{Device: card, Class: "VGPU", Count: 1}}
		}
		if diff := cmp.Diff(units, all[string(computetest.ID(name))].Units); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
