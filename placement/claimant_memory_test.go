package placement

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made are the rows of a consumer that was made, with an id unless it is 0, and holds
// some of one provider.
func made(uuid UUID, id int64) *ClaimRows {
	return &ClaimRows{
		Providers:   []ProviderRise{{ID: 7, Root: 3, From: 5, By: 1}},
		Made:        []ConsumerRow{{ID: id, UUID: uuid, Project: "p", User: "u"}},
		Allocations: []AllocationRow{{Provider: 7, ProviderUUID: "cn7", Consumer: uuid, Class: 1, Used: 64}},
	}
}

func TestClaimantsAreRemembered(t *testing.T) {
	var m claimantMemory
	look := func(what string, uuid UUID, want *Claimant) {
		t.Helper()
		got, ok := m.of(uuid)
		if ok != (want != nil) {
			t.Errorf("%s: remembered is %t", what, ok)
		}
		if want != nil {
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Errorf("%s: remembered (-want +got):\n%s", what, diff)
			}
		}
	}
	kept := func(id int64, g Generation) *ClaimRows {
		rows := made("vm", 0)
		rows.Kept, rows.Made = []ConsumerRow{{ID: id, UUID: "vm", Generation: g}}, nil
		rows.Allocations[0].Used = 128
		return rows
	}
	hold := Hold{Provider: 7, ProviderUUID: "cn7", Root: 3, Class: 1, Used: 64}

	look("at first", "vm", nil)
	m.learn(made("vm", 0))
	look("made under an id that is not known", "vm", nil)
	m.learn(kept(9, 1))
	look("kept by an id that was read", "vm", nil)
	m.learn(made("vm", 9))
	look("made", "vm", &Claimant{ID: 9, UUID: "vm", Generation: 1, Holds: []Hold{hold}})
	m.learn(kept(9, 1))
	hold.Used = 128
	look("kept", "vm", &Claimant{ID: 9, UUID: "vm", Generation: 2, Holds: []Hold{hold}})
	m.learn(&ClaimRows{Gone: []ConsumerRow{{ID: 9, UUID: "vm", Generation: 2}}})
	look("gone", "vm", nil)
	m.learn(made("vm", 9))
	m.forget("vm")
	look("forgotten", "vm", nil)
}

func TestClaimantMemoryIsBounded(t *testing.T) {
	var m claimantMemory
	for n := range 5 * mostYoung {
		m.learn(made(UUID(strconv.Itoa(n)), 1+int64(n)))
		if all := len(m.young) + len(m.old); all > 2*mostYoung {
			t.Fatalf("after %d consumers %d are remembered", n+1, all)
		}
		if _, ok := m.of(UUID(strconv.Itoa(max(0, n-mostYoung+1)))); !ok {
			t.Fatalf("of %d consumers one of the last %d is forgotten", n+1, mostYoung)
		}
	}
}
