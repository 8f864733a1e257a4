package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Synced is what a sync has done.
type Synced struct {
	Warnings []string            // what an operator should know: something waits
	Unknown  []string            // standard traits that placement does not know, and the host has not: see LeftOut
	Moves    []providertree.Move // in the order in which they were made
	// Providers are the UUIDs of devices' providers that do not follow from the names, by Suffix:
	// Nova made them.
	Providers map[string]placement.UUID
}

// SyncOptions are how the tree of a host is synced.
type SyncOptions struct {
	// Starting says that the host starts: allocations may move. Otherwise they are an error that
	// says what to do.
	Starting bool
	// Added is Host.Added, as it is stored.
	Added Additions
	// Remember changes what is stored, in a transaction, and returns what is stored then. Nil:
	// nothing is.
	Remember func(ctx context.Context, change func(stored Additions) Additions) (Additions, error)
	// Consumers returns what is known of the consumers of the tree, for Host.Consumers. Nil:
	// nothing.
	Consumers func(ctx context.Context, ids []string) (map[string]Consumer, error)
}

// errRestart is providertree.ErrMoves for operators.
var errRestart = fmt.Errorf("what the host reports has another shape than its tree in placement, "+
	"and servers have allocations there: restart the agent of the host, which moves them (%w)", providertree.ErrMoves)

// A StartError says why a host that starts cannot serve: its tree cannot be planned, placement
// refuses to move allocations, or servers have what it does not report any more. A repetition has
// the same result until an operator has done something.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// Sync makes the host's tree in placement what it should be. It may be repeated, and run
// concurrently. The error of a host that starts may be a StartError. Conflicts with others are
// none: the host keeps the tree that it has, serves with it, and the next report tries again.
//
// What files add is stored before placement has it, and what has left them is forgotten after it
// was removed there: a sync that ends anywhere leaves nothing that the next one does not know.
func (h *Host) Sync(ctx context.Context, p providertree.Placement, o SyncOptions) (Synced, error) {
	cur := planning{host: h, SyncOptions: o, stored: o.Added}
	result, err := providertree.Sync(ctx, p, cur.spec(ctx))
	if err == nil {
		err = result.Err()
		if final := result.MovesRefused(); final != nil {
			err = &StartError{final}
		}
	}
	switch {
	case errors.Is(err, providertree.ErrMoves):
		err = errRestart
	case providertree.IsChanged(err) && ctx.Err() == nil:
		err = fmt.Errorf("others changed the providers of the host in placement during each of %d attempts to bring them to "+
			"what it reports: the next report of the host tries again (%w)", providertree.Attempts, err)
	}
	if err == nil && o.Remember != nil && !cur.stored.Equal(cur.added) {
		_, err = o.Remember(ctx, func(now Additions) Additions {
			if now.Equal(cur.stored) {
				return cur.added
			}
			return now // a concurrent sync has changed it
		})
	}
	return Synced{
		Warnings: cur.warnings, Unknown: result.UnknownTraits(), Moves: result.Moves, Providers: cur.providers,
	}, err
}

// LeftOut is a warning for the operator of a host that has not got standard traits, since placement
// does not know them; "" for none.
func LeftOut(unknown []string) string {
	if len(unknown) == 0 {
		return ""
	}
	return fmt.Sprintf("placement has the host without the standard traits %s, which it does not know: "+
		"upgrade it, with %s or later", strings.Join(unknown, ", "), placement.StandardTraitsVersion)
}

// A planning is a sync of a host, or a preview of one.
type planning struct {
	host *Host
	SyncOptions
	stored   Additions // what is stored that files have added
	added    Additions // of the last plan
	warnings []string
	// providers is Synced.Providers.
	providers map[string]placement.UUID
}

