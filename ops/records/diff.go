package records

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
)

// A Change is a difference between two clouds, or of one at two times. Generations are no
// difference.
type Change struct {
	Change string `json:"change"` // added, removed, changed
	// What changed: provider, name, parent, inventory, trait, aggregate, usage, allocation,
	// consumer.
	What     string `json:"what"`
	Provider string `json:"provider,omitempty"` // its name
	UUID     string `json:"provider_uuid,omitempty"`
	Consumer string `json:"consumer_uuid,omitempty"`
	Subject  string `json:"subject,omitempty"` // the class, trait or aggregate
	Before   string `json:"before,omitempty"`
	After    string `json:"after,omitempty"`
}

// Diff returns what is different in placement's records b from a: by provider, then by consumer.
// Allocations are compared when both have consumers, else what is used of each provider.
func Diff(a, b *cloud.Placement) []Change {
	d := &differ{names: map[string]string{}}
	for _, p := range []*cloud.Placement{a, b} {
		for i := range p.Providers {
			d.names[p.Providers[i].UUID] = p.Providers[i].Name
		}
	}
	consumers := a.Consumers != nil && b.Consumers != nil
	before, after := byUUID(a.Providers, func(p *cloud.Provider) string { return p.UUID }),
		byUUID(b.Providers, func(p *cloud.Provider) string { return p.UUID })
	for _, uuid := range union(before, after) {
		d.provider(uuid, before[uuid], after[uuid], !consumers)
	}
	if consumers {
		before, after := byUUID(a.Consumers, func(c *cloud.Consumer) string { return c.UUID }),
			byUUID(b.Consumers, func(c *cloud.Consumer) string { return c.UUID })
		for _, uuid := range union(before, after) {
			d.consumer(uuid, before[uuid], after[uuid])
		}
	}
	return d.changes
}

// DiffByName is Diff for two clouds of their own, in which the same provider has the same name and
// another UUID. What they cannot have in common, consumers and aggregates, is not compared, but
// what is used of each provider is. Changes have no UUIDs.
func DiffByName(a, b *cloud.Placement) []Change {
	named := func(p *cloud.Placement) *cloud.Placement {
		names := map[string]string{}
		for i := range p.Providers {
			names[p.Providers[i].UUID] = p.Providers[i].Name
		}
		next := &cloud.Placement{Providers: slices.Clone(p.Providers)}
		for i := range next.Providers {
			provider := &next.Providers[i]
			provider.UUID, provider.Parent, provider.Aggregates = provider.Name, names[provider.Parent], nil
		}
		return next
	}
	changes := Diff(named(a), named(b))
	for i := range changes {
		changes[i].UUID = ""
	}
	return changes
}

func byUUID[T any](list []T, uuid func(*T) string) map[string]*T {
	all := make(map[string]*T, len(list))
	for i := range list {
		all[uuid(&list[i])] = &list[i]
	}
	return all
}

// union lists the keys of both maps, sorted.
func union[V, W any](a map[string]V, b map[string]W) []string {
	all := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, ok := a[key]; !ok {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

type differ struct {
	names   map[string]string
	changes []Change
}

// add adds a change unless both values are the same. "" is a value that is not there.
func (d *differ) add(c Change, before, after string) {
	switch {
	case before == after:
		return
	case before == "":
		c.Change = "added"
	case after == "":
		c.Change = "removed"
	default:
		c.Change = "changed"
	}
	c.Before, c.After = before, after
	d.changes = append(d.changes, c)
}

// provider compares what belongs to a provider; nil is one that is not there.
func (d *differ) provider(uuid string, a, b *cloud.Provider, usages bool) {
	change := Change{Provider: d.names[uuid], UUID: uuid}
	changeOf := func(what, subject string) Change {
		c := change
		c.What, c.Subject = what, subject
		return c
	}
	switch {
	case a == nil:
		d.add(changeOf("provider", ""), "", b.Name)
		a = &cloud.Provider{Name: b.Name}
	case b == nil:
		d.add(changeOf("provider", ""), a.Name, "")
		b = &cloud.Provider{Name: a.Name}
	}
	d.add(changeOf("name", ""), a.Name, b.Name)
	d.add(changeOf("parent", ""), d.named(a.Parent), d.named(b.Parent))
	for _, class := range union(a.Inventories, b.Inventories) {
		d.add(changeOf("inventory", class), inventory(a.Inventories, class), inventory(b.Inventories, class))
	}
	d.sets(changeOf, "trait", a.Traits, b.Traits)
	d.sets(changeOf, "aggregate", a.Aggregates, b.Aggregates)
	if usages {
		for _, class := range union(a.Usages, b.Usages) {
			d.add(changeOf("usage", class), amount(a.Usages[class]), amount(b.Usages[class]))
		}
	}
}

// sets compares two lists as sets.
func (d *differ) sets(change func(what, subject string) Change, what string, a, b []string) {
	all := slices.Concat(a, b)
	slices.Sort(all)
	present := func(list []string, item string) string {
		if slices.Contains(list, item) {
			return item
		}
		return ""
	}
	for _, item := range slices.Compact(all) {
		d.add(change(what, item), present(a, item), present(b, item))
	}
}

// consumer compares a consumer's allocations and who it is; nil is one that is not there.
func (d *differ) consumer(uuid string, a, b *cloud.Consumer) {
	if a != nil && b != nil {
		owner := func(c *cloud.Consumer) string {
			return fmt.Sprintf("%s of project %s, user %s", cmp.Or(c.Type, "unknown"), c.Project, c.User)
		}
		d.add(Change{What: "consumer", Consumer: uuid}, owner(a), owner(b))
	}
	var before, after map[string]map[string]int64
	if a != nil {
		before = a.Allocations
	}
	if b != nil {
		after = b.Allocations
	}
	for _, provider := range union(before, after) {
		for _, class := range union(before[provider], after[provider]) {
			c := Change{What: "allocation", Provider: d.names[provider], UUID: provider, Consumer: uuid, Subject: class}
			d.add(c, amount(before[provider][class]), amount(after[provider][class]))
		}
	}
}

// named names a provider for people.
func (d *differ) named(uuid string) string {
	if uuid == "" {
		return ""
	}
	return cmp.Or(d.names[uuid], uuid)
}

func amount(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// inventory describes one as the API has it, without what has the default.
func inventory(all map[string]cloud.Inventory, class string) string {
	i, ok := all[class]
	if !ok {
		return ""
	}
	return placement.Inventory(i).Text()
}
