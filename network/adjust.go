package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/berthcloud/berth/allocations"
)

// An adjustment is the body of an intent: differences to add to the allocations of a consumer in
// placement.
type adjustment struct {
	Consumer    string
	Differences allocations.Amounts
	// Maker is the process that began it.
	Maker maker
	// Attempt is the last attempt, nil when there was none or when its result is known. Done says
	// that it succeeded.
	Attempt *allocations.Attempt `json:",omitempty"`
	Done    bool                 `json:",omitempty"`
}

// swapPause is the first pause after a concurrent change; tests have less time.
var swapPause = allocations.Pause

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

// adjustmentOf returns the change of an intent, and the record of it.
func (s *Service) adjustmentOf(intent ID) (*allocations.Change, *intentRecord) {
	r := &intentRecord{s: s, id: intent}
	return &allocations.Change{Placement: s.placement, Record: r, Now: s.now, Pause: swapPause}, r
}

// adjust carries out an intent, and returns its last attempt, nil for none. After an error other than
// allocations.ErrUnsettled, placement is unchanged and stays so. The error is ErrNoRow when another
// worker has finished the intent.
func (s *Service) adjust(ctx context.Context, intent ID) (last *allocations.Attempt, err error) {
	c, _ := s.adjustmentOf(intent)
	return c.Make(ctx)
}

// refusal is the fault of a request whose adjustment failed.
func refusal(err error, consumer string, differences allocations.Amounts) error {
	var missing *allocations.ProviderMissing
	switch {
	case errors.Is(err, allocations.ErrNotAllocated):
		return invalid("PlacementAllocationRemoved", "Resource allocation is deleted for consumer %s", consumer)
	case errors.As(err, &missing):
		return invalid("PlacementAllocationRpNotExists", "Resource provider %s for %s does not exist", missing.Provider, consumer)
	case errors.Is(err, allocations.ErrCapacity):
		return conflict("QosPlacementAllocationUpdateConflict", "Updating placement allocation with %s for consumer %s failed. "+
			"The requested resources would exceed the capacity available.", amountsText(differences), consumer)
	case errors.Is(err, ErrNoRow):
		return beingChanged("The allocation of consumer %s was completed by another process.", consumer)
	case errors.Is(err, allocations.ErrGeneration):
		return conflict("PlacementAllocationGenerationConflict", "Resource allocation has been changed for consumer %s in Placement "+
			"while Neutron tried to update it.", consumer)
	}
	return err
}

// amountsText is amounts as Neutron shows them.
func amountsText(a allocations.Amounts) string {
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
