package operators

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// noteNames writes a note on standard error about what has some names, of which a few are named.
func noteNames(env cli.Env, format string, names []string) {
	const most = 5
	list := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		list += ", …"
	}
	fmt.Fprintf(env.Stderr, "note: "+format+": %s\n", list)
}

// noteSpentDevices says on standard error which PCI devices no server can use until an operator has
// cleaned them. They are no fault.
func noteSpentDevices(env cli.Env, c *cloud.Cloud) {
	var names []string
	for _, p := range index.SpentDevices(c) {
		names = append(names, p.Name)
	}
	if len(names) > 0 {
		noteNames(env,
			"PCI devices that were used once and stay reserved (HW_PCI_ONE_TIME_USE) until an operator sets reserved to 0",
			names)
	}
}

// noteColdMoves says on standard error which servers of a plan have PCI devices that cannot migrate
// live. Their moves are cold migrations.
func noteColdMoves(env cli.Env, c *cloud.Cloud, plan *capacity.Plan) {
	fixed := map[string]bool{} // providers of devices that stay where they are
	for i := range c.Placement.Providers {
		if p := &c.Placement.Providers[i]; slices.Contains(p.Traits, index.ManagedPCI) &&
			!slices.Contains(p.Traits, "HW_PCI_LIVE_MIGRATABLE") {
			fixed[p.UUID] = true
		}
	}
	var names []string
	for i := range c.Placement.Consumers {
		consumer := &c.Placement.Consumers[i]
		k := slices.IndexFunc(plan.Moves, func(m capacity.Move) bool { return m.Consumer == consumer.UUID })
		if k >= 0 && slices.ContainsFunc(slices.Collect(maps.Keys(consumer.Allocations)), func(provider string) bool {
			return fixed[provider]
		}) {
			names = append(names, cmp.Or(plan.Moves[k].Name, consumer.UUID))
		}
	}
	if len(names) > 0 {
		noteNames(env, "servers with PCI devices that cannot migrate live (no HW_PCI_LIVE_MIGRATABLE); migrate them cold",
			names)
	}
}
