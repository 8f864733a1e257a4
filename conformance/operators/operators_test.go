package operators

import (
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

// TestDebian is about Debian's services.
func TestDebian(t *testing.T) { startDebian(t).all(t) }

// TestBerth is about those of "berth up".
func TestBerth(t *testing.T) { startBerth(t).all(t) }

// TestEveryKind requires a plant of each kind that audit has, or the reason why there is none.
func TestEveryKind(t *testing.T) {
	code, out := server.Run(t, awaitTime, server.Berth(t), "audit", "--codes", "-f", "value", "-c", "code")
	if code != 0 {
		t.Fatal(out)
	}
	kinds := strings.Fields(out)
	for _, kind := range kinds {
		planted := slices.ContainsFunc(plants, func(p plant) bool { return p.code == kind })
		if (unplanted[kind] != "") == planted {
			t.Errorf("%s is planted: %v, and the reason why not is %q", kind, planted, unplanted[kind])
		}
	}
	for _, p := range plants {
		if !slices.Contains(kinds, p.code) {
			t.Errorf("audit has no kind %s", p.code)
		}
	}
}

// all are the tests of a stack, which starts once for all of them. Each leaves it as it was. A run
// in a sample has one of three groups.
func (s *stack) all(t *testing.T) {
	t.Run("Healthy", func(t *testing.T) {
		if got := s.berth(t, nil, "audit"); got.code != 0 || got.stdout != "no findings\n" {
			t.Errorf("in a healthy cloud audit says: %s", got)
		}
	})
	groups := []func(t *testing.T){
		func(t *testing.T) {
			t.Run("Records", s.records)
			t.Run("Traits", s.aggregateTraits)
			t.Run("Boots", s.boots)
			t.Run("Emptied", s.emptied)
			t.Run("Examined", s.examined)
			if s.debian {
				t.Run("Readers", s.readers)
				t.Run("Exported", s.exported)
				t.Run("Followed", s.followed)
				t.Run("Reshaped", s.reshaped)
			}
		},
		func(t *testing.T) { t.Run("Faults", s.plant) },
		func(t *testing.T) { t.Run("Repaired", s.repairs) },
	}
	for _, group := range sweep.Sample(t, groups, 3) {
		group(t)
	}
}
