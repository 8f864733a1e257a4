package request

import (
	"maps"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A Shared is what a server has of a provider outside of its host's tree, which shares it with the
// hosts of some aggregates: a storage, for example.
type Shared struct {
	Provider    placement.UUID
	Aggregates  []placement.UUID
	Traits      []string
	Inventories map[string]placement.Inventory
	Used        map[string]int64 // by all consumers
	Amounts     map[string]int64 // what the server has, by class
}

// Keeping returns the request for a server that moves to a host that can use the same sharing
// providers, and the amounts of these that the server has there, by provider and class: they are
// not requested, since it has them already. A server that gets another flavor has the new amounts;
// any other one has what it has, whatever its flavor says. It returns false when nothing can be
// kept.
//
// What a class of the group without a suffix requests is kept, unless other groups request the same
// class, or the server has it of several such providers: which group is served by which provider is
// not known then.
func (r Request) Keeping(shared []Shared, resized bool) (Request, map[placement.UUID]map[string]int64, bool) {
	query, kept := keeping(r.Query, shared, resized)
	if len(kept) == 0 {
		return Request{}, nil, false
	}
	if r.Query = query; slices.ContainsFunc(query.Groups, onlyConfined) {
		r.Query = unsuffixCPUs(query)
	}
	var fallbacks []placement.Query
	for _, q := range r.fallbacks {
		if fallback, same := keeping(q, shared, resized); sameAmounts(same, kept) {
			fallbacks = append(fallbacks, fallback)
		}
	}
	r.fallbacks = fallbacks
	return r, kept, true
}

func sameAmounts(a, b map[placement.UUID]map[string]int64) bool {
	return maps.EqualFunc(a, b, func(a, b map[string]int64) bool { return maps.Equal(a, b) })
}

// keeping is Keeping for one query.
func keeping(
	q placement.Query, shared []Shared, resized bool,
) (placement.Query, map[placement.UUID]map[string]int64) {
	at := slices.IndexFunc(q.Groups, func(g placement.RequestGroup) bool { return g.Suffix == "" })
	if at < 0 {
		return q, nil
	}
	g := q.Groups[at]
	kept := map[placement.UUID]map[string]int64{}
	remaining := slices.Clone(g.Resources)
	required, memberOf := slices.Clone(g.Required), slices.Clone(g.MemberOf)
	for _, s := range shared {
		if !s.serves(g) {
			continue
		}
		for _, requested := range g.Resources {
			n := s.keeps(requested, resized)
			if n == 0 || requestedElsewhere(q, requested.Class) || servedTwice(shared, requested.Class) {
				continue
			}
			if kept[s.Provider] == nil {
				kept[s.Provider] = map[string]int64{}
			}
			kept[s.Provider][requested.Class] = n
			remaining = slices.DeleteFunc(remaining, func(r placement.ClassAmount) bool { return r.Class == requested.Class })
		}
		if kept[s.Provider] == nil {
			continue
		}
		memberOf = append(memberOf, s.Aggregates)
		// The traits of a group are those of all providers that serve it together.
		required = slices.DeleteFunc(required, func(anyOf []string) bool { return overlap(anyOf, s.Traits) })
	}
	cell := slices.ContainsFunc(q.Groups, func(g placement.RequestGroup) bool { return g.Suffix == ofCell(suffixCPUs, 0) })
	if len(remaining) == 0 && !cell { // placement refuses a group of aggregates alone
		return q, nil
	}
	g.Resources, g.Required, g.MemberOf = remaining, required, memberOf
	q.Groups = slices.Clone(q.Groups)
	q.Groups[at] = g
	return q, kept
}

// serves reports whether the provider may serve a group.
func (s Shared) serves(g placement.RequestGroup) bool {
	return len(s.Aggregates) > 0 && !overlap(s.Traits, g.Forbidden) && !overlap(s.Aggregates, g.NotMemberOf)
}

// keeps returns how much of a class the server has of the provider after its move; 0 when it has
// none, or when it cannot have as much as a new flavor requests.
func (s Shared) keeps(requested placement.ClassAmount, resized bool) int64 {
	had, n, i := s.Amounts[requested.Class], requested.Amount, s.Inventories[requested.Class]
	switch {
	case had == 0 || !resized || n == had:
		return had
	case !i.Admits(n) || !i.Fits(s.Used[requested.Class]-had, n) || !s.Divisible(requested.Class, n):
		return 0
	}
	return n
}

// Divisible reports whether the server may have some amount of a class while another consumer has
// the rest of what the server has now: that may be less than one allocation has to be.
func (s Shared) Divisible(class string, n int64) bool {
	rest := s.Amounts[class] - n
	return rest <= 0 || s.Inventories[class].Admits(rest)
}

// requestedElsewhere reports whether a group with a suffix requests a class.
func requestedElsewhere(q placement.Query, class string) bool {
	return slices.ContainsFunc(q.Groups, func(g placement.RequestGroup) bool {
		return g.Suffix != "" &&
			slices.ContainsFunc(g.Resources, func(r placement.ClassAmount) bool { return r.Class == class })
	})
}

// servedTwice reports whether a server has a class of several sharing providers.
func servedTwice(shared []Shared, class string) bool {
	n := 0
	for _, s := range shared {
		if s.Amounts[class] > 0 {
			n++
		}
	}
	return n > 1
}

func overlap[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(v T) bool { return slices.Contains(b, v) })
}
