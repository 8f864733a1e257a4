package placementapi

import (
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// writeSummaries describes the providers of all trees that give resources: as
// the trees' texts have it, since 1.29.
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

// A summaryWriter describes providers as a version has it.
type summaryWriter struct {
	snapshot *snapshot.Snapshot
	minor    int
	classes  []placement.ClassID // those that are asked for; no others show before 1.27
}

// write writes capacity and usage, traits, and the place in the tree.
func (s summaryWriter) write(j *httpapi.JSON, t *snapshot.Tree, p *snapshot.Provider) {
	j.Object()
	s.writeStocks(j, p)
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

func (s summaryWriter) writeStocks(j *httpapi.JSON, p *snapshot.Provider) {
	j.Key("resources")
	j.Object()
	for i := range p.Inventories {
		stock := &p.Inventories[i]
		if s.minor < 27 && !slices.Contains(s.classes, stock.Class) {
			continue
		}
		j.Key(s.snapshot.ClassName(stock.Class))
		j.Object()
		j.Key("capacity")
		writeCapacity(j, *stock.Inventory)
		j.KeyInt("used", stock.Used)
		j.EndObject()
	}
	j.EndObject()
}
