package placementapi

import (
	"math/bits"
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

// writeRuns describes all providers of the trees that give resources, as pieces of the
// texts of their blocks where there are some.
func (c *candidatesAnswer) writeRuns(j *httpapi.JSON) {
	p := pieces{json: j, waiting: make([]piece, 0, maxPieces)}
	for from, to := range c.summary.Runs() {
		for from < to {
			end := min(to, (from/placement.BlockSize+1)*placement.BlockSize)
			if u := c.blockOf(from); u.text != nil {
				p.add(u.text, from%placement.BlockSize, end-from)
			} else {
				c.writeTrees(j, from, end)
				u.memo.wrote(end-from, c.world, c.world.Block(from))
			}
			from = end
		}
	}
	p.end()
	p.write()
	c.looked += p.looked
}

// writeTrees writes the texts of the trees in the slots from one up to, not including,
// another.
func (c *candidatesAnswer) writeTrees(j *httpapi.JSON, from, to int) {
	for slot := range to - from {
		j.Raw(textOf(c.world, c.world.Tree(from+slot)).summaries)
	}
}

// A piece is places of a block's text: from the first up to, not including, the last.
type piece struct {
	*blockText
	from, to int
}

// maxPieces is how many pieces are looked at before they are written: enough for the
// processor to fetch several from memory at a time.
const maxPieces = 32

// pieces are what is written of blocks: as many neighbours at a time as there are.
type pieces struct {
	json    *httpapi.JSON
	block   *blockText                       // that trees are being added of
	chosen  [placement.BlockSize / 64]uint64 // their places
	waiting []piece
	looked  byte
}

// add adds so many trees of a block, from a slot of it on.
func (p *pieces) add(x *blockText, slot, n int) {
	if p.block != x {
		p.end()
		p.block = x
	}
	for _, at := range x.places[slot : slot+n] {
		p.chosen[at/64] |= 1 << (at % 64)
	}
}

// end puts an end to the block that trees are being added of.
func (p *pieces) end() {
	for i, word := range p.chosen {
		for word != 0 {
			from := bits.TrailingZeros64(word)
			to := from + bits.TrailingZeros64(^(word >> from))
			word &= ^uint64(0) << to
			p.wait(piece{p.block, 64*i + from, 64*i + to})
		}
		p.chosen[i] = 0
	}
}

// wait has a piece wait to be written, together with the one before if that is its neighbour.
func (p *pieces) wait(next piece) {
	if n := len(p.waiting); n > 0 {
		if last := &p.waiting[n-1]; last.blockText == next.blockText && last.to == next.from {
			last.to = next.to
			return
		}
	}
	if len(p.waiting) == maxPieces {
		p.write()
	}
	p.waiting = append(p.waiting, next)
}

// write writes the pieces that wait.
func (p *pieces) write() {
	for _, one := range p.waiting {
		p.looked += one.look(one.from)
	}
	for _, one := range p.waiting {
		p.json.Raw(one.between(one.from, one.to))
	}
	p.waiting = p.waiting[:0]
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
