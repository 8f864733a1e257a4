package placement

import (
	"fmt"
	"time"
)

// A batchPlan holds claims and releases, one after the other, against a picture
// and gathers what is to be written for those that it can vouch for. What it
// turns down is left to be decided from the rows: it refuses nobody.
type batchPlan struct {
	world  *World
	shared bool
	// ahead is what this service's own commits made of trees that the picture may
	// still show: from one to the next.
	ahead map[*Tree]*Tree

	ledger ledger
	trees  []*Tree       // that the ledger is about, as they were before
	risen  map[int64]int // by provider: its place among the providers of rows
	rows   ClaimRows     // that are not written yet
}

func newBatchPlan(w *World, shared bool, ahead map[*Tree]*Tree) *batchPlan {
	return &batchPlan{world: w, shared: shared, ahead: ahead, ledger: newLedger(), risen: make(map[int64]int)}
}

// A planLine is one amount that a claim asks for.
type planLine struct {
	tree     *Tree
	provider *Provider
	stock    *Stock
	amount   int64
}

// provider finds a provider, and its tree as it is by now.
func (p *batchPlan) provider(uuid UUID) (*Provider, *Tree) {
	found, t := p.world.Provider(uuid)
	if found == nil {
		return nil, nil
	}
	for later := p.ahead[t]; later != nil; later = p.ahead[t] {
		t = later
	}
	return t.Providers[found.Index], t
}

// lines looks up what a claim asks for, regardless of what is free. It reports
// false for whatever may be refused, and for what the picture may not know.
func (p *batchPlan) lines(c Claim) ([]planLine, bool) {
	var lines []planLine
	for i, a := range c.Allocations {
		provider, tree := p.provider(a.Provider)
		if provider == nil || len(a.Resources) == 0 || named(c.Allocations[:i], a.Provider) {
			return nil, false
		}
		for _, r := range a.Resources {
			id, known := p.world.Class(r.Class)
			if !known || p.shared && id >= FirstCustomClass {
				return nil, false
			}
			stock := provider.Stock(id)
			if stock == nil || r.Amount <= 0 || !stock.Admits(r.Amount) {
				return nil, false
			}
			lines = append(lines, planLine{tree, provider, stock, r.Amount})
		}
	}
	return lines, len(lines) > 0
}

// named reports whether any of the allocations is on a provider.
func named(as []ProviderAllocation, provider UUID) bool {
	for _, a := range as {
		if a.Provider == provider {
			return true
		}
	}
	return false
}

// add adds a request about a consumer and reports whether it may be written with the
// others.
func (p *batchPlan) add(r *batchRequest, who Claimant) bool {
	if r.release {
		return p.release(who)
	}
	return p.claim(r.Claim, who)
}

// claim adds a claim.
func (p *batchPlan) claim(c Claim, who Claimant) bool {
	if who.Spelled || c.expects(who.row()) != nil {
		return false
	}
	lines, ok := p.lines(c)
	if !ok {
		return false
	}
	held, ok := p.holds(who)
	if !ok || !p.fits(lines, held) {
		return false
	}
	p.free(held)
	for _, l := range lines {
		p.allocate(c.Consumer, l)
	}
	p.keep(c, who)
	return true
}

// release adds the removal of all that a consumer holds.
func (p *batchPlan) release(who Claimant) bool {
	if who.Spelled || who.ID == 0 || len(who.Holds) == 0 {
		return false
	}
	held, ok := p.holds(who)
	if !ok {
		return false
	}
	p.free(held)
	p.rows.Gone = append(p.rows.Gone, who.row())
	p.rows.frees(who)
	return true
}

// frees adds what a consumer holds to what is freed.
func (r *ClaimRows) frees(who Claimant) {
	if r.Freed == nil {
		r.Freed = make(map[UUID][]Hold)
	}
	r.Freed[who.UUID] = who.Holds
}

// row is the consumer without its owners.
func (c Claimant) row() ConsumerRow {
	return ConsumerRow{ID: c.ID, UUID: c.UUID, Generation: c.Generation}
}

