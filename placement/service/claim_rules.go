package service

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// The rules of claims. They decide on a state of providers and consumers that is given to
// them, and read nothing: the state comes from the snapshot or from rows (claim_group.go).
// What they return is rows to write, each of which names what it must find.

// refusedClaim is the text about a claim that the inventories do not allow. Its text follows that
// of upstream's exceptions InvalidInventory, InvalidAllocationConstraintsViolated and
// InvalidAllocationCapacityExceeded.
type refusedClaim string

func (r refusedClaim) Error() string { return string(r) }

// A claimRequest is claims that are accepted or refused as one, or the release of all that
// a consumer has.
type claimRequest struct {
	claims  []placement.Claim // of a release one, which names the consumer
	release bool
	// rows has the request decided from rows at once.
	rows bool
	// cause is the request.
	cause placement.Cause
}

// A claimState is the state of providers that requests are decided on, one after the other,
// and what those that were accepted change. It belongs to one transaction and one goroutine. A
// refused request leaves it as it was: accept and free come after all checks.
type claimState struct {
	snapshot *snapshot.Snapshot
	// unpublished leads from trees of the snapshot to what this service's own commits made of
	// them since. A chain of several commits is followed to its end.
	unpublished map[*snapshot.Tree]*snapshot.Tree
	// classes are the ids of resource classes by name, nil when the snapshot knows them.
	classes map[string]placement.ClassID

	pending snapshot.Pending
	trees   []*snapshot.Tree // that what is pending is about, as they were before
	raised  map[int64]int    // by provider: its place in rows.Providers
	rows    placement.ClaimRows

	events   []placement.Event         // of the request that is being decided
	requests []placement.RequestEvents // of those that were accepted
}

// newClaimState returns the state of a snapshot with nothing pending.
func newClaimState(snap *snapshot.Snapshot) *claimState {
	return &claimState{snapshot: snap, pending: snapshot.NewPending(), raised: make(map[int64]int)}
}

// A claimLine is one amount of one class on one provider for the consumer of a claim.
// Amount 0 stands for what is taken from a consumer that is to have nothing.
type claimLine struct {
	claim    int // its place in the request
	provider placement.UUID
	class    placement.ClassID // -1 when there is none of that name
	name     string
	amount   int64
}

// provider finds a provider and its tree as they are by now, nil when there is none. Commits of
// claims keep the providers of a tree and their places, so that the index in the old tree is good
// in the new one.
func (s *claimState) provider(uuid placement.UUID) (*snapshot.Provider, *snapshot.Tree) {
	found, t := s.snapshot.Provider(uuid)
	if found == nil {
		return nil, nil
	}
	for next := s.unpublished[t]; next != nil; next = s.unpublished[t] {
		t = next
	}
	return t.Providers[found.Index], t
}

// class returns the id of a class, -1 when there is none of that name.
func (s *claimState) class(name string) placement.ClassID {
	id, ok := s.snapshot.Class(name)
	if s.classes != nil {
		id, ok = s.classes[name]
	}
	if !ok {
		return -1
	}
	return id
}

// decide accepts or refuses a request about consumers, in the order of its claims. It
// returns ErrStale when the consumers have what the providers do not show, else why the
// request is refused: a fault, an unknownClass or a refusedClaim. A request that breaks several
// rules gets the fault of the first, in this order: generations of the consumers, providers,
// classes, inventories, units, capacity.
func (s *claimState) decide(r *claimRequest, consumers []placement.ConsumerState) error {
	s.events = nil
	var err error
	if r.release {
		err = s.release(consumers[0])
	} else {
		var lines []claimLine
		if lines, err = s.lines(r.claims, consumers); err == nil {
			err = s.claim(r.claims, consumers, lines)
		}
	}
	if err == nil && len(s.events) > 0 {
		s.requests = append(s.requests, placement.RequestEvents{Cause: r.cause, Events: s.events})
	}
	return err
}

// release accepts that a consumer gives back all that it has. A consumer whose allocations are all
// on providers that were deleted has none as far as the API shows: that is NotFound.
func (s *claimState) release(who placement.ConsumerState) error {
	visible := func(h placement.AllocatedAmount) bool { return h.ProviderUUID != "" }
	if who.ID == 0 || !slices.ContainsFunc(who.Allocations, visible) {
		return fault.New(fault.NotFound, "", "No allocations for consumer '%s'", who.UUID)
	}
	if err := s.owns(who, make(map[snapshot.InventoryKey]int64)); err != nil {
		return err
	}
	var a amounts
	s.addHeld(&a, who)
	s.addEvents(who.UUID, a)
	s.free(who)
	s.rows.Deletes = append(s.rows.Deletes, who.Row())
	return nil
}

