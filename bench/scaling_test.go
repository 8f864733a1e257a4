package main

import (
	"testing"

	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/placement"
)

// TestEveryHostHasTheTraits: without them the curve would be that of empty
// answers.
func TestEveryHostHasTheTraits(t *testing.T) {
	const hosts = 20
	_, traits, rows := clouds.Flat(hosts, seed).Rows()
	names, have := map[placement.TraitID]string{}, map[string]int{}
	for _, trait := range traits {
		names[placement.TraitID(trait.ID)] = trait.Name
	}
	for _, row := range rows.Traits {
		have[names[row.Trait]]++
	}
	for _, name := range hostTraits {
		if have[name] != hosts {
			t.Errorf("%d of %d hosts have %s", have[name], hosts, name)
		}
	}
}

func TestSweepsGrow(t *testing.T) {
	for _, s := range scaled() {
		for i, st := range s.steps {
			if i > 0 && st.size <= s.steps[i-1].size {
				t.Errorf("%s: %d comes after %d", s.title, st.size, s.steps[i-1].size)
			}
		}
	}
}