// holds looks up what a consumer holds. It reports false when the picture has it
// elsewhere, or has less.
func (p *batchPlan) holds(who Claimant) ([]planLine, bool) {
	held := make([]planLine, len(who.Holds))
	for i, h := range who.Holds {
		provider, tree := p.provider(h.ProviderUUID)
		if provider == nil || provider.ID != h.Provider || tree.Root().ID != h.Root {
			return nil, false
		}
		stock := provider.Stock(h.Class) // nil when only allocations are left of it
		if stock != nil && p.used(provider, stock) < h.Used {
			return nil, false
		}
		held[i] = planLine{tree, provider, stock, h.Used}
	}
	return held, true
}

// used is how much of a stock is allocated, the claims before this one included.
func (p *batchPlan) used(provider *Provider, s *Stock) int64 {
	return s.Used + p.ledger.used[stockKey{provider.ID, s.Class}]
}

// fits reports whether there is room for all lines when what is held is freed
// before.
func (p *batchPlan) fits(lines, held []planLine) bool {
	for i, l := range lines {
		free, asked := int64(0), l.amount
		for _, h := range held {
			if h.stock == l.stock {
				free += h.amount
			}
		}
		for _, earlier := range lines[:i] {
			if earlier.stock == l.stock {
				asked += earlier.amount
			}
		}
		if !l.stock.Fits(p.used(l.provider, l.stock)-free, asked) {
			return false
		}
	}
	return true
}

// free takes off what is held.
func (p *batchPlan) free(held []planLine) {
	for _, h := range held {
		p.touch(h.tree)
		if h.stock != nil {
			p.ledger.used[stockKey{h.provider.ID, h.stock.Class}] -= h.amount
		}
	}
}

// allocate adds a line of a claim.
func (p *batchPlan) allocate(consumer UUID, l planLine) {
	p.touch(l.tree)
	p.ledger.used[stockKey{l.provider.ID, l.stock.Class}] += l.amount
	p.rows.Allocations = append(p.rows.Allocations, AllocationRow{
		Provider: l.provider.ID, ProviderUUID: l.provider.UUID, Consumer: consumer, Class: l.stock.Class, Used: l.amount,
	})
}

// touch notes that the ledger is about a tree.
func (p *batchPlan) touch(t *Tree) {
	for _, known := range p.trees {
		if known == t {
			return
		}
	}
	p.trees = append(p.trees, t)
}

// keep adds what becomes of the consumer and the providers of a claim.
func (p *batchPlan) keep(c Claim, who Claimant) {
	row := ConsumerRow{ID: who.ID, UUID: c.Consumer, Project: c.Project, User: c.User, Type: c.Type, Generation: who.Generation}
	if who.ID == 0 {
		p.rows.Made = append(p.rows.Made, row)
	} else {
		p.rows.Kept = append(p.rows.Kept, row)
		p.rows.frees(who)
	}
	for _, a := range c.Allocations {
		provider, tree := p.provider(a.Provider)
		p.raise(provider, tree.Root().ID)
	}
}

// raise raises the generation of a provider by one.
func (p *batchPlan) raise(provider *Provider, root int64) {
	from := provider.Generation + Generation(p.ledger.rises[provider.ID])
	p.ledger.rises[provider.ID]++
	at, ok := p.risen[provider.ID]
	if !ok {
		at = len(p.rows.Providers)
		p.risen[provider.ID] = at
		p.rows.Providers = append(p.rows.Providers, ProviderRise{ID: provider.ID, Root: root, From: from})
	}
	p.rows.Providers[at].By++
}

// write writes what was added since the last time.
func (p *batchPlan) write(w Writer) error {
	rows := p.rows
	if len(rows.Made)+len(rows.Kept)+len(rows.Gone) == 0 {
		return nil
	}
	p.rows, p.risen = ClaimRows{}, make(map[int64]int)
	if err := w.WriteClaims(rows); err != nil {
		return fmt.Errorf("writing claims together: %w", err)
	}
	return nil
}

// steps are what the trees become, with rows written at the given time.
func (p *batchPlan) steps(written time.Time) []Step {
	steps := make([]Step, len(p.trees))
	for i, t := range p.trees {
		steps[i] = Step{From: t, To: t.after(p.ledger, written)}
	}
	return steps
}
