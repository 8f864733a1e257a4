package networktest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/berthcloud/berth/network"
)

var ordinary = []storeTest{
	{"RowsComeBackAsTheyWere", comeBack},
	{"ListsWithoutElementsComeBackAsNil", emptyLists},
	{"RowsAreFoundByTheirFields", findByFields},
	{"ConditionsMustAllMatch", matchAll},
	{"ReadAppends", appendRows},
	{"ManyValuesAreInTheOrderOfTheKeys", manyValues},
	{"TextsAreComparedByTheirBytes", compareTexts},
	{"ReplaceWritesAllFields", replaceAll},
	{"ReplaceNeedsARow", replaceNothing},
	{"RemoveCountsItsRows", removeSome},
	{"WhatMustBeUniqueIs", unique},
	{"ReferencesHold", references},
	{"OddQuestionsAreErrors", oddQuestions},
}

func comeBack(c *storeCase) {
	full, bare := fullFixture(), bareFixture("bare ")
	for _, row := range full.Rows() {
		noZero(c, reflect.ValueOf(row).Elem())
	}
	c.add(full.Rows()...)
	c.add(bare.Rows()...)
	eachType(c, func(c *storeCase, t rowType, rows []any) {
		got, err := c.rows(t)
		if err != nil || len(got) != len(rows) {
			c.Fatalf("%d of %d %s (%v)", len(got), len(rows), t.name, err)
		}
		if !reflect.DeepEqual(got[0], rows[0]) {
			got[0], got[1] = got[1], got[0]
		}
		c.same(t.name, got, rows)
	}, full, bare)
}

// noZero requires a value in every field, so that none is missing from a table.
func noZero(c *storeCase, v reflect.Value) {
	c.Helper()
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.Anonymous {
			noZero(c, v.Field(i))
		} else if v.Field(i).IsZero() {
			c.Errorf("the suite has no value for %s.%s", v.Type(), field.Name)
		}
	}
}

func emptyLists(c *storeCase) {
	n := VLAN("n", "physnet0", 7)
	c.add(n.Rows()...)
	p := n.Port("p", 2)
	want := p.Port
	p.Port.Tags, p.Port.DHCPOptions = []string{}, []network.DHCPOption{}
	p.Binding.Profile = []byte{}
	c.add(p.Rows()...)
	found(c, "the port", nil, want)
	if b := read[network.BindingRow](c); len(b) != 1 || b[0].Profile != nil {
		c.Errorf("the bindings are %v, want one without a profile", b)
	}
}

func findByFields(c *storeCase) {
	full, bare := fullFixture(), bareFixture("bare ")
	c.add(full.Rows()...)
	c.add(bare.Rows()...)
	eachType(c, func(c *storeCase, t rowType, rows []any) {
		for n, w := range []*fixture{full, bare} {
			for _, f := range allFields {
				value, ok := t.by(w)[f]
				if !ok {
					if got, err := c.rows(t, network.Where(f, "x")); err == nil {
						c.Errorf("%s by %s = %v, want an error", t.name, f, got)
					}
					if n, err := c.count(t, network.Where(f, "x")); err == nil {
						c.Errorf("the number of %s by %s = %d, want an error", t.name, f, n)
					}
					continue
				}
				got, err := c.rows(t, network.Where[any](f, "nobody", value, value))
				if err != nil {
					c.Errorf("%s by %s: %v", t.name, f, err)
				}
				c.same(fmt.Sprintf("%s by %s", t.name, f), got, rows[n:n+1])
				count, err := c.count(t, network.Where[any](f, "nobody", value, value))
				if err != nil || count != 1 {
					c.Errorf("there are %d %s by %s (%v), want 1", count, t.name, f, err)
				}
			}
		}
	}, full, bare)
}

