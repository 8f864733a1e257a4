package explain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Change is a change of a single constraint of a query.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	Group string     `json:"group"`
	// Name is what is not requested any more, or less: a trait ("A or B" where one of several was
	// wanted), a class, classes, aggregates, suffixes.
	Name string `json:"name"`
	// From and To are the amounts of a LowerAmount or LowerAmounts.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Hosts is how many hosts fit with the change, and Names are some that do not fit without it.
	Hosts int      `json:"hosts"`
	Names []string `json:"names"`

	query func() placement.Query // made when it is searched for: of a query with many groups there are many changes
}

// A ChangeKind is a kind of change.
type ChangeKind string

// All kinds, the smallest change first: of changes that help as many hosts this is the order.
const (
	LowerAmount        ChangeKind = "amount"              // less of a class
	LowerAmounts       ChangeKind = "amounts"             // less of each class of a group with the same amount of each
	WithoutIsolation   ChangeKind = "group_policy"        // none instead of isolate
	WithoutSubtree     ChangeKind = "same_subtree"        // without one of the sets
	WithoutForbidden   ChangeKind = "forbidden"           // a forbidden trait may be there
	WithoutRequired    ChangeKind = "required"            // a required trait may be missing
	WithoutRootTrait   ChangeKind = "root_required"       // so for the host's root
	WithoutRootForbid  ChangeKind = "root_forbidden"      // and
	WithoutMemberOf    ChangeKind = "member_of"           // any aggregate will do
	WithoutNotMemberOf ChangeKind = "forbidden_member_of" // even those that were excluded
	WithoutInTree      ChangeKind = "in_tree"             // any host will do
	WithoutClass       ChangeKind = "class"               // a class is not requested
	WithoutGroup       ChangeKind = "group"               // a whole group is not requested
	maxNames                      = 5                     // of Change.Names
	maxSums                       = 1 << 12               // of amounts that other requests want of a class
)

var changeOrder = []ChangeKind{
	LowerAmount, LowerAmounts, WithoutIsolation, WithoutSubtree, WithoutForbidden, WithoutRequired, WithoutRootTrait,
	WithoutRootForbid,
	WithoutMemberOf, WithoutNotMemberOf, WithoutInTree, WithoutClass, WithoutGroup,
}

// String says what is changed, for people, to follow "if".
func (c Change) String() string { return c.describe(groupName) }

// describe is String with other names of groups.
func (c Change) describe(owner func(suffix string) string) string {
	suffix := ""
	if c.Group != "" {
		suffix = " by " + owner(c.Group)
	}
	switch c.Kind {
	case LowerAmount:
		return fmt.Sprintf("%d %s less were requested%s (%d instead of %d)", c.From-c.To, c.Name, suffix, c.To, c.From)
	case LowerAmounts:
		return fmt.Sprintf("%d less of each of %s were requested%s (%d instead of %d)", c.From-c.To, c.Name, suffix, c.To,
			c.From)
	case WithoutIsolation:
		return "several groups could have the same provider (group_policy none)"
	case WithoutSubtree:
		return "the groups " + c.Name + " were not needed in one subtree"
	case WithoutForbidden, WithoutNotMemberOf:
		return c.Name + " were not forbidden" + suffix
	case WithoutRootForbid:
		if c.Name == disabled {
			return "disabled hosts were enabled"
		}
		return c.Name + " were not forbidden of the host"
	case WithoutRootTrait:
		return c.Name + " were not required of the host"
	case WithoutMemberOf:
		return "no member of the aggregates " + c.Name + " were requested" + suffix
	case WithoutInTree:
		return "any host would do" + suffix
	case WithoutGroup:
		if c.Group != "" {
			return owner(c.Group) + " were not there"
		}
	}
	return c.Name + " were not requested" + suffix
}

// groupName says which group a suffix is.
func groupName(suffix string) string {
	if suffix == "" {
		return "the group without suffix"
	}
	return "group " + suffix
}

// disabled is the trait of hosts whose compute service is disabled.
const disabled = "COMPUTE_STATUS_DISABLED"