// spec is what is synced.
func (p *planning) spec(ctx context.Context) providertree.Spec {
	return providertree.Spec{
		Root: placement.UUID(p.host.ID.String()), Reshape: p.Starting,
		Plan: func(actual providertree.Tree) (providertree.Plan, error) {
			cur := *p.host
			cur.Added, cur.Starting = p.stored, p.Starting
			if actual.Allocations != nil && p.Consumers != nil {
				var err error
				if cur.Consumers, err = p.Consumers(ctx, slices.Sorted(maps.Keys(actual.Allocations))); err != nil {
					return providertree.Plan{}, err
				}
			}
			plan, err := cur.Plan(actual)
			if err == nil && p.Remember != nil && !p.stored.Contains(plan.Added) {
				all, failure := p.Remember(ctx, func(now Additions) Additions { return now.Union(plan.Added) })
				if failure != nil {
					return providertree.Plan{}, failure
				}
				p.stored, cur.Added = all, all // a concurrent sync may have added something
				plan, err = cur.Plan(actual)
			}
			p.warnings, p.added, p.providers = plan.Warnings, plan.Added, cur.namedProviders(actual)
			if err != nil && p.Starting {
				err = &StartError{err}
			}
			return plan.Plan, err
		},
	}
}

// Preview returns what Sync would do, in lines for operators, and changes nothing. The error is the
// one that it would have before any change.
func (h *Host) Preview(ctx context.Context, p providertree.Placement, o SyncOptions) (lines []string, err error) {
	o.Remember = nil
	cur := planning{host: h, SyncOptions: o, stored: o.Added}
	spec := cur.spec(ctx)
	tree, plan, err := spec.Look(ctx, p)
	if err != nil {
		return nil, err
	}
	unknown, err := plan.UnknownTraits(ctx, p, tree)
	if err != nil {
		return nil, fmt.Errorf("reading which traits placement knows: %w", err)
	}
	names := map[placement.UUID]string{}
	for _, all := range [][]providertree.Provider{plan.Create, tree.Providers} {
		for _, one := range all {
			names[one.ID] = one.Name
		}
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, to := range plan.Create {
		add("create %s (%s)", to.Name, to.ID)
	}
	for _, m := range plan.Moves {
		if m.From == "" {
			add("allocate %d %s of %s to %s, which has it", m.Amount, m.ToClass, names[m.To], m.Consumer)
			continue
		}
		add("move %d %s of %s from %s to %s of %s", m.Amount, m.FromClass, m.Consumer, names[m.From], m.ToClass, names[m.To])
	}
	for _, cur := range plan.Remove {
		add("remove %s", cur.Name)
	}
	for _, to := range slices.Backward(plan.Inventories) {
		cur, _ := tree.Find(to.ID)
		for _, class := range slices.Sorted(maps.Keys(to.Inventories)) {
			if i, ok := cur.Inventories[class]; !ok || i != to.Inventories[class] {
				add("%s of %s: %s", class, to.Name, to.Inventories[class].Text())
			}
		}
		for _, class := range providertree.RemovedClasses(cur, to) {
			add("%s of %s: none", class, to.Name)
		}
	}
	for _, to := range slices.Backward(plan.Traits) {
		cur, _ := tree.Find(to.ID)
		for _, change := range []struct {
			verb        string
			from, until []string
		}{{"add", cur.Traits, to.Traits}, {"remove", to.Traits, cur.Traits}} {
			names := slices.DeleteFunc(slices.Clone(change.until), func(name string) bool {
				return slices.Contains(change.from, name) || slices.Contains(unknown, name)
			})
			const most = 5
			more := ""
			if n := len(names) - most; n > 0 {
				names, more = names[:most], fmt.Sprintf(" and %d more", n)
			}
			if len(names) > 0 {
				add("%s the traits %s%s of %s", change.verb, strings.Join(names, ", "), more, to.Name)
			}
		}
	}
	lines = append(lines, cur.warnings...)
	if text := LeftOut(unknown); text != "" {
		lines = append(lines, text)
	}
	return lines, nil
}

// SetDisabled adds TraitDisabled to the root of a host's tree, or removes it, and changes nothing
// else. A tree that does not exist yet is ignored: it gets the trait with the host's first report.
func SetDisabled(ctx context.Context, root placement.UUID, disabled bool, p providertree.Placement) error {
	return providertree.Retry(ctx, func() error {
		tree, err := p.Tree(ctx, root, func(cur providertree.Provider) bool { return cur.ID == root })
		if err != nil {
			return err
		}
		host, exists := tree.Find(root)
		if !exists || slices.Contains(host.Traits, TraitDisabled) == disabled {
			return nil
		}
		host.Traits = slices.DeleteFunc(slices.Clone(host.Traits), func(name string) bool { return name == TraitDisabled })
		if disabled {
			host.Traits = providertree.SortedSet(append(host.Traits, TraitDisabled))
		}
		_, err = p.SetTraits(ctx, host)
		return err
	})
}
