package placement

import (
	"math"
	"time"
)

// DigestSize is how many ids of providers share a Digest.
const DigestSize = 128

// A Digest sums up the rows of the providers with ids from First up to, not
// including, First+DigestSize. Digests of the same rows are equal; of rows that
// differ they differ, unless the differences cancel each other out.
type Digest struct {
	First int64
	// Of the providers themselves.
	Providers, Generations, Roots, Parents, NameLengths int64
	Modified                                            int64 // the latest, in seconds since 1970
	// Of their inventories. Ratios are rounded to thousandths.
	Inventories, Classes, Total, Reserved, MinUnit, MaxUnit, StepSize, Ratios int64
	// Of what is allocated, by class.
	Used, UsedByClass int64
	// Of their traits and aggregates.
	Traits, TraitIDs, Aggregates, AggregateIDs int64
}

// DigestClass weighs a class's usage, so that two classes do not cancel out.
func DigestClass(id ClassID) int64 { return int64(id)%97 + 1 }

// Digests sums up the snapshot as Reader.Digests does a store.
func (w *Snapshot) Digests() map[int64]Digest {
	all := make(map[int64]*Digest)
	for t := range w.Trees() {
		for _, p := range t.Providers {
			first := p.ID - p.ID%DigestSize
			d := all[first]
			if d == nil {
				d = &Digest{First: first}
				all[first] = d
			}
			d.add(t, p)
		}
	}
	out := make(map[int64]Digest, len(all))
	for first, d := range all {
		out[first] = *d
	}
	return out
}

func (d *Digest) add(t *Tree, p *Provider) {
	d.Providers++
	d.Generations += int64(p.Generation)
	d.Roots += t.Root().ID
	d.Parents += p.parentID
	d.NameLengths += int64(len(p.Name))
	d.Modified = max(d.Modified, seconds(p.Modified.Time()))
	for i := range p.Inventories {
		d.addStock(&p.Inventories[i])
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

func (d *Digest) addStock(s *Stock) {
	d.Inventories++
	d.Classes += int64(s.Class)
	d.Total += s.Total
	d.Reserved += s.Reserved
	d.MinUnit += s.MinUnit
	d.MaxUnit += s.MaxUnit
	d.StepSize += s.StepSize
	d.Ratios += int64(math.Round(s.AllocationRatio * 1000))
	d.Used += s.Used
	d.UsedByClass += s.Used * DigestClass(s.Class)
}

// seconds counts from 1970, as far as every database keeps times.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