// changes returns the changes with which more hosts fit than those that fit now.
func changes(
	ctx context.Context, s *snapshot.Snapshot, q placement.Query, fitting map[*snapshot.Tree]bool,
) ([]Change, error) {
	list := relaxed(q)
	for i, g := range q.Groups {
		same := g.Suffix != "" && len(g.Resources) > 1 // such as both directions of a guarantee
		for j, r := range g.Resources {
			list = append(list, lowered(ctx, s, q, i, g.Resources[j:j+1], fitting)...)
			same = same && r.Amount == g.Resources[0].Amount
		}
		if same {
			list = append(list, lowered(ctx, s, q, i, g.Resources, fitting)...)
		}
	}
	helpful := []Change{}
	for _, c := range list {
		if ctx.Err() != nil {
			break
		}
		r, err := candidates.Search(s, c.query())
		if err != nil {
			continue // refused for something else that is unknown
		}
		c.Names = []string{}
		for tree := range r.Until(ctx.Done()).Anchors() {
			c.Hosts++
			if !fitting[tree] && len(c.Names) < maxNames {
				c.Names = append(c.Names, tree.Root().Name)
			}
		}
		if c.Hosts > len(fitting) {
			helpful = append(helpful, c)
		}
	}
	slices.SortStableFunc(helpful, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Hosts, a.Hosts),
			cmp.Compare(slices.Index(changeOrder, a.Kind), slices.Index(changeOrder, b.Kind)))
	})
	return helpful, ctx.Err()
}

// relaxed returns all queries with one constraint less.
func relaxed(q placement.Query) (list []Change) {
	if len(q.Groups) == 0 {
		return nil
	}
	add := func(kind ChangeKind, group, name string, edit func(*placement.Query)) {
		list = append(list, Change{Kind: kind, Group: group, Name: name, query: func() placement.Query {
			next := q
			next.Groups = slices.Clone(q.Groups)
			edit(&next)
			return next
		}})
	}
	if q.Isolate {
		add(WithoutIsolation, "", "", func(q *placement.Query) { q.Isolate = false })
	}
	for i, set := range q.SameSubtrees {
		add(WithoutSubtree, "", strings.Join(set, ", "), func(q *placement.Query) {
			q.SameSubtrees = without(q.SameSubtrees, i)
		})
	}
	for i, trait := range q.RootRequired {
		add(WithoutRootTrait, "", trait, func(q *placement.Query) { q.RootRequired = without(q.RootRequired, i) })
	}
	for i, trait := range q.RootForbidden {
		add(WithoutRootForbid, "", trait, func(q *placement.Query) { q.RootForbidden = without(q.RootForbidden, i) })
	}
	for k, g := range q.Groups {
		for i, anyOf := range g.Required {
			add(WithoutRequired, g.Suffix, strings.Join(anyOf, " or "), func(q *placement.Query) {
				q.Groups[k].Required = without(g.Required, i)
			})
		}
		for i, trait := range g.Forbidden {
			add(WithoutForbidden, g.Suffix, trait, func(q *placement.Query) { q.Groups[k].Forbidden = without(g.Forbidden, i) })
		}
		for i, anyOf := range g.MemberOf {
			add(WithoutMemberOf, g.Suffix, uuids(anyOf, " or "), func(q *placement.Query) {
				q.Groups[k].MemberOf = without(g.MemberOf, i)
			})
		}
		if len(g.NotMemberOf) > 0 {
			add(WithoutNotMemberOf, g.Suffix, uuids(g.NotMemberOf, ", "), func(q *placement.Query) {
				q.Groups[k].NotMemberOf = nil
			})
		}
		if g.InTree != "" {
			add(WithoutInTree, g.Suffix, string(g.InTree), func(q *placement.Query) { q.Groups[k].InTree = "" })
		}
		for i, c := range g.Resources {
			if !hasOneClass(g) {
				add(WithoutClass, g.Suffix, c.Class, func(q *placement.Query) { *q = withoutClass(*q, k, i) })
			}
		}
		if len(q.Groups) > 1 && (g.Suffix != "" || hasOneClass(g)) {
			add(WithoutGroup, g.Suffix, cmp.Or(g.Suffix, firstClass(g)), func(q *placement.Query) { *q = withoutGroup(*q, k) })
		}
	}
	return list
}