func matchAll(c *storeCase) {
	a, b := VLAN("a", "physnet0", 7), VLAN("b", "physnet0", 8)
	c.add(a.Rows()...)
	c.add(b.Rows()...)
	physical := network.Where(network.ByPhysical, "physnet0", "physnet1")
	found(c, "one condition", []network.Match{physical}, byKey(a.Segment, b.Segment)...)
	found(c, "two conditions", []network.Match{physical, network.Where(network.ByNetwork, b.Network.ID)}, b.Segment)
	found(c, "two that exclude each other",
		[]network.Match{network.Where(network.ByID, a.Segment.ID), network.Where(network.ByNetwork, b.Network.ID)},
		[]network.SegmentRow(nil)...)
	found(c, "no value", []network.Match{physical, network.Where[string](network.ByID)}, []network.SegmentRow(nil)...)
	_, err := c.rows(rowTypes[2], network.Where(network.ByDevice, "x"))
	if err == nil {
		c.Error("networks by their device: no error")
	}
}

// byKey returns two segments in the order of their keys.
func byKey(a, b network.SegmentRow) []network.SegmentRow {
	if a.ID > b.ID {
		a, b = b, a
	}
	return []network.SegmentRow{a, b}
}

func appendRows(c *storeCase) {
	p := NewPolicy("gold")
	c.add(p.Rows()...)
	rows := []network.PolicyRow{{Common: Common("there")}}
	err := c.store.View(context.Background(), func(r network.Reader) error { return r.Read(&rows) })
	if err != nil {
		c.Fatal(err)
	}
	c.same("the rows", rows, []network.PolicyRow{{Common: Common("there")}, p.Policy})
}

func manyValues(c *storeCase) {
	const n, read = 1100, 4000
	want := make([]network.IntentRow, n)
	c.update(func(w network.Writer) error {
		for i := range want {
			// By what they are about they are in another order.
			want[i] = network.IntentRow{ID: fmt.Sprintf("%05d", i), About: fmt.Sprintf("%05d", i*7919%n)}
			if err := w.Insert(&want[i]); err != nil {
				return err
			}
		}
		return nil
	})
	ids := make([]network.ID, read)
	for i := range ids {
		ids[i] = network.ID(fmt.Sprintf("%05d", (i*7919)%3989))
	}
	found(c, "by id", []network.Match{network.Where(network.ByID, ids...)}, want...)
	found(c, "by what they are about", []network.Match{network.Where(network.ByIntentsAbout, ids...)}, want...)
	found(c, "by both", []network.Match{
		network.Where(network.ByIntentsAbout, ids...), network.Where(network.ByID, ids...),
	}, want...)
	c.update(func(w network.Writer) error {
		got, err := w.Remove(&network.IntentRow{}, network.Where(network.ByIntentsAbout, ids...))
		c.same("removed", got, n)
		return err
	})
}

func compareTexts(c *storeCase) {
	texts := []string{
		"a", "A", "a ", " a", "ä", "a\u0308", "ß", "ss", "'", "\\", "\"", "%", "_", "?", "$1", ":a", "--", "0", "\t", "\n",
		strings.Repeat("\U0001F6A2", 255), strings.Repeat("\U0001F6A2", 254) + "\u2693", "\U0001F6A2", "\uFFFD", "\uFB03",
	}
	c.update(func(w network.Writer) error {
		for _, text := range texts {
			agent := network.AgentRow{ID: ID(text), Type: "x", Host: text, SyncError: text + text}
			quota := network.QuotaRow{Project: text, Resource: text}
			if err := errors.Join(w.Insert(&agent), w.Insert(&quota)); err != nil {
				return fmt.Errorf("%q: %w", text, err)
			}
		}
		return nil
	})
	for _, text := range texts {
		found(c, text, []network.Match{network.Where(network.ByHost, text)}, network.AgentRow{
			ID: ID(text), Type: "x", Host: text, SyncError: text + text,
		})
		found(c, text, []network.Match{network.Where(network.ByProject, text)},
			network.QuotaRow{Project: text, Resource: text})
	}
	var last string
	for _, q := range read[network.QuotaRow](c) {
		if q.Project <= last {
			c.Errorf("%q comes behind %q", q.Project, last)
		}
		last = q.Project
	}
	c.update(func(w network.Writer) error {
		n, err := w.Remove(&network.QuotaRow{}, network.Where(network.ByProject, "a"))
		c.same("removed", n, 1)
		return err
	})
}