// lines looks up what claims request. It refuses those that cannot be meant: for another
// generation of the consumer, or on providers that do not exist. A claim without allocations gets
// lines of amount 0 for what its consumer has, so that the generations of those providers rise, as
// upstream's do.
func (s *claimState) lines(claims []placement.Claim, consumers []placement.ConsumerState) ([]claimLine, error) {
	for i, c := range claims {
		if err := expects(c.Seen, consumers[i]); err != nil {
			return nil, err
		}
	}
	var lines []claimLine
	for i, c := range claims {
		for _, a := range c.Allocations {
			if p, _ := s.provider(a.Provider); p == nil {
				return nil, fault.New(fault.Invalid, "", "Allocation for resource provider '%s' that does not exist.", a.Provider)
			}
			for _, r := range a.Resources {
				lines = append(lines, claimLine{i, a.Provider, s.class(r.Class), r.Class, r.Amount})
			}
		}
		if len(c.Allocations) > 0 {
			continue
		}
		for _, h := range consumers[i].Allocations {
			if h.ProviderUUID != "" {
				lines = append(lines, claimLine{i, h.ProviderUUID, h.Class, s.snapshot.ClassName(h.Class), 0})
			}
		}
	}
	return lines, nil
}

// expects compares what the client knows of the consumer with what is. The words null and None are
// upstream's: it compares a consumer that does not exist with null and writes what the client sent
// as Python does.
func expects(seen *placement.ConsumerSeen, who placement.ConsumerState) error {
	if seen == nil {
		return nil
	}
	got := spelled(seen.Generation, seen.Spelled)
	switch {
	case who.ID == 0 && seen.Exists:
		return consumerConflict("null", got)
	case who.ID != 0 && !seen.Exists:
		return consumerConflict(who.Generation, "None")
	case who.ID != 0 && who.Generation != seen.Generation:
		return consumerConflict(who.Generation, got)
	}
	return nil
}

// spelled is a generation as the client wrote it. Conflicts repeat it, and upstream repeats what it
// parsed: Python's JSON distinguishes 1.0 from 1.
func spelled(g placement.Generation, as string) string {
	if as != "" {
		return as
	}
	return strconv.FormatInt(int64(g), 10)
}

// consumerConflict is the fault of a claim that names another generation of its consumer than it
// has (microversion 1.28). Upstream answers it without a retry of its own.
func consumerConflict(expected, got any) error {
	return fault.New(fault.Conflict, placement.CodeConcurrentUpdate,
		"consumer generation conflict - expected %v but got %v", expected, got)
}

// A claimedProvider is a provider that the lines of a request name. The tree is stored with it for
// the row of the bump, which names the root.
type claimedProvider struct {
	*snapshot.Provider
	tree *snapshot.Tree
}

// claim accepts claims whose lines were looked up, unless the inventories do not allow
// them. What their consumers have counts as free, whichever of them has it. Amounts of one class on
// one provider are summed over all claims of the request before they are compared with the
// capacity, while units and steps are checked for each.
func (s *claimState) claim(claims []placement.Claim, consumers []placement.ConsumerState, lines []claimLine) error {
	for _, l := range lines {
		if l.class < 0 {
			return unknownClass(placement.ClassUnknown(l.name))
		}
	}
	own := make(map[snapshot.InventoryKey]int64)
	for _, who := range consumers {
		if err := s.owns(who, own); err != nil {
			return err
		}
	}
	order, byUUID := s.claimed(lines)
	if err := checkOffered(order, lines); err != nil {
		return err
	}
	expected := make(map[snapshot.InventoryKey]int64)
	for _, l := range lines {
		if l.amount == 0 {
			continue
		}
		p := byUUID[l.provider]
		inventory := p.Inventory(l.class)
		if inventory == nil {
			return refusedClaim(inventoryInvalid(l.name, string(p.UUID)))
		}
		if !inventory.Admits(l.amount) {
			return l.refuse(p.UUID, "violate inventory constraints")
		}
		key := snapshot.InventoryKey{Provider: p.ID, Class: l.class}
		expected[key] += l.amount
		before := inventory.Used + s.pending.Used[key]
		used := before - own[key]
		// A provider that is over its capacity may get no worse (upstream since 2023.2).
		relieved := before > 0 && used+expected[key] <= before
		if !inventory.Fits(used, expected[key]) && !relieved {
			return l.refuse(p.UUID, "exceed the capacity")
		}
	}
	s.accept(claims, consumers, lines, byUUID)
	for _, p := range order {
		s.raise(p.Provider, p.tree)
	}
	return nil
}

