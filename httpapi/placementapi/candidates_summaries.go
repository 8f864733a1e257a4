package placementapi

import (
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// writeSummaries describes the providers: since 1.29 all those of the trees in the answer, from
// cached texts; before only those that take part in a candidate.
func (c *candidatesAnswer) writeSummaries(j *httpapi.JSON) {
	j.Key("provider_summaries")
	j.Object()
	if c.minor >= 29 {
		for t := range c.summary.Trees() {
			j.Raw(c.texts.of(c.snapshot, t))
		}
	} else {
		for t, p := range c.summary.Providers() {
			j.Key(string(p.UUID))
			summaryWriter{c.snapshot, c.minor, c.result.Classes()}.write(j, t, p)
		}
	}
	j.EndObject()
}

// A summaryWriter describes providers in the form of a version.
type summaryWriter struct {
	snapshot *snapshot.Snapshot
	minor    int
	classes  []placement.ClassID // those that are requested; no others show before 1.27
}

// write writes capacity and usage, since 1.17 the traits, and since 1.29 parent and root.
func (s summaryWriter) write(j *httpapi.JSON, t *snapshot.Tree, p *snapshot.Provider) {
	j.Object()
	s.writeInventories(j, p)
	if s.minor >= 17 {
		j.Key("traits")
		j.Array()
		for _, id := range p.Traits {
			j.String(s.snapshot.TraitName(id))
		}
		j.EndArray()
	}
	if s.minor >= 29 {
		info := t.Info(p)
		j.Key("parent_provider_uuid")
		writeUUIDOrNull(j, info.Parent)
		j.KeyString("root_provider_uuid", string(info.Root))
	}
	j.EndObject()
}

// writeInventories writes capacity and usage by class; since 1.27 of all classes of the provider,
// before of the requested ones.
func (s summaryWriter) writeInventories(j *httpapi.JSON, p *snapshot.Provider) {
	j.Key("resources")
	j.Object()
	for i := range p.Inventories {
		inv := &p.Inventories[i]
		if s.minor < 27 && !slices.Contains(s.classes, inv.Class) {
			continue
		}
		j.Key(s.snapshot.ClassName(inv.Class))
		j.Object()
		j.Key("capacity")
		writeCapacity(j, *inv.Inventory)
		j.KeyInt("used", inv.Used)
		j.EndObject()
	}
	j.EndObject()
}
