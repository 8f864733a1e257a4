package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network/guarantee"
)

// An adjustment is the body of an intent: differences to add to the allocations of a consumer in
// placement.
type adjustment struct {
	Consumer    string
	Differences guarantee.Amounts
	// Maker is the process that began it.
	Maker maker
	// Attempt is the last attempt, nil when there was none or when its result is known. Done says
	// that it succeeded.
	Attempt *attempt `json:",omitempty"`
	Done    bool     `json:",omitempty"`
}

// The kinds of intents.
const (
	intentPolicy  = "policy"  // taken back when it is found half done
	intentRelease = "release" // completed
)

// newIntent makes an intent about a port.
func (c *change) newIntent(kind string, about ID, a adjustment) (IntentRow, error) {
	a.Maker = c.maker
	body, err := json.Marshal(a)
	row := IntentRow{ID: newID(), Kind: kind, About: about, Body: body, CreatedAt: c.at}
	if err != nil {
		return row, err
	}
	return row, c.Insert(&row)
}

// errUnsettled says that the result of an adjustment is unknown.
var errUnsettled = errors.New("network: it is not known whether placement took the change")

// adjust carries out an intent. It retries while others change the consumer's allocations, as
// Neutron's client does, and returns its last attempt, nil for none. After an error other than
// errUnsettled, placement is unchanged and stays so. The error is ErrNoRow when another worker has
// finished the intent.
func (s *Service) adjust(ctx context.Context, intent ID) (last *attempt, err error) {
	err = Swap(ctx, func() (err error) {
		last, err = s.attempt(ctx, intent, last)
		return err
	})
	if err != nil && !errors.Is(err, errUnsettled) {
		// What cannot be noted is found out again.
		_ = s.conclude(context.WithoutCancel(ctx), intent, last, false)
	}
	return last, err
}

// attempt reads the consumer's allocations, stores the attempt in the intent, and writes the sum.
// Refused is the caller's previous attempt, which has no effect; the result of another worker's
// attempt is settled first. It returns the new attempt.
func (s *Service) attempt(ctx context.Context, intent ID, refused *attempt) (*attempt, error) {
	row, a, err := s.intent(ctx, intent)
	if err == nil && a.Attempt != nil && !a.Attempt.is(refused) {
		row, a, err = s.settle(ctx, intent)
	}
	if err != nil || a.Done {
		return nil, err
	}
	held, err := s.placement.Allocations(ctx, a.Consumer)
	if err != nil {
		return refused, err
	}
	sum, err := guarantee.Amounts(held.Providers).Add(a.Differences)
	if err != nil {
		return refused, err
	}
	if held.Generation == nil {
		return refused, fault.New(fault.Unavailable, "", "placement does not return the generation of consumer %s", a.Consumer)
	}
	a.Attempt = &attempt{At: s.now(), Generation: *held.Generation, Before: concerned(held.Providers, a.Differences)}
	if err := s.note(ctx, row, a); err != nil {
		return refused, err
	}
	held.Providers = sum
	err = s.placement.SetAllocations(ctx, a.Consumer, held)
	if err != nil && !errors.Is(err, ErrGeneration) && !errors.Is(err, ErrCapacity) {
		err = s.settled(ctx, intent, err)
	}
	return a.Attempt, err
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

// refusal is the fault of a request whose adjustment failed.
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
	case errors.Is(err, ErrNoRow):
		return beingChanged("The allocation of consumer %s was completed by another process.", consumer)
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
