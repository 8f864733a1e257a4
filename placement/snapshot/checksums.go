package snapshot

import (
	"math"
	"time"

	"github.com/berthcloud/berth/placement"
)

// Checksums sums up the snapshot as Reader.Checksums does a store.
func (s *Snapshot) Checksums() map[int64]placement.Checksum {
	all := make(map[int64]*placement.Checksum)
	for t := range s.Trees() {
		for _, p := range t.Providers {
			first := p.ID - p.ID%placement.ChecksumSize
			d := all[first]
			if d == nil {
				d = &placement.Checksum{First: first}
				all[first] = d
			}
			addProvider(d, t, p)
		}
	}
	out := make(map[int64]placement.Checksum, len(all))
	for first, d := range all {
		out[first] = *d
	}
	return out
}

// addProvider adds what sqlstore's statements count of one provider: its own row, inventories with
// usage, traits and aggregates. What counts, and how it is rounded, must be the same in both.
func addProvider(d *placement.Checksum, t *Tree, p *Provider) {
	d.Providers++
	d.Generations += int64(p.Generation)
	d.Roots += t.Root().ID
	d.Parents += p.parentID
	d.NameLengths += int64(len(p.Name))
	d.Modified = max(d.Modified, seconds(p.Modified.Time()))
	for i := range p.Inventories {
		addInventory(d, &p.Inventories[i])
	}
	for _, id := range p.Traits {
		d.Traits++
		d.TraitIDs += int64(id)
	}
	for _, id := range p.Aggregates {
		d.Aggregates++
		d.AggregateIDs += int64(id)
	}
}

// addInventory adds one inventory, with ratios in thousandths.
func addInventory(d *placement.Checksum, s *Inventory) {
	d.Inventories++
	d.Classes += int64(s.Class)
	d.Total += s.Total
	d.Reserved += s.Reserved
	d.MinUnit += s.MinUnit
	d.MaxUnit += s.MaxUnit
	d.StepSize += s.StepSize
	d.Ratios += int64(math.Round(s.AllocationRatio * 1000))
	d.Used += s.Used
	d.UsedByClass += s.Used * placement.ChecksumWeight(s.Class)
}

// seconds counts from 1970, as far as every database keeps times.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
