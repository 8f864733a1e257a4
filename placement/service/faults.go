package service

import (
	"fmt"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// textUpdateConflict begins the text of conflicts of what is not a claim.
const textUpdateConflict = "update conflict"

// textProviderConcurrent ends the conflicts in which a provider changed while
// the request was served.
const textProviderConcurrent = "Another thread concurrently updated the resource provider data. Please " +
	"retry your update"

// inventoryInvalid says that a provider has no inventory to allocate from.
func inventoryInvalid(classes, providers string) string {
	return fmt.Sprintf("Inventory for '%s' on resource provider '%s' invalid.", classes, providers)
}

// inventoryInUse says that inventory cannot go because it is allocated.
func inventoryInUse(classes string, provider placement.UUID) string {
	return fmt.Sprintf("Inventory for '%s' on resource provider '%s' in use.", classes, provider)
}

// errGenerationChanged is the conflict of traits and aggregates written for
// another generation of the provider.
func errGenerationChanged() error {
	return fault.New(fault.Conflict, placement.CodeConcurrentUpdate, "Resource provider's generation already changed. "+
		"Please update the generation and try again.")
}

// unknownClass is the text about a class that does not exist. Each operation makes its own fault of
// it: the status and the words before the text differ.
type unknownClass string

func (u unknownClass) Error() string { return string(u) }

// usedInventory is the text about inventory that is in use. Each operation makes its own fault of
// it, since the codes differ.
type usedInventory string

func (u usedInventory) Error() string { return string(u) }
