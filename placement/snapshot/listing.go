package snapshot

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// A ProviderFilter picks providers for a listing. Zero fields do not filter.
type ProviderFilter struct {
	Name string
	UUID placement.UUID
	// InTree picks the providers of the tree that this one is in.
	InTree placement.UUID
	// Required is a conjunction of disjunctions of traits, Forbidden a list
	// of traits of which the provider may have none.
	Required  [][]string
	Forbidden []string
	// MemberOf is a conjunction of disjunctions of aggregates that the
	// provider itself must be in, NotMemberOf a list of those it may not.
	MemberOf    [][]placement.UUID
	NotMemberOf []placement.UUID
	// Resources must each have free capacity on the provider itself; what others
	// share with it does not count.
	Resources []placement.ClassAmount
}

// A Listed is a provider of a listing with its tree.
type Listed struct {
	*Provider
	Tree *Tree
}

// Providers lists the providers that pass the filter, in the order in which they
// were created, as upstream's databases do. It fails as
// Invalid for unknown classes and traits; as upstream, only when the filters
// looked at before (tree, required traits, forbidden traits, aggregates,
// resources) left something.
func (s *Snapshot) Providers(f ProviderFilter) ([]Listed, error) {
	l := listing{snapshot: s, filter: f}
	if err := l.resolve(); err != nil || l.none {
		return nil, err
	}
	return l.walk(), nil
}

// listing is a filter with its names resolved.
type listing struct {
	snapshot  *Snapshot
	filter    ProviderFilter
	none      bool // nothing can pass
	required  [][]placement.TraitID
	forbidden []placement.TraitID
	memberOf  [][]placement.AggregateID
	notMember []placement.AggregateID
	resources []wantedAmount
}

// A wantedAmount is one of the filter's resources with its class resolved.
type wantedAmount struct {
	class  placement.ClassID
	amount int64
}

// resolve looks the names up in upstream's order, in which an unknown name goes
// unnoticed when an earlier filter leaves nothing.
func (l *listing) resolve() error {
	if f := l.filter; f.InTree != "" {
		if p, _ := l.snapshot.Provider(f.InTree); p == nil {
			l.none = true
			return nil
		}
	}
	for _, step := range []func() error{l.resolveRequired, l.resolveForbidden, l.resolveAggregates, l.resolveResources} {
		if err := step(); err != nil || l.none {
			return err
		}
	}
	return nil
}

// resolveRequired refuses an unknown trait (400), and ends the listing when no provider of the
// whole snapshot has what is required.
func (l *listing) resolveRequired() error {
	for _, names := range l.filter.Required {
		ids, err := l.traits(names)
		if err != nil {
			return err
		}
		l.required = append(l.required, ids)
	}
	l.none = len(l.required) > 0 && !l.anyWith(func(p *Provider) bool { return p.hasAll(l.required) })
	return nil
}

// resolveForbidden refuses an unknown trait as well. It never ends the listing.
func (l *listing) resolveForbidden() (err error) {
	l.forbidden, err = l.traits(l.filter.Forbidden)
	return err
}

// traits resolves names, and reports the first that is unknown.
func (l *listing) traits(names []string) ([]placement.TraitID, error) {
	ids := make([]placement.TraitID, 0, len(names))
	for _, name := range names {
		id, ok := l.snapshot.Trait(name)
		if !ok {
			return nil, fault.New(fault.Invalid, "", "Invalid trait(s) in \"required\" parameter: %s",
				placement.TraitUnknown(name))
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// resolveAggregates passes over aggregates that are unknown: a set of none but those leaves
// nothing.
func (l *listing) resolveAggregates() error {
	for _, uuids := range l.filter.MemberOf {
		l.memberOf = append(l.memberOf, l.snapshot.Aggregates(uuids))
	}
	l.notMember = l.snapshot.Aggregates(l.filter.NotMemberOf)
	l.none = len(l.memberOf) > 0 && !l.anyWith(func(p *Provider) bool { return p.inAll(l.memberOf) })
	return nil
}

// resolveResources refuses a class that is unknown (400).
func (l *listing) resolveResources() error {
	for _, r := range l.filter.Resources {
		id, ok := l.snapshot.Class(r.Class)
		if !ok {
			return fault.New(fault.Invalid, "", "Invalid resource class in resources parameter: %s",
				placement.ClassUnknown(r.Class))
		}
		l.resources = append(l.resources, wantedAmount{id, r.Amount})
	}
	return nil
}

// anyWith reports whether any provider of the snapshot passes.
func (l *listing) anyWith(pass func(*Provider) bool) bool {
	for t := range l.snapshot.Trees() {
		if slices.ContainsFunc(t.Providers, pass) {
			return true
		}
	}
	return false
}

// walk collects the providers that pass, from one tree when the filter names
// one.
func (l *listing) walk() []Listed {
	var out []Listed
	for _, t := range l.trees() {
		for _, p := range t.Providers {
			if l.passes(p) {
				out = append(out, Listed{p, t})
			}
		}
	}
	slices.SortFunc(out, func(a, b Listed) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// trees returns the trees to look at: at most one when a provider is named.
func (l *listing) trees() []*Tree {
	var named []*Tree
	only := false
	narrow := func(p *Provider, t *Tree) {
		if p == nil || only && !slices.Contains(named, t) {
			named, only = nil, true
			return
		}
		named, only = []*Tree{t}, true
	}
	// The filter goes on with the spelling that the provider has.
	f := &l.filter
	if f.UUID != "" {
		p, t := l.snapshot.Provider(f.UUID)
		if narrow(p, t); p != nil {
			f.UUID = p.UUID
		}
	}
	if f.Name != "" {
		p, t := l.snapshot.ProviderNamed(f.Name)
		if narrow(p, t); p != nil {
			f.Name = p.Name
		}
	}
	if f.InTree != "" {
		narrow(l.snapshot.Provider(f.InTree))
	}
	if only {
		return named
	}
	return slices.Collect(l.snapshot.Trees())
}

// passes applies all filters but InTree, which chose the trees.
func (l *listing) passes(p *Provider) bool {
	f := l.filter
	return (f.UUID == "" || p.UUID == f.UUID) &&
		(f.Name == "" || p.Name == f.Name) &&
		p.hasAll(l.required) && !p.hasAny(l.forbidden) &&
		p.inAll(l.memberOf) && !p.inAny(l.notMember) &&
		p.hasAllFree(l.resources)
}

// hasAny reports whether the provider has one of the traits. hasAll checks that for each set, and
// inAny and inAll do so for aggregates.
func (p *Provider) hasAny(ids []placement.TraitID) bool { return slices.ContainsFunc(ids, p.HasTrait) }

func (p *Provider) hasAll(sets [][]placement.TraitID) bool {
	return !slices.ContainsFunc(sets, func(ids []placement.TraitID) bool { return !p.hasAny(ids) })
}

func (p *Provider) inAny(ids []placement.AggregateID) bool {
	return slices.ContainsFunc(ids, p.InAggregate)
}

func (p *Provider) inAll(sets [][]placement.AggregateID) bool {
	return !slices.ContainsFunc(sets, func(ids []placement.AggregateID) bool { return !p.inAny(ids) })
}

// hasAllFree reports whether each amount can be allocated on the provider now, each by itself.
func (p *Provider) hasAllFree(want []wantedAmount) bool {
	return !slices.ContainsFunc(want, func(r wantedAmount) bool {
		s := p.Inventory(r.class)
		return s == nil || !s.HasFree(r.amount)
	})
}
