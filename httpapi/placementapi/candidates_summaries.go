package placementapi

import (
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
)

// writeSummaries describes the providers of all trees that give resources: as
// the trees' texts have it, since 1.29.
func (c *candidatesAnswer) writeSummaries(j *httpapi.JSON) {
	j.Key("provider_summaries")
	j.Object()
	if c.minor >= 29 {
		c.writeRuns(j)
	} else {
		for t, p := range c.summary.Providers() {
			j.Key(string(p.UUID))
			summaryWriter{c.world, c.minor, c.result.Classes()}.write(j, t, p)
		}
	}
	j.EndObject()
}

// A run is slots that follow each other: from the first up to, not including, the
// last.
type run struct{ from, to int }

// maxRuns is how many runs are looked at before they are written: enough for the
// processor to fetch several from memory at a time.
const maxRuns = 32

// writeRuns describes all providers of the trees that give resources.
func (c *candidatesAnswer) writeRuns(j *httpapi.JSON) {
	runs := make([]run, 0, maxRuns)
	for from, to := range c.summary.Runs() {
		if runs = append(runs, run{from, to}); len(runs) == maxRuns {
			c.writeSome(j, runs)
			runs = runs[:0]
		}
	}
	c.writeSome(j, runs)
}

func (c *candidatesAnswer) writeSome(j *httpapi.JSON, runs []run) {
	for _, r := range runs {
		if x := c.blockOf(r.from).text; x != nil {
			c.looked += x.look(r.from % placement.BlockSize)
		}
	}
	for _, r := range runs {
		c.writeRun(j, r)
	}
}

// writeRun writes the texts of trees, as pieces of the blocks' where there are some.
func (c *candidatesAnswer) writeRun(j *httpapi.JSON, r run) {
	for r.from < r.to {
		first := r.from % placement.BlockSize
		n := min(r.to-r.from, placement.BlockSize-first)
		if u := c.blockOf(r.from); u.text != nil {
			j.Raw(u.text.between(first, first+n))
		} else {
			for i := range n {
				j.Raw(textOf(c.world, c.world.Tree(r.from+i)).summaries)
			}
			u.memo.wrote(n, c.world, c.world.Block(r.from))
		}
		r.from += n
	}
}

// A summaryWriter describes providers as a version has it.
type summaryWriter struct {
	world   *placement.World
	minor   int
	classes []placement.ClassID // those that are asked for; no others show before 1.27
}

// write writes capacity and usage, traits, and the place in the tree.
func (s summaryWriter) write(j *httpapi.JSON, t *placement.Tree, p *placement.Provider) {
	j.Object()
	s.writeStocks(j, p)
	if s.minor >= 17 {
		j.Key("traits")
		j.Array()
		for _, id := range p.Traits {
			j.String(s.world.TraitName(id))
		}
		j.EndArray()
	}
	if s.minor >= 29 {
		info := t.Info(p)
		j.Key("parent_provider_uuid")
		writeUUIDOrNull(j, info.Parent)
		j.Key("root_provider_uuid")
		j.String(string(info.Root))
	}
	j.EndObject()
}

func (s summaryWriter) writeStocks(j *httpapi.JSON, p *placement.Provider) {
	j.Key("resources")
	j.Object()
	for i := range p.Inventories {
		stock := &p.Inventories[i]
		if s.minor < 27 && !slices.Contains(s.classes, stock.Class) {
			continue
		}
		j.Key(s.world.ClassName(stock.Class))
		j.Object()
		j.Key("capacity")
		writeCapacity(j, *stock.Inventory)
		j.Key("used")
		j.Int(stock.Used)
		j.EndObject()
	}
	j.EndObject()
}
