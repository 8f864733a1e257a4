package explain

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// An Own is the answer to a user about the user's own query: whether some host can serve it, and
// otherwise which part of it to change. Every text in it is the kind of a change or part of the
// query. It has no name, UUID, amount or count of the cloud, and its order does not depend on them.
type Own struct {
	Fits bool `json:"fits"`
	// Changes are those of a single part of the query after which some host could serve it. It is
	// empty for a query that fits, and for one that no such change helps.
	Changes []OwnChange `json:"changes"`
}

// An OwnChange is a change of a single part of a query. Group and Name are those of [Change]. By
// how much an amount has to be lowered is not part of it.
type OwnChange struct {
	Kind  ChangeKind `json:"kind"`
	Group string     `json:"group"`
	Name  string     `json:"name"`
}

// ownKinds are the kinds of changes that are a user's choice: of the flavor, the image and the
// ports. What is left out are choices of hosts and aggregates, and what Nova requires of roots.
var ownKinds = []ChangeKind{
	LowerAmount, LowerAmounts, WithoutIsolation, WithoutSubtree, WithoutForbidden, WithoutRequired, WithoutClass,
	WithoutGroup,
}

// ExplainOwn explains a query to a user who may not see the cloud. Its limits and its sample do not
// matter. The error is that of ctx when it ends, and a fault for more than MaxGroups groups and for
// a query that names hosts or aggregates (in_tree, member_of), which a user could search for.
func ExplainOwn(ctx context.Context, s *snapshot.Snapshot, q placement.Query) (*Own, error) {
	q.Limit, q.Max, q.Sample, q.BreadthFirst, q.Flat = 0, 0, nil, false, false
	if len(q.Groups) > MaxGroups {
		return nil, fault.New(fault.Invalid, "",
			"The query has %d request groups; one with at most %d can be explained.", len(q.Groups), MaxGroups)
	}
	for _, g := range q.Groups {
		if g.InTree != "" || len(g.MemberOf)+len(g.NotMemberOf) > 0 {
			return nil, fault.New(fault.Invalid, "", "A query with in_tree or member_of is explained to administrators only.")
		}
	}
	own := &Own{Changes: []OwnChange{}}
	if r, err := candidates.Search(s, q); err == nil { // otherwise it has names that placement does not know
		for range r.Until(ctx.Done()).Anchors() {
			own.Fits = true
			break
		}
	}
	if own.Fits || ctx.Err() != nil {
		return own, ctx.Err()
	}
	list, err := changes(ctx, s, q, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if slices.Contains(ownKinds, c.Kind) {
			own.Changes = append(own.Changes, OwnChange{c.Kind, c.Group, c.Name})
		}
	}
	slices.SortFunc(own.Changes, func(a, b OwnChange) int {
		return cmp.Or(cmp.Compare(slices.Index(changeOrder, a.Kind), slices.Index(changeOrder, b.Kind)),
			strings.Compare(a.Group, b.Group), strings.Compare(a.Name, b.Name))
	})
	own.Changes = slices.Compact(own.Changes) // an amount may have two changes
	return own, nil
}

// Summary says whether a host can serve the query, and what to change first.
func (o *Own) Summary() string {
	switch {
	case o.Fits:
		return "a host can serve the request now"
	case len(o.Changes) == 0:
		return "no host can serve the request now, and no single change of it helps"
	}
	return "no host can serve the request now; one could if " + o.Changes[0].String()
}

// String says what is changed, for people, to follow "if".
func (c OwnChange) String() string { return c.Describe(groupName) }

// Describe is String with other names of groups.
func (c OwnChange) Describe(owner func(suffix string) string) string {
	by := ""
	if c.Group != "" {
		by = " by " + owner(c.Group)
	}
	switch c.Kind {
	case LowerAmount:
		return "less " + c.Name + " were requested" + by
	case LowerAmounts:
		return "less of each of " + c.Name + " were requested" + by
	}
	return Change{Kind: c.Kind, Group: c.Group, Name: c.Name}.describe(owner)
}