// owns adds up what a consumer has. It returns ErrStale when its providers do not show it. An
// amount that is larger than what its inventory shows in use means that the snapshot is older than
// the row of the consumer, or newer.
func (s *claimState) owns(who placement.ConsumerState, sum map[snapshot.InventoryKey]int64) error {
	for _, h := range who.Allocations {
		if h.ProviderUUID == "" {
			continue
		}
		p, tree := s.provider(h.ProviderUUID)
		if p == nil || p.ID != h.Provider || h.Root != 0 && tree.Root().ID != h.Root {
			return placement.ErrStale
		}
		key := snapshot.InventoryKey{Provider: h.Provider, Class: h.Class}
		// Without inventory only the allocations are left.
		if inventory := p.Inventory(h.Class); inventory != nil && inventory.Used+s.pending.Used[key] < sum[key]+h.Used {
			return placement.ErrStale
		}
		sum[key] += h.Used
	}
	return nil
}

// claimed returns the providers of lines, in the order in which they are named first, and
// by the UUIDs that name them.
func (s *claimState) claimed(lines []claimLine) (order []*claimedProvider, byUUID map[placement.UUID]*claimedProvider) {
	byUUID = make(map[placement.UUID]*claimedProvider)
	byID := make(map[int64]*claimedProvider)
	for _, l := range lines {
		if byUUID[l.provider] != nil {
			continue
		}
		p, tree := s.provider(l.provider)
		if byID[p.ID] == nil { // two spellings may name one
			byID[p.ID] = &claimedProvider{p, tree}
			order = append(order, byID[p.ID])
		}
		byUUID[l.provider] = byID[p.ID]
	}
	return order, byUUID
}

// refuse returns why the inventory does not allow the line, in the words of upstream's exceptions
// InvalidAllocationConstraintsViolated and InvalidAllocationCapacityExceeded.
func (l claimLine) refuse(provider placement.UUID, why string) error {
	return refusedClaim("Unable to create allocation for '" + l.name + "' on resource provider '" +
		string(provider) + "'. The requested amount would " + why + ".")
}

// checkOffered refuses claims that name providers which offer none of all the classes
// requested. Upstream names them all in one message. Classes are named in the order of their ids
// and providers in the order of the request; upstream iterates over sets, whose order means
// nothing.
func checkOffered(order []*claimedProvider, lines []claimLine) error {
	expected := make(map[placement.ClassID]string)
	for _, l := range lines {
		expected[l.class] = l.name
	}
	var bare []string
	for _, p := range order {
		offers := func(s snapshot.Inventory) bool { _, ok := expected[s.Class]; return ok }
		if !slices.ContainsFunc(p.Inventories, offers) {
			bare = append(bare, string(p.UUID))
		}
	}
	if len(bare) == 0 {
		return nil
	}
	ids := make([]placement.ClassID, 0, len(expected))
	for id := range expected {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = expected[id]
	}
	return refusedClaim(inventoryInvalid(strings.Join(names, ", "), strings.Join(bare, ", ")))
}

// accept adds the rows of claims. A consumer that has nothing afterwards is removed, and
// one that did not exist is not added. Consumers are freed first, all of them: a request may move
// allocations from one of its consumers to another (POST /allocations).
func (s *claimState) accept(
	claims []placement.Claim, consumers []placement.ConsumerState, lines []claimLine,
	byUUID map[placement.UUID]*claimedProvider,
) {
	changed := make([]amounts, len(claims))
	for i, who := range consumers {
		s.addHeld(&changed[i], who)
		s.free(who)
	}
	has := make([]bool, len(claims))
	for _, l := range lines {
		if l.amount == 0 {
			continue
		}
		p := byUUID[l.provider]
		has[l.claim] = true
		changed[l.claim].at(p.Provider, p.tree, l.class, l.name).after += l.amount
		s.touch(p.tree)
		s.pending.Used[snapshot.InventoryKey{Provider: p.ID, Class: l.class}] += l.amount
		s.rows.Allocations = append(s.rows.Allocations, placement.AllocationRow{
			Provider: p.ID, ProviderUUID: p.UUID, Consumer: claims[l.claim].Consumer, Class: l.class, Used: l.amount,
		})
	}
	for i, c := range claims {
		who := consumers[i]
		s.addEvents(c.Consumer, changed[i])
		row := placement.ConsumerRow{
			ID: who.ID, UUID: c.Consumer, Project: c.Project, User: c.User, Type: c.Type, Generation: who.Generation,
		}
		switch {
		case !has[i] && who.ID != 0:
			s.rows.Deletes = append(s.rows.Deletes, who.Row())
		case !has[i]:
		case who.ID == 0:
			s.rows.Inserts = append(s.rows.Inserts, row)
		default:
			s.rows.Updates = append(s.rows.Updates, row)
		}
	}
}

