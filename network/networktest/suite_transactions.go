package networktest

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
)

var transactions = []storeTest{
	{"RefusedUpdatesLeaveNothing", rollBack},
	{"WritersSeeTheirOwnChanges", seeOwn},
	{"DeclaredErrorsLeaveTheTransactionUsable", goOn},
	{"UpdatesWorkAfterAFailedOne", general(sample.UpdatesWorkAfterAFailedOne)},
	{"PanicsLeaveNothing", general(sample.PanicsLeaveNothing)},
	{"CountsFollowTheTransaction", general(sample.CountsFollowTheTransaction)},
	{"ViewsReturnTheirErrors", general(sample.ViewsReturnTheirErrors)},
	{"NothingWorksAfterTheFunctionReturned", useAfter},
	{"CancelledContextsRunNothing", general(sample.CancelledContextsRunNothing)},
}

var errRefused = storetest.ErrRefused

// left checks that the store has exactly these policies.
func (c *storeCase) left(want ...*Policy) {
	c.Helper()
	var rows []network.PolicyRow
	for _, p := range want {
		rows = append(rows, p.Policy)
	}
	found(c, "policies", nil, rows...)
}

func rollBack(c *storeCase) {
	gold := NewPolicy("gold", MinBandwidth(network.Egress, 1000))
	c.add(gold.Rows()...)
	err := c.store.Update(context.Background(), Now, func(w network.Writer) error {
		changed := gold.Policy
		changed.Name = "silver"
		_, removed := w.Remove(&network.RuleRow{}, network.Where(network.ByPolicy, gold.Policy.ID))
		return errors.Join(w.Replace(&changed), removed, Insert(w, NewPolicy("iron")), errRefused)
	})
	if !errors.Is(err, errRefused) {
		c.Fatalf("Update() = %v, want %v", err, errRefused)
	}
	c.left(gold)
	found(c, "rules", nil, gold.Rules...)
}

func seeOwn(c *storeCase) {
	c.update(func(w network.Writer) error {
		gold := NewPolicy("gold")
		if err := Insert(w, gold); err != nil {
			return err
		}
		gold.Policy.Name = "silver"
		if err := w.Replace(&gold.Policy); err != nil {
			return err
		}
		got, err := network.One[network.PolicyRow](w, network.Where(network.ByName, "silver"))
		c.same("the policy in its own Update", got, gold.Policy)
		if _, none := network.One[network.PolicyRow](w,
			network.Where(network.ByName, "gold")); !errors.Is(none, network.ErrNoRow) {
			c.Errorf("One by the old name = %v, want %v", none, network.ErrNoRow)
		}
		return err
	})
}

func goOn(c *storeCase) {
	n := VLAN("n", "physnet0", 7)
	a, b := n.Port("a", 2), n.Port("b", 3)
	c.add(n.Rows()...)
	c.update(func(w network.Writer) error {
		if err := Insert(w, a, b); err != nil {
			return err
		}
		clash, missing := b.Port, b.Port
		clash.MAC, missing.ID = a.Port.MAC, ID("nobody")
		for what, test := range map[string]struct{ err, want error }{
			"Insert of a taken id":    {w.Insert(&a.Port), network.ErrTaken},
			"Insert of an address":    {w.Insert(&a.Address), network.ErrTaken},
			"Replace by a taken MAC":  {w.Replace(&clash), network.ErrTaken},
			"Replace of what is not":  {w.Replace(&missing), network.ErrNoRow},
			"Replace by the same":     {w.Replace(&b.Port), nil},
			"Insert after all that":   {Insert(w, n.Port("c", 4)), nil},
			"Replace by a free MAC":   {w.Replace(n.renamed(b)), nil},
			"Replace back by its own": {w.Replace(&b.Port), nil},
		} {
			if !errors.Is(test.err, test.want) {
				c.Errorf("%s = %v, want %v", what, test.err, test.want)
			}
		}
		return nil
	})
	c.same("ports", len(read[network.PortRow](c)), 3)
	found(c, "b", []network.Match{network.Where(network.ByID, ID("b"))}, b.Port)
}

// renamed is a port with another MAC.
func (n *Net) renamed(p *Plug) *network.PortRow {
	row := p.Port
	row.MAC = "fa:16:3e:ff:ff:ff"
	return &row
}

func useAfter(c *storeCase) {
	gold := NewPolicy("gold")
	var reader network.Reader
	var writer network.Writer
	if err := c.store.View(context.Background(), func(r network.Reader) error { reader = r; return nil }); err != nil {
		c.Fatal(err)
	}
	c.update(func(w network.Writer) error { writer = w; return nil })
	_, removed := writer.Remove(&gold.Policy, network.Where(network.ByID, gold.Policy.ID))
	_, counted := reader.Count(&gold.Policy)
	for what, err := range map[string]error{
		"a Reader reads":      reader.Read(&[]network.PolicyRow{}),
		"a Writer reads":      writer.Read(&[]network.PolicyRow{}),
		"a Writer inserts":    writer.Insert(&gold.Policy),
		"a Writer replaces":   writer.Replace(&gold.Policy),
		"a Writer removes":    removed,
		"a Reader counts":     counted,
		"a Writer reads once": func() error { _, err := network.One[network.RuleRow](writer); return err }(),
	} {
		if err == nil || errors.Is(err, network.ErrNoRow) {
			c.Errorf("%s after its function returned: %v", what, err)
		}
	}
	c.left()
}
