package placement

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/fault"
)

// refusedClaim is the text about a claim that the inventories do not allow.
type refusedClaim string

func (r refusedClaim) Error() string { return string(r) }

// setAllocations writes claims. It reports unknownClass and refusedClaim for
// what the caller must put into words, and ErrStale for what may be tried again.
func (t *tx) setAllocations(s *Service, claims ...Claim) error {
	w, err := t.prepareClaims(s, claims...)
	if err != nil {
		return err
	}
	return w.write()
}

// prepareClaims finds the consumers and providers of claims and refuses those
// that cannot be meant: for another generation of the consumer, or on providers
// that do not exist.
func (t *tx) prepareClaims(s *Service, claims ...Claim) (*claimWork, error) {
	w := &claimWork{tx: t, names: s.world.Load(), shared: s.store.Shared(), providers: make(map[UUID]*claimedProvider)}
	for _, c := range claims {
		if err := w.consumer(s.owned(c)); err != nil {
			return nil, err
		}
	}
	for i := range w.consumers {
		if err := w.lookUp(&w.consumers[i]); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// owned fills in the stand-ins of a claim that does not say who owns it.
func (s *Service) owned(c Claim) Claim {
	if c.Project == "" {
		c.Project, c.User = s.settings.IncompleteProject, s.settings.IncompleteUser
	}
	return c
}

// claimWork is the state of writing claims in one transaction.
type claimWork struct {
	*tx
	names     *World             // for the ids of classes: those with inventory do not go
	fresh     map[string]ClassID // what the store says of them; nil until it is asked
	shared    bool               // others write the store as well
	consumers []claimedConsumer
	order     []*claimedProvider
	providers map[UUID]*claimedProvider
	lines     []claimLine
}

// claimedConsumer is a consumer of a claim as it is now.
type claimedConsumer struct {
	Claim
	row   ConsumerRow // ID 0 when it does not exist yet
	holds []AllocationRow
}

// claimedProvider is a provider that a claim touches.
type claimedProvider struct {
	row    ProviderRow
	stocks map[ClassID]*claimedStock
}

// claimedStock is what a provider offers of a class while claims are checked.
type claimedStock struct {
	Inventory
	before int64 // used before the transaction
	used   int64 // used by consumers that are not in the claims
	asked  int64 // asked for by the claims so far
}

// claimLine is one amount of one class on one provider for one consumer; amount
// 0 marks what is taken away from a consumer that is cleared.
type claimLine struct {
	consumer *claimedConsumer
	provider *claimedProvider
	class    ClassID
	name     string
	amount   int64
}

// consumer finds the consumer of a claim and checks what the client knows of
// it.
func (w *claimWork) consumer(c Claim) error {
	row, err := w.Consumer(c.Consumer)
	if errors.Is(err, ErrNoRow) {
		err = nil
		row = ConsumerRow{UUID: c.Consumer}
	}
	if err != nil {
		return err
	}
	if err := c.expects(row); err != nil {
		return err
	}
	holds, err := w.AllocationsOf(c.Consumer)
	if err != nil {
		return err
	}
	w.consumers = append(w.consumers, claimedConsumer{Claim: c, row: row, holds: holds})
	return w.touch(holds)
}

// touch notes the trees that allocations are on. Their usage changes when the
// allocations move away, though the claim does not name them.
func (t *tx) touch(holds []AllocationRow) error {
	for _, h := range holds {
		if _, err := t.provider(h.ProviderUUID); err != nil && !errors.Is(err, ErrNoRow) {
			return err
		}
	}
	return nil
}

// expects compares what the client knows of the consumer with what is.
func (c Claim) expects(row ConsumerRow) error {
	if c.Seen == nil {
		return nil
	}
	got := spelled(c.Seen.Generation, c.Seen.Spelled)
	switch {
	case row.ID == 0 && c.Seen.Exists:
		return consumerConflict("null", got)
	case row.ID != 0 && !c.Seen.Exists:
		return consumerConflict(row.Generation, "None")
	case row.ID != 0 && row.Generation != c.Seen.Generation:
		return consumerConflict(row.Generation, got)
	}
	return nil
}

// spelled is a generation as the client wrote it.
func spelled(g Generation, as string) string {
	if as != "" {
		return as
	}
	return strconv.FormatInt(int64(g), 10)
}

func consumerConflict(expected, got any) error {
	return fault.New(fault.Conflict, CodeConcurrentUpdate,
		"consumer generation conflict - expected %v but got %v", expected, got)
}

// lookUp notes the lines of a consumer's claim.
func (w *claimWork) lookUp(c *claimedConsumer) error {
	if len(c.Allocations) == 0 {
		return w.clear(c)
	}
	for _, a := range c.Allocations {
		p, err := w.claimed(a.Provider)
		if errors.Is(err, ErrNoRow) {
			return fault.New(fault.Invalid, "", "Allocation for resource provider '%s' that does not exist.", a.Provider)
		}
		if err != nil {
			return err
		}
		for _, r := range a.Resources {
			id, err := w.class(r.Class)
			if err != nil {
				return err
			}
			w.lines = append(w.lines, claimLine{c, p, id, r.Class, r.Amount})
		}
	}
	return nil
}

// class returns the id of a class, -1 when there is none, which is told when all
// providers are known to exist. What the world says of custom classes may be
// old: another service may have made, renamed or deleted one.
func (w *claimWork) class(name string) (ClassID, error) {
	if id, ok := w.names.Class(name); ok && (id < FirstCustomClass || !w.shared) {
		return id, nil
	}
	if w.fresh == nil {
		var err error
		if w.fresh, err = w.classIDs(); err != nil {
			return 0, err
		}
	}
	if id, ok := w.fresh[name]; ok {
		return id, nil
	}
	return -1, nil
}

// clear notes that all a consumer holds is to go. Its providers count as
// touched.
func (w *claimWork) clear(c *claimedConsumer) error {
	for _, h := range c.holds {
		p, err := w.claimed(h.ProviderUUID)
		if err != nil {
			return err
		}
		w.lines = append(w.lines, claimLine{c, p, h.Class, w.names.ClassName(h.Class), 0})
	}
	return nil
}

// claimed finds a provider that a claim touches.
func (w *claimWork) claimed(uuid UUID) (*claimedProvider, error) {
	if p := w.providers[uuid]; p != nil {
		return p, nil
	}
	row, err := w.provider(uuid)
	if err != nil {
		return nil, err
	}
	p := &claimedProvider{row: row, stocks: make(map[ClassID]*claimedStock)}
	w.providers[uuid] = p
	w.order = append(w.order, p)
	return p, nil
}

// reread looks at the providers again, after their inventories were changed.
func (w *claimWork) reread() error {
	for _, p := range w.order {
		row, err := w.provider(p.row.UUID)
		if err != nil {
			return err
		}
		p.row = row
	}
	return nil
}

// write checks the lines and writes them.
func (w *claimWork) write() error {
	for _, l := range w.lines {
		if l.class < 0 {
			return unknownClass(classUnknown(l.name))
		}
	}
	if err := w.loadStocks(); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	lines := w.lines // in the order of the consumers
	for i := range w.consumers {
		c := &w.consumers[i]
		own := 0
		for own < len(lines) && lines[own].consumer == c {
			own++
		}
		if err := w.writeConsumer(c, lines[:own]); err != nil {
			return err
		}
		lines = lines[own:]
	}
	for _, p := range w.order {
		if err := w.BumpProvider(p.row.ID, p.row.Generation); err != nil {
			return err
		}
		w.changes.Tree(p.row.Root)
	}
	return nil
}

// loadStocks reads the inventories of all touched providers, with the usage of
// the claims' own consumers taken off.
func (w *claimWork) loadStocks() error {
	byID := make(map[int64]*claimedProvider, len(w.order))
	ids := make([]int64, len(w.order))
	for i, p := range w.order {
		ids[i], byID[p.row.ID] = p.row.ID, p
	}
	rows, err := w.Inventories(ids...)
	if err != nil {
		return err
	}
	for _, r := range rows {
		byID[r.Provider].stocks[r.Class] = &claimedStock{Inventory: r.Inventory, before: r.Used, used: r.Used}
	}
	for i := range w.consumers {
		for _, h := range w.consumers[i].holds {
			if p := byID[h.Provider]; p != nil && p.stocks[h.Class] != nil {
				p.stocks[h.Class].used -= h.Used
			}
		}
	}
	return nil
}

// check holds every line against its inventory, in the order of the claims.
func (w *claimWork) check() error {
	if err := w.checkOffered(); err != nil {
		return err
	}
	for _, l := range w.lines {
		if l.amount == 0 {
			continue
		}
		stock := l.provider.stocks[l.class]
		if stock == nil {
			return refusedClaim(inventoryInvalid(l.name, string(l.provider.row.UUID)))
		}
		if !stock.Admits(l.amount) {
			return l.refuse("violate inventory constraints")
		}
		stock.asked += l.amount
		if !stock.Fits(stock.used, stock.asked) && !stock.relieved() {
			return l.refuse("exceed the capacity")
		}
	}
	return nil
}

// relieved reports whether a provider that is over its capacity gets no worse
// by the claims: then they are accepted (upstream since 2023.2).
func (s *claimedStock) relieved() bool {
	return s.before > 0 && s.used+s.asked <= s.before
}

func (l claimLine) refuse(why string) error {
	return refusedClaim("Unable to create allocation for '" + l.name + "' on resource provider '" +
		string(l.provider.row.UUID) + "'. The requested amount would " + why + ".")
}

// checkOffered refuses claims that name providers which offer none of all the
// classes asked for. Upstream tells them together.
func (w *claimWork) checkOffered() error {
	asked, named := make(map[ClassID]string), make(map[*claimedProvider]bool, len(w.order))
	for _, l := range w.lines {
		asked[l.class], named[l.provider] = l.name, true
	}
	var bare []string
	for _, p := range w.order {
		if !p.offersAny(asked) && named[p] {
			bare = append(bare, string(p.row.UUID))
		}
	}
	if len(bare) == 0 {
		return nil
	}
	ids := make([]ClassID, 0, len(asked))
	for id := range asked {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = asked[id]
	}
	return refusedClaim(inventoryInvalid(strings.Join(names, ", "), strings.Join(bare, ", ")))
}

func (p *claimedProvider) offersAny(classes map[ClassID]string) bool {
	for id := range p.stocks {
		if _, ok := classes[id]; ok {
			return true
		}
	}
	return false
}

// writeConsumer replaces what one consumer holds with its lines. A consumer that holds
// nothing afterwards is removed, and one that never was is not made.
func (w *claimWork) writeConsumer(c *claimedConsumer, lines []claimLine) error {
	var rows []AllocationRow
	for _, l := range lines {
		if l.amount > 0 {
			rows = append(rows, AllocationRow{Provider: l.provider.row.ID, Consumer: c.Consumer, Class: l.class, Used: l.amount})
		}
	}
	if len(c.holds) > 0 {
		if _, err := w.Writer.DeleteAllocations(c.Consumer); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		if c.row.ID == 0 {
			return nil
		}
		return w.DeleteConsumer(c.row.ID, c.row.Generation)
	}
	if err := w.keepConsumer(c); err != nil {
		return err
	}
	return w.InsertAllocations(rows...)
}

// keepConsumer makes the consumer or brings it up to date, and raises its
// generation.
func (w *claimWork) keepConsumer(c *claimedConsumer) error {
	want := ConsumerRow{ID: c.row.ID, UUID: c.Consumer, Project: c.Project, User: c.User, Type: c.row.Type, Generation: c.row.Generation}
	if c.Type != "" {
		want.Type = c.Type
	}
	if c.row.ID == 0 {
		id, err := w.InsertConsumer(want)
		if errors.Is(err, ErrUUIDTaken) {
			return ErrStale
		}
		if err != nil {
			return err
		}
		return w.BumpConsumer(id, 0)
	}
	if want != c.row {
		if err := w.UpdateConsumer(want); err != nil {
			return err
		}
	}
	return w.BumpConsumer(c.row.ID, c.row.Generation)
}