func replaceAll(c *storeCase) {
	full, bare := fullFixture(), bareFixture("")
	bare.address, bare.binding.Host, bare.quota = full.address, full.binding.Host, full.quota
	bare.quota.Limit = 0
	for _, to := range []*fixture{full, bare, full} {
		c.update(func(w network.Writer) error {
			for _, row := range to.Rows() {
				err := w.Replace(row)
				if errors.Is(err, network.ErrNoRow) {
					err = w.Insert(row)
				}
				if err != nil {
					return fmt.Errorf("%T: %w", row, err)
				}
			}
			return nil
		})
		eachType(c, func(c *storeCase, t rowType, rows []any) {
			got, err := c.rows(t)
			if err != nil {
				c.Error(err)
			}
			c.same(t.name, got, rows)
		}, to)
	}
}

func replaceNothing(c *storeCase) {
	c.update(func(w network.Writer) error {
		for _, row := range fullFixture().Rows() {
			if err := w.Replace(row); !errors.Is(err, network.ErrNoRow) {
				c.Errorf("Replace(%T) = %v, want %v", row, err, network.ErrNoRow)
			}
		}
		return nil
	})
}

func removeSome(c *storeCase) {
	n := VLAN("n", "physnet0", 7)
	c.add(n.Rows()...)
	for i := range 4 {
		c.add(n.Port(fmt.Sprint("p", i), i+2).On(fmt.Sprint("cn", i%2), n.Segment.ID).Rows()...)
	}
	remove := func(want int, row any, where ...network.Match) {
		c.Helper()
		c.update(func(w network.Writer) error {
			got, err := w.Remove(row, where...)
			c.same(fmt.Sprintf("removed %T", row), got, want)
			return err
		})
	}
	remove(2, &network.BindingRow{}, network.Where(network.ByHost, "cn1", "cn7"))
	remove(0, &network.BindingRow{}, network.Where(network.ByHost, "cn1"))
	remove(0, &network.BindingRow{}, network.Where[string](network.ByHost))
	remove(0, &network.BindingRow{}, network.Where(network.ByHost, "cn0"), network.Where(network.ByPort, ID("p1")))
	remove(1, &network.BindingRow{}, network.Where(network.ByHost, "cn0"),
		network.Where(network.ByPort, ID("p1"), ID("p2")))
	if remaining := read[network.BindingRow](c); len(remaining) != 1 || remaining[0].Port != ID("p0") {
		c.Errorf("left are %v, want the binding of p0", remaining)
	}
	err := c.store.Update(context.Background(), Now, func(w network.Writer) error {
		_, err := w.Remove(&network.BindingRow{})
		return err
	})
	if err == nil {
		c.Error("Remove without a condition = nil, want an error")
	}
	c.same("bindings left", len(read[network.BindingRow](c)), 1)
}

func oddQuestions(c *storeCase) {
	c.add(NewPolicy("gold").Rows()...)
	var rows []network.PolicyRow
	for what, query := range map[string]func(w network.Writer) error{
		"reading into rows":          func(w network.Writer) error { return w.Read(rows) },
		"reading into a row":         func(w network.Writer) error { return w.Read(&network.PolicyRow{}) },
		"reading something else":     func(w network.Writer) error { return w.Read(&[]string{}) },
		"inserting rows":             func(w network.Writer) error { return w.Insert(&rows) },
		"inserting a value":          func(w network.Writer) error { return w.Insert(network.PolicyRow{}) },
		"replacing something else":   func(w network.Writer) error { return w.Replace(new(string)) },
		"a number where text is due": func(w network.Writer) error { return w.Read(&rows, network.Where(network.ByName, 7)) },
		"removing something else": func(w network.Writer) error {
			_, err := w.Remove("", network.Where(network.ByName, "x"))
			return err
		},
	} {
		err := c.store.Update(context.Background(), Now, func(w network.Writer) error { return query(w) })
		if err == nil || errors.Is(err, network.ErrNoRow) || errors.Is(err, network.ErrTaken) ||
			strings.Contains(err.Error(), "panic") {
			c.Errorf("%s = %v, want another error", what, err)
		}
	}
}