// hasOneClass reports whether a group requests nothing without its only class.
func hasOneClass(g placement.RequestGroup) bool {
	return len(g.Resources) == 1 && (g.Suffix == "" || len(g.Required)+len(g.MemberOf) == 0)
}

func firstClass(g placement.RequestGroup) string {
	if len(g.Resources) == 0 {
		return ""
	}
	return g.Resources[0].Class
}

// withoutClass returns a query with a class less in a group, and without the group when it requests
// nothing then.
func withoutClass(q placement.Query, group, i int) placement.Query {
	if hasOneClass(q.Groups[group]) {
		return withoutGroup(q, group)
	}
	q.Groups = slices.Clone(q.Groups)
	q.Groups[group].Resources = without(q.Groups[group].Resources, i)
	return q
}

// withoutGroup returns a query without a group, which no set of same_subtree names then.
func withoutGroup(q placement.Query, group int) placement.Query {
	suffix := q.Groups[group].Suffix
	q.Groups = without(q.Groups, group)
	sets := make([][]string, len(q.SameSubtrees))
	for i, set := range q.SameSubtrees {
		sets[i] = slices.DeleteFunc(slices.Clone(set), func(s string) bool { return s == suffix })
	}
	q.SameSubtrees = sets
	return q
}

// without returns a list without one of its elements. The list itself does not change.
func without[E any](list []E, i int) []E { return slices.Delete(slices.Clone(list), i, i+1) }

func uuids(list []placement.UUID, between string) string {
	words := make([]string, len(list))
	for i, uuid := range list {
		words[i] = string(uuid)
	}
	return strings.Join(words, between)
}

// lowered returns the query with less of some classes of a group, of each of which it requests the
// same amount: with the greatest amount that a host could still serve, and with the one that every
// host could that would fit without these classes. It returns nothing when no amount helps.
func lowered(
	ctx context.Context, s *snapshot.Snapshot, q placement.Query, group int, resources []placement.ClassAmount,
	fitting map[*snapshot.Tree]bool,
) (list []Change) {
	if ctx.Err() != nil {
		return nil
	}
	requested := resources[0].Amount
	names := make([]string, len(resources))
	classes := make([]placement.ClassID, len(resources))
	sums := make([]map[int64]bool, len(resources))
	for i, r := range resources {
		class, ok := s.Class(r.Class)
		if !ok {
			return nil
		}
		names[i], classes[i], sums[i] = r.Class, class, sumsOfOthers(q, group, r.Class)
	}
	with := func(amount int64) placement.Query {
		next := q
		next.Groups = slices.Clone(q.Groups)
		next.Groups[group].Resources = slices.Clone(q.Groups[group].Resources)
		for i, r := range next.Groups[group].Resources {
			if slices.Contains(names, r.Class) {
				next.Groups[group].Resources[i].Amount = amount
			}
		}
		return next
	}
	// 1. The amounts that could be the greatest in some tree: what a provider has left of one of
	// the classes next to other requests for it, in units of all.
	trees := map[int64][]*snapshot.Tree{}
	values := func(p *snapshot.Provider, yield func(int64)) {
		step := int64(1)
		for _, class := range classes {
			inventory := p.Inventory(class)
			if inventory == nil {
				return
			}
			step = leastCommonMultiple(step, max(inventory.StepSize, 1))
		}
		for i, class := range classes {
			for sum := range sums[i] {
				if v := maxAfter(p.Inventory(class), sum, requested-1); v >= step {
					yield(v - v%step)
				}
			}
		}
	}
	shared := map[int64]bool{} // amounts of sharing providers, which may serve any tree
	possible := possibleWithout(ctx, s, q, group, names, fitting)
	for tree := range s.Trees() {
		if ctx.Err() != nil {
			return nil
		}
		own := map[int64]bool{}
		for _, p := range tree.Providers {
			if p.Shares {
				values(p, func(v int64) { shared[v] = true })
			}
			if possible[tree] {
				values(p, func(v int64) { own[v] = true })
			}
		}
		for v := range own {
			trees[v] = append(trees[v], tree)
		}
	}
	for v := range shared {
		trees[v] = slices.Collect(maps.Keys(possible))
	}
	// 2. The greatest of each tree, by a search for it.
	var greatest []int64
	for _, v := range slices.Backward(slices.Sorted(maps.Keys(trees))) {
		r, err := candidates.Search(s, with(v))
		if err != nil || ctx.Err() != nil {
			break
		}
		for _, tree := range trees[v] {
			if possible[tree] && r.Until(ctx.Done()).HasAnchor(tree) {
				delete(possible, tree)
				greatest = append(greatest, v)
			}
		}
	}
	if len(greatest) == 0 {
		return nil
	}
	kind := LowerAmount
	if len(names) > 1 {
		kind = LowerAmounts
	}
	for _, target := range slices.Compact([]int64{greatest[0], greatest[len(greatest)-1]}) {
		list = append(list, Change{
			Kind: kind, Group: q.Groups[group].Suffix, Name: strings.Join(names, ", "), From: requested, To: target,
			query: func() placement.Query { return with(target) },
		})
	}
	return list
}

