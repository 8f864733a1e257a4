package candidates_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
)

func TestDump(t *testing.T) {
	out := os.Getenv("DUMP")
	if out == "" {
		return
	}
	n, _ := strconv.Atoi(os.Getenv("DUMPN"))
	f, _ := os.Create(out)
	defer f.Close()
	enc := json.NewEncoder(f)
	type inv struct {
		Class string
		placement.Stock
	}
	type prov struct {
		ID, Parent, Root int64
		Name         string
		Inv          []inv
		Traits, Aggs []string
	}
	gen := rapid.Custom(func(rt *rapid.T) map[string]any {
		b := forest(rt)
		w, q := b.World(), question(rt, b)
		got, fault := keys(t, w, q)
		var ps []prov
		for tr := range w.Trees() {
			for _, p := range tr.Providers {
				x := prov{ID: p.ID, Name: p.Name, Root: tr.Root().ID}
				if p.Parent >= 0 {
					x.Parent = tr.Providers[p.Parent].ID
				}
				for _, s := range p.Inventories {
					x.Inv = append(x.Inv, inv{w.ClassName(s.Class), s})
				}
				for _, id := range p.Traits {
					x.Traits = append(x.Traits, w.TraitName(id))
				}
				for _, id := range p.Aggregates {
					x.Aggs = append(x.Aggs, string(w.AggregateUUID(id)))
				}
				ps = append(ps, x)
			}
		}
		return map[string]any{"q": q, "got": sorted(got), "fault": fault, "w": ps}
	})
	for i := range n {
		enc.Encode(gen.Example(i + 1))
	}
}