// free takes off all that a consumer has, which owns found its providers to show. Usage of an
// inventory that was deleted meanwhile is not subtracted: there is no total to subtract it from.
func (s *claimState) free(who placement.ConsumerState) {
	if len(who.Allocations) == 0 {
		return
	}
	for _, h := range who.Allocations {
		if h.ProviderUUID == "" {
			continue
		}
		p, tree := s.provider(h.ProviderUUID)
		s.touch(tree)
		if p.Inventory(h.Class) != nil {
			s.pending.Used[snapshot.InventoryKey{Provider: h.Provider, Class: h.Class}] -= h.Used
		}
	}
	if s.rows.Released == nil {
		s.rows.Released = make(map[placement.UUID][]placement.AllocatedAmount)
	}
	s.rows.Released[who.UUID] = who.Allocations
}

// touch notes that what is pending is about a tree. Trees are few in a group, so that a list is
// searched rather than a map kept.
func (s *claimState) touch(t *snapshot.Tree) {
	if !slices.Contains(s.trees, t) {
		s.trees = append(s.trees, t)
	}
}

// raise raises the generation of a provider by one. Several requests of a group that name the
// provider make one row, from the generation before all of them.
func (s *claimState) raise(p *snapshot.Provider, tree *snapshot.Tree) {
	s.touch(tree)
	from := p.Generation + placement.Generation(s.pending.Bumps[p.ID])
	s.pending.Bumps[p.ID]++
	at, ok := s.raised[p.ID]
	if !ok {
		at = len(s.rows.Bumps)
		s.raised[p.ID] = at
		s.rows.Bumps = append(s.rows.Bumps, placement.ProviderBump{ID: p.ID, Root: tree.Root().ID, From: from})
	}
	s.rows.Bumps[at].By++
}

// empty reports whether there is nothing to write.
func (s *claimState) empty() bool {
	return len(s.trees) == 0 && len(s.rows.Deletes) == 0 && len(s.rows.Released) == 0
}

// replacements are what the trees become, with rows written at the given time. They must be made
// after all requests are decided, and once: what is pending is for the whole transaction.
func (s *claimState) replacements(written time.Time) []snapshot.Replacement {
	replacements := make([]snapshot.Replacement, len(s.trees))
	for i, t := range s.trees {
		replacements[i] = snapshot.Replacement{From: t, To: t.After(s.pending, written)}
	}
	return replacements
}

// An amountChange is what a consumer has of a class on a provider, before and after a claim.
type amountChange struct {
	provider      *snapshot.Provider
	root          placement.UUID
	class         placement.ClassID
	name          string
	before, after int64
}

// amounts are those of one consumer. They are few, so that a list is searched.
type amounts []amountChange

// at returns the one of a provider and class.
func (a *amounts) at(p *snapshot.Provider, tree *snapshot.Tree, class placement.ClassID, name string) *amountChange {
	for i := range *a {
		if change := &(*a)[i]; change.class == class && change.provider.ID == p.ID {
			return change
		}
	}
	if *a == nil {
		*a = make(amounts, 0, 8)
	}
	*a = append(*a, amountChange{provider: p, root: tree.Root().UUID, class: class, name: name})
	return &(*a)[len(*a)-1]
}

// addHeld adds what a consumer has.
func (s *claimState) addHeld(a *amounts, who placement.ConsumerState) {
	for _, h := range who.Allocations {
		if h.ProviderUUID != "" {
			p, tree := s.provider(h.ProviderUUID)
			a.at(p, tree, h.Class, s.className(h.Class)).before += h.Used
		}
	}
}

// className returns the name of a class, or its number, where only a service that shares the store
// knows it yet.
func (s *claimState) className(id placement.ClassID) string {
	if name := s.snapshot.ClassName(id); name != "" {
		return name
	}
	return strconv.Itoa(int(id))
}

// addEvents adds the events of a consumer.
func (s *claimState) addEvents(consumer placement.UUID, a amounts) {
	s.events = slices.Grow(s.events, len(a))
	for i := range a {
		change := &a[i]
		if change.before == change.after {
			continue
		}
		s.events = append(s.events, placement.Event{
			What: placement.EventAllocation, Provider: change.provider.UUID, Name: change.provider.Name, Root: change.root,
			Consumer: consumer, Subject: change.name, Before: amountText(change.before), After: amountText(change.after),
		})
	}
}

// amountText writes an amount, 0 as nothing.
func amountText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