// leastCommonMultiple returns that of two positive numbers.
func leastCommonMultiple(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// possibleWithout returns hosts that do not fit now: all that would with some amount of the
// classes, and maybe others. They are those that fit without the classes, and without what the
// provider of a class may contribute to: the required traits of the group without suffix, and the
// sets of same_subtree with the group.
func possibleWithout(
	ctx context.Context, s *snapshot.Snapshot, q placement.Query, group int, classes []string,
	fitting map[*snapshot.Tree]bool,
) map[*snapshot.Tree]bool {
	possible := map[*snapshot.Tree]bool{}
	if q.Groups[group].Suffix == "" {
		q.Groups = slices.Clone(q.Groups)
		q.Groups[group].Required = nil
	}
	q.SameSubtrees = slices.DeleteFunc(slices.Clone(q.SameSubtrees), func(set []string) bool {
		return slices.Contains(set, q.Groups[group].Suffix)
	})
	groups := len(q.Groups)
	for i := len(q.Groups[group].Resources) - 1; i >= 0 && len(q.Groups) == groups; i-- {
		if slices.Contains(classes, q.Groups[group].Resources[i].Class) {
			q = withoutClass(q, group, i)
		}
	}
	if len(q.Groups) == 0 { // nothing else is requested
		for tree := range s.Trees() {
			possible[tree] = !fitting[tree]
		}
		return possible
	}
	if r, err := candidates.Search(s, q); err == nil {
		for tree := range r.Until(ctx.Done()).Anchors() {
			if !fitting[tree] {
				possible[tree] = true
			}
		}
	}
	return possible
}

// sumsOfOthers returns how much the other requests for a class could take together of the provider
// that serves a group, by their numbers: the sums of all subsets, up to maxSums of them.
func sumsOfOthers(q placement.Query, group int, class string) map[int64]bool {
	sums := map[int64]bool{0: true}
	for i, g := range q.Groups {
		for _, c := range g.Resources {
			if i == group || c.Class != class {
				continue
			}
			if len(sums) == maxSums {
				return sums
			}
			for _, sum := range slices.Sorted(maps.Keys(sums)) {
				if more := sum + c.Amount; len(sums) < maxSums && more > sum {
					sums[more] = true
				}
			}
		}
	}
	return sums
}

// maxAfter returns the greatest amount up to a limit that an inventory has left when so much more
// of it is taken, within its units; 0 for none.
func maxAfter(i *snapshot.Inventory, taken, limit int64) int64 {
	if i.Capacity() <= 0 {
		return 0
	}
	most := min(i.Capacity()-i.Used-taken, i.MaxUnit-taken, limit)
	if i.StepSize > 1 {
		most -= most % i.StepSize
	}
	if most < max(i.MinUnit, 1) {
		return 0
	}
	return most
}
