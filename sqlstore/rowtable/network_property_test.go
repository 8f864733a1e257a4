package rowtable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore"
)

// model is what the agents of a store should be.
type model []network.AgentRow

// taken reports whether a row that is not the one at an index stands in the way.
func (m model) taken(row network.AgentRow, but int) bool {
	for i, other := range m {
		if i != but && (other.ID == row.ID || other.Type == row.Type && other.Host == row.Host) {
			return true
		}
	}
	return false
}

func (m *model) insert(row network.AgentRow) error {
	if m.taken(row, -1) {
		return network.ErrTaken
	}
	*m = append(*m, row)
	return nil
}

func (m model) replace(row network.AgentRow) error {
	i := slices.IndexFunc(m, func(other network.AgentRow) bool { return other.ID == row.ID })
	switch {
	case i < 0:
		return network.ErrNoRow
	case m.taken(row, i):
		return network.ErrTaken
	}
	m[i] = row
	return nil
}

// matching are the rows that match, in the order of their keys, and others the rest.
func (m model) matching(where []network.Match) (in, others model) {
	for _, row := range m {
		values := map[network.Field]any{network.ByID: row.ID, network.ByHost: row.Host, network.ByAgentType: row.Type}
		if slices.ContainsFunc(where, func(w network.Match) bool { return !slices.Contains(w.Values, values[w.Field]) }) {
			others = append(others, row)
		} else {
			in = append(in, row)
		}
	}
	slices.SortFunc(in, func(a, b network.AgentRow) int { return cmp.Compare(a.ID, b.ID) })
	return in, others
}

// drawAgent draws one of few agents, so that they are in each other's way.
func drawAgent(t *rapid.T) network.AgentRow {
	return network.AgentRow{
		ID:   network.ID(rapid.SampledFrom([]string{"a", "A", "b", "b ", "c"}).Draw(t, "id")),
		Type: rapid.SampledFrom([]string{"ovs", "OVS", ""}).Draw(t, "type"),
		Host: rapid.SampledFrom([]string{"cn1", "cn1 ", "Cn1"}).Draw(t, "host"),
		Zone: rapid.StringOfN(rapid.RuneFrom([]rune("ab'?\\é😀")), 0, 8, -1).Draw(t, "zone"),
	}
}

func drawWhere(t *rapid.T, least int) (where []network.Match) {
	for range rapid.IntRange(least, 3).Draw(t, "conditions") {
		row := drawAgent(t)
		other := drawAgent(t)
		where = append(where, rapid.SampledFrom([]network.Match{
			network.Where(network.ByID, row.ID, other.ID), network.Where(network.ByHost, row.Host, other.Host, row.Host),
			network.Where(network.ByAgentType, row.Type), network.Where[string](network.ByHost),
		}).Draw(t, "where"))
	}
	return where
}

// A step is one thing that is done to a store and to its model.
type step struct {
	kind  string // insert, replace, remove or read
	row   network.AgentRow
	where []network.Match
}

func drawStep(t *rapid.T) step {
	s := step{
		kind: rapid.SampledFrom([]string{"insert", "insert", "replace", "remove", "read"}).Draw(t, "step"), row: drawAgent(t),
	}
	least := 0
	if s.kind == "remove" {
		least = 1
	}
	s.where = drawWhere(t, least)
	return s
}

// do takes the step and returns why the store did not answer as the model does.
func (s step) do(w network.Writer, m *model) error {
	var got, want error
	in, others := m.matching(s.where)
	switch s.kind {
	case "insert":
		got, want = w.Insert(&s.row), m.insert(s.row)
	case "replace":
		got, want = w.Replace(&s.row), m.replace(s.row)
	case "remove":
		*m = others
		n, err := w.Remove(&s.row, s.where...)
		if got = err; n != len(in) {
			got = fmt.Errorf("removed %d, want %d (%w)", n, len(in), err)
		}
	case "read":
		rows, err := network.Rows[network.AgentRow](w, s.where...)
		if got = err; !gocmp.Equal(rows, []network.AgentRow(in)) {
			got = fmt.Errorf("read %+v, want %+v (%w)", rows, in, err)
		}
	}
	if !errors.Is(got, want) {
		return fmt.Errorf("%s %+v %v = %v, want %v", s.kind, s.row, s.where, got, want)
	}
	return nil
}

// TestNetworkRowsFollowAModel does to a store what it does to a list, and wants the
// same answers.
func TestNetworkRowsFollowAModel(t *testing.T) {
	s := openNetwork(t, sqlstore.Options{Path: sqlstore.Memory})
	rapid.Check(t, func(t *rapid.T) {
		if err := s.Empty(context.Background()); err != nil {
			t.Fatal(err)
		}
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 30).Draw(t, "steps")
		err := s.Update(context.Background(), now, func(w network.Writer) error {
			var m model
			for _, s := range steps {
				if err := s.do(w, &m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
