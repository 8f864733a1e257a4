package routed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// Name returns the name of the provider and of the aggregate of a segment. It is Neutron's.
func Name(segment network.ID) string { return "Neutron segment id " + string(segment) }

// A syncJob is the sync of one segment, under way.
type syncJob struct {
	*Service
	segment    network.ID
	hosts      []string            // that the aggregate should have
	aggregates []network.Aggregate // of compute, unless errCompute says why they could not be read
	errCompute error
}

// run makes both services what they should be. What does not depend on a step that failed is done
// all the same.
func (j *syncJob) run(ctx context.Context) outcome {
	desired, err := j.syncProvider(ctx)
	if desired.Total == 0 {
		if err == nil {
			err = j.removeAggregate(ctx)
		}
		return outcome{err: err, removed: err == nil}
	}
	aggregate, unknown, errAggregate := j.syncAggregate(ctx)
	err = errors.Join(err, errAggregate)
	if err == nil {
		err = within("bringing its provider into the aggregate",
			j.placement.Join(ctx, placement.UUID(j.segment), placement.UUID(aggregate.ID)))
	}
	return outcome{err: err, unknown: unknown}
}

// within adds the step to an error.
func within(step string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", step, err)
}

// syncProvider creates the provider of the segment, replaces its inventory of addresses, or removes
// it. It returns the inventory that it should have. What others have added to the provider is left
// alone. The inventory is computed after the provider's generation was read: a write with a former
// inventory would be refused.
func (j *syncJob) syncProvider(ctx context.Context) (desired placement.Inventory, err error) {
	id := placement.UUID(j.segment)
	read := false
	result, err := providertree.Sync(ctx, j.placement, providertree.Spec{
		Root:     id,
		Contents: func(p providertree.Provider) bool { return p.ID == id },
		Plan: func(actual providertree.Tree) (plan providertree.Plan, err error) {
			err = j.db.View(ctx, func(r network.Reader) (err error) {
				desired, err = inventoryOf(r, j.segment)
				return err
			})
			if err != nil {
				return plan, err
			}
			read = true
			current, exists := actual.Find(id)
			if desired.Total == 0 {
				if exists {
					plan.RemoveUnused = append(plan.RemoveUnused, current)
				}
				return plan, nil
			}
			want := providertree.Provider{
				ID: id, Name: Name(j.segment), Inventories: map[string]placement.Inventory{addressClass: desired},
				Traits: providertree.SortedSet(current.Traits),
			}
			for class, inventory := range current.Inventories {
				if class != addressClass {
					want.Inventories[class] = inventory
				}
			}
			return providertree.Compare(actual, []providertree.Provider{want}, nil), nil
		},
	})
	if err == nil {
		err = result.Err()
	}
	if err == nil && len(result.InUse) > 0 {
		err = errors.New("it has allocations or children, and cannot be removed")
	}
	if err != nil && !read { // whether it is to be removed is unknown: nothing else is changed
		desired.Total = 0
	}
	return desired, within("its provider", err)
}

// find returns the aggregate of the segment.
func (j *syncJob) find() (network.Aggregate, bool) {
	i := slices.IndexFunc(j.aggregates, func(a network.Aggregate) bool { return a.Name == Name(j.segment) })
	if i < 0 {
		return network.Aggregate{}, false
	}
	return j.aggregates[i], true
}

// syncAggregate creates the aggregate of the segment, adds hosts and removes others. It returns the
// hosts that compute does not know.
func (j *syncJob) syncAggregate(ctx context.Context) (a network.Aggregate, unknown []string, err error) {
	if j.errCompute != nil {
		return a, nil, within("reading the aggregates of compute", j.errCompute)
	}
	a, exists := j.find()
	if !exists {
		a, err = j.compute.CreateAggregate(ctx, Name(j.segment))
		if errors.Is(err, network.ErrTaken) { // since the aggregates were read, by a request that was repeated
			if j.aggregates, err = j.compute.Aggregates(ctx); err == nil {
				if a, exists = j.find(); !exists {
					err = network.ErrTaken
				}
			}
		}
		if err != nil {
			return a, nil, within("creating its aggregate", err)
		}
	}
	var failed []error
	for _, host := range j.hosts {
		if slices.Contains(a.Hosts, host) {
			continue
		}
		switch err := j.compute.AddHost(ctx, a.Number, host); {
		case errors.Is(err, network.ErrNoHost):
			unknown = append(unknown, host)
		case err != nil:
			failed = append(failed, within("adding host "+host+" to its aggregate", err))
		}
	}
	for _, host := range a.Hosts {
		if !slices.Contains(j.hosts, host) {
			err := j.compute.RemoveHost(ctx, a.Number, host)
			failed = append(failed, within("removing host "+host+" from its aggregate", err))
		}
	}
	return a, unknown, errors.Join(failed...)
}

// removeAggregate deletes the aggregate of the segment, after its hosts.
func (j *syncJob) removeAggregate(ctx context.Context) error {
	if j.errCompute != nil {
		return within("reading the aggregates of compute", j.errCompute)
	}
	a, exists := j.find()
	if !exists {
		return nil
	}
	for _, host := range a.Hosts {
		if err := j.compute.RemoveHost(ctx, a.Number, host); err != nil {
			return within("removing host "+host+" from its aggregate", err)
		}
	}
	return within("deleting its aggregate", j.compute.DeleteAggregate(ctx, a.Number))
}

// maxError bounds the text of an outcome, in bytes.
const maxError = 500

// text returns why a sync has to be repeated, in one line, and "" when it need not be.
func (o *outcome) text() string {
	text := ""
	switch {
	case o.err != nil:
		text = strings.Join(strings.Fields(o.err.Error()), " ")
	case len(o.unknown) > 0:
		text = "compute does not know the hosts " + strings.Join(o.unknown, ", ")
	}
	text = strings.ToValidUTF8(text, "?")
	return strings.ToValidUTF8(text[:min(len(text), maxError)], "")
}
