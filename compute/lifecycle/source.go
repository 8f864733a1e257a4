package lifecycle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// desiredState is what a host was to make of the server.
func (f SourceState) desiredState() string {
	return compute.ServerRow{State: f.State, Power: f.Power}.DesiredState()
}

// A SourceState is what a server had before a move, for its way back. Its names are not to change.
type SourceState struct {
	State    string          `json:"state"` // vm_state
	Power    compute.Power   `json:"power"`
	Flavor   json.RawMessage `json:"flavor"` // as in ServerRow
	FlavorID compute.ID      `json:"flavor_id"`
	// Amounts are its allocations on the source, and Ports its ports there. They are known once a
	// destination is chosen.
	Amounts allocations.Amounts `json:"amounts,omitempty"`
	Ports   []sourceBinding     `json:"ports,omitempty"`
	// Kept is the part of Amounts that stays the server's, of providers that share with both hosts.
	Kept allocations.Amounts `json:"kept,omitempty"`
	// Assignment is what it has of the source of its own, an Assignment, and Resized what it gets of
	// it with a resize on the same host: see MigrationRow.Assignments.
	Assignment json.RawMessage     `json:"assignment,omitempty"`
	Resized    *compute.Assignment `json:"resized,omitempty"`
}

// A sourceBinding is the binding of a port to the source.
type sourceBinding struct {
	Port       compute.ID                  `json:"port"`
	Allocation guarantee.ProfileAllocation `json:"allocation"`
	Device     *compute.Device             `json:"device,omitempty"`
	// Amounts are what the server had for the port.
	Amounts allocations.Amounts `json:"amounts,omitempty"`
}

// port returns the binding that a port had.
func (f SourceState) port(id compute.ID) (sourceBinding, bool) {
	i := slices.IndexFunc(f.Ports, func(p sourceBinding) bool { return p.Port == id })
	if i < 0 {
		return sourceBinding{}, false
	}
	return f.Ports[i], true
}

// serving is the allocation on the former host for what the port requests now: each group has the
// provider that had its classes there. It is an error when there is none.
func (b sourceBinding) serving(requested request.Port) (guarantee.ProfileAllocation, error) {
	m := request.Mappings{}
	for _, g := range requested.Groups {
		for provider, had := range b.Amounts {
			lacks := slices.ContainsFunc(slices.Collect(maps.Keys(g.Resources)), func(class string) bool {
				return had[class] == 0
			})
			if !lacks {
				m[g.ID] = append(m[g.ID], placement.UUID(provider))
			}
		}
	}
	return requested.Binding(m)
}

// keep divides what the server has of sharing providers: what the claim of a destination is of as
// well is Kept. It returns the amounts of the claim, where a server that keeps its flavor has what
// it had.
func (f *SourceState) keep(shared []request.Shared, claim allocations.Amounts, resized bool) allocations.Amounts {
	f.Kept = nil
	after := claim
	for _, s := range shared {
		for class, had := range s.Amounts {
			n := claim[string(s.Provider)][class]
			if n == 0 {
				continue
			}
			if !resized {
				n = had
			}
			if s.Divisible(class, n) {
				f.Kept = f.Kept.With(allocations.Amounts{string(s.Provider): {class: had}})
				after = after.With(allocations.Amounts{string(s.Provider): {class: n}})
			}
		}
	}
	return after
}

// sourceOf reads what the server had before the move.
func sourceOf(m compute.MigrationRow) (state SourceState, err error) {
	if err = json.Unmarshal(m.Former, &state); err != nil {
		err = fmt.Errorf("reading migration %s: %w", m.ID, err)
	}
	return state, err
}
