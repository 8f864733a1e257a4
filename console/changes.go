package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/overview"
	"github.com/berthcloud/berth/ops/records"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/events"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Change is a difference between two readings of a host.
type Change struct {
	// Time is that of the later reading.
	Time time.Time `json:"time"`
	// What is also "state": what the compute service says of the host.
	records.Change
	// Name is that of the consumer's server, and Type and Project are the consumer's, "" when they are
	// not known.
	Name    string `json:"consumer_name,omitempty"`
	Type    string `json:"consumer_type,omitempty"`
	Project string `json:"project_id,omitempty"`
}

// MaxChanges is how many changes between two readings are listed.
const MaxChanges = 100

// ChangesOf returns the changes that a transaction made, as placement's change log has them.
func ChangesOf(t *events.Transaction) (list []Change) {
	for _, request := range t.Requests {
		for i := range request.Events {
			e := &request.Events[i]
			list = append(list, Change{Time: t.Time, Change: records.Change{
				Change: e.Change(), What: string(e.What), Provider: e.Name, UUID: string(e.Provider),
				Consumer: string(e.Consumer), Subject: e.Subject, Before: e.Before, After: e.After,
			}})
		}
	}
	return list
}

// changesBetween returns the differences of the hosts that a table says are not as before. Where
// readings have no consumers, they are those of what is used.
func changesBetween(before, after *state, c overview.Changes) []Change {
	list := []Change{}
	old, last := &cloud.Placement{}, &cloud.Placement{}
	roots := append([]string{}, c.Removed...)
	for i := range c.Changed {
		row := &c.Changed[i]
		roots = append(roots, row.ID)
		if was := before.table.Row(row.ID); was != nil && was.State != row.State {
			list = append(list, Change{Change: records.Change{
				Change: "changed", What: "state", Provider: row.Name, UUID: row.ID, Before: string(was.State),
				After: string(row.State),
			}})
		}
	}
	within := map[string]bool{}
	for _, root := range roots {
		for _, side := range []struct {
			snapshot *snapshot.Snapshot
			into     *cloud.Placement
		}{{before.reading.Snapshot, old}, {after.reading.Snapshot, last}} {
			if p, tree := side.snapshot.Provider(placement.UUID(root)); p != nil {
				providers := cloud.TreeProviders(side.snapshot, tree)
				side.into.Providers = append(side.into.Providers, providers...)
				for i := range providers {
					within[providers[i].UUID] = true
				}
			}
		}
	}
	if a, b := before.reading.Cloud.Placement, after.reading.Cloud.Placement; a != nil && b != nil {
		old.Consumers, last.Consumers = consumersWithin(a, within), consumersWithin(b, within)
	}
	for _, change := range records.Diff(old, last) {
		list = append(list, Change{Change: change})
	}
	list = list[:min(len(list), MaxChanges)]
	for i := range list {
		list[i].Time = after.reading.Time
		if id := list[i].Consumer; id != "" {
			list[i].Name = cmp.Or(serverName(after.index(), id), serverName(before.index(), id))
			for _, x := range []*index.Index{after.index(), before.index()} {
				if c := x.Consumers[id]; c != nil {
					list[i].Type, list[i].Project = c.Type, c.Project
					break
				}
			}
		}
	}
	return list
}

// consumersWithin returns the consumers that have something of some providers, with that only.
func consumersWithin(p *cloud.Placement, within map[string]bool) []cloud.Consumer {
	if p.Consumers == nil {
		return nil
	}
	list := []cloud.Consumer{}
	for _, c := range p.Consumers {
		part := map[string]map[string]int64{}
		for provider, amounts := range c.Allocations {
			if within[provider] {
				part[provider] = amounts
			}
		}
		if len(part) > 0 {
			c.Allocations = part
			list = append(list, c)
		}
	}
	return slices.Clip(list)
}

// serverName returns the name of the server that a consumer is or moves, "" for none.
func serverName(x *index.Index, id string) string {
	if m := x.Migrations[id]; m != nil {
		id = m.Server
	}
	if server := x.Servers[id]; server != nil {
		return server.Name
	}
	return ""
}
