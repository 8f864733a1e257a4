package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/berthcloud/berth/network/guarantee"
)

// An adjustment is the body of an intent: differences to be added to what a
// consumer holds in placement.
type adjustment struct {
	Consumer    string
	Differences guarantee.Amounts
	// Before is what the consumer held of what changes when the last attempt was
	// made; nil when none was.
	Before guarantee.Amounts `json:",omitempty"`
}

// The kinds of intents.
const (
	intentPolicy  = "policy"  // taken back when it is found half done
	intentRelease = "release" // completed
)

// newIntent makes an intent about a port.
func (c *change) newIntent(kind string, about ID, a adjustment) (IntentRow, error) {
	body, err := json.Marshal(a)
	row := IntentRow{ID: newID(), Kind: kind, About: about, Body: body, CreatedAt: c.at}
	if err != nil {
		return row, err
	}
	return row, c.Insert(&row)
}

// adjustTries is how often an adjustment is tried while others change what the
// consumer holds, as Neutron's client does.
const adjustTries = 10

// errUnsettled says that nobody knows whether an adjustment took place.
var errUnsettled = errors.New("network: it is not known whether placement took the change")

// adjust carries an intent out. When it returns an error other than errUnsettled,
// placement is as it was.
func (s *Service) adjust(ctx context.Context, intent IntentRow) error {
	var a adjustment
	if err := json.Unmarshal(intent.Body, &a); err != nil {
		return fmt.Errorf("reading an intent: %w", err)
	}
	for range adjustTries {
		err := s.attempt(ctx, &intent, &a)
		if !errors.Is(err, ErrGeneration) {
			return err
		}
	}
	return ErrGeneration
}

// attempt reads what the consumer holds, notes it, and writes the sum.
func (s *Service) attempt(ctx context.Context, intent *IntentRow, a *adjustment) error {
	held, err := s.placement.Allocations(ctx, a.Consumer)
	if err != nil {
		return err
	}
	sum, err := guarantee.Amounts(held.Providers).Add(a.Differences)
	if err != nil {
		return err
	}
	a.Before = concerned(held.Providers, a.Differences)
	if err := s.note(ctx, intent, *a); err != nil {
		return err
	}
	held.Providers = sum
	switch err := s.placement.SetAllocations(ctx, a.Consumer, held); {
	case err == nil, errors.Is(err, ErrGeneration), errors.Is(err, ErrCapacity):
		return err
	default:
		return s.settled(ctx, *a, err)
	}
}

// note writes an attempt down.
func (s *Service) note(ctx context.Context, intent *IntentRow, a adjustment) (err error) {
	if intent.Body, err = json.Marshal(a); err != nil {
		return err
	}
	return s.update(ctx, func(c *change) error { return c.Replace(intent) })
}

// settled finds out what became of an attempt that was not answered: nil when it
// took place, the cause when it did not.
func (s *Service) settled(ctx context.Context, a adjustment, cause error) error {
	taken, err := s.tookPlace(ctx, a)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errUnsettled, cause)
	case taken:
		return nil
	}
	return cause
}

// tookPlace reports whether the attempt that was noted last took place.
func (s *Service) tookPlace(ctx context.Context, a adjustment) (bool, error) {
	if a.Before == nil {
		return false, nil
	}
	held, err := s.placement.Allocations(ctx, a.Consumer)
	if err != nil {
		return false, err
	}
	now := concerned(held.Providers, a.Differences)
	switch {
	case same(now, a.Before, nil):
		return false, nil
	case same(now, a.Before, a.Differences):
		return true, nil
	}
	return false, errUnsettled
}

// concerned is the part of amounts that differences are about, zeros included.
func concerned(held map[string]map[string]int64, differences guarantee.Amounts) guarantee.Amounts {
	part := guarantee.Amounts{}
	for provider, classes := range differences {
		part[provider] = map[string]int64{}
		for class := range classes {
			part[provider][class] = held[provider][class]
		}
	}
	return part
}

// same reports whether amounts are others plus differences, where less than
// nothing is nothing.
func same(now, before, differences guarantee.Amounts) bool {
	for provider, classes := range before {
		for class, n := range classes {
			if now[provider][class] != max(0, n+differences[provider][class]) {
				return false
			}
		}
	}
	return true
}

// inverse is what takes differences back.
func inverse(differences guarantee.Amounts) guarantee.Amounts {
	back := guarantee.Amounts{}
	for provider, classes := range differences {
		back[provider] = map[string]int64{}
		for class, n := range classes {
			back[provider][class] = -n
		}
	}
	return back
}

// refusal is what a caller is told when an adjustment failed.
func refusal(err error, consumer string, differences guarantee.Amounts) error {
	var missing *guarantee.ProviderMissing
	switch {
	case errors.Is(err, guarantee.ErrNotAllocated):
		return invalid("PlacementAllocationRemoved", "Resource allocation is deleted for consumer %s", consumer)
	case errors.As(err, &missing):
		return invalid("PlacementAllocationRpNotExists", "Resource provider %s for %s does not exist", missing.Provider, consumer)
	case errors.Is(err, ErrCapacity):
		return conflict("QosPlacementAllocationUpdateConflict", "Updating placement allocation with %s for consumer %s failed. "+
			"The requested resources would exceed the capacity available.", amountsText(differences), consumer)
	case errors.Is(err, ErrGeneration):
		return conflict("PlacementAllocationGenerationConflict", "Resource allocation has been changed for consumer %s in Placement "+
			"while Neutron tried to update it.", consumer)
	}
	return err
}

// amountsText is amounts as Neutron shows them.
func amountsText(a guarantee.Amounts) string {
	var providers []string
	for _, provider := range sortedKeys(a) {
		var classes []string
		for _, class := range sortedKeys(a[provider]) {
			classes = append(classes, fmt.Sprintf("'%s': %d", class, a[provider][class]))
		}
		providers = append(providers, fmt.Sprintf("'%s': {%s}", provider, strings.Join(classes, ", ")))
	}
	return "{" + strings.Join(providers, ", ") + "}"
}
