package placement

import (
	"fmt"

	"github.com/berthcloud/berth/fault"
)

// The codes of upstream's errors module. Clients match on them.
const (
	CodeConcurrentUpdate   fault.Code = "placement.concurrent_update"
	CodeInventoryInUse     fault.Code = "placement.inventory.inuse"
	CodeDuplicateName      fault.Code = "placement.duplicate_name"
	CodeProviderInUse      fault.Code = "placement.resource_provider.inuse"
	CodeCannotDeleteParent fault.Code = "placement.resource_provider.cannot_delete_parent"
	CodeProviderNotFound   fault.Code = "placement.resource_provider.not_found"
	CodeQueryBadValue      fault.Code = "placement.query.bad_value"
	CodeQueryMissingValue  fault.Code = "placement.query.missing_value"
	CodeQueryDuplicateKey  fault.Code = "placement.query.duplicate_key"
	CodeUndefined          fault.Code = "placement.undefined_code"
)

// textProviderConcurrent ends the conflicts in which a provider changed while
// the request was served.
const textProviderConcurrent = "Another thread concurrently updated the resource provider data. Please retry your update"

// The conditions that several operations report, each in words of its own
// around the same core. They are plain values: an operation turns them into
// the fault that its caller sees.

// classUnknown says that there is no resource class of that name.
func classUnknown(name string) string {
	return fmt.Sprintf("No such resource class %s.", name)
}

// traitUnknown says that there is no trait of that name.
func traitUnknown(name string) string {
	return fmt.Sprintf("No such trait(s): %s.", name)
}

// providerUnknown says that there is no provider with that UUID.
func providerUnknown(uuid UUID) string {
	return fmt.Sprintf("No resource provider with uuid %s found", uuid)
}

// inventoryInvalid says that a provider has no inventory to allocate from.
func inventoryInvalid(classes, providers string) string {
	return fmt.Sprintf("Inventory for '%s' on resource provider '%s' invalid.", classes, providers)
}

// inventoryInUse says that inventory cannot go because it is allocated.
func inventoryInUse(classes string, provider UUID) string {
	return fmt.Sprintf("Inventory for '%s' on resource provider '%s' in use.", classes, provider)
}

// ErrNoProvider returns the fault of a provider that does not exist.
func ErrNoProvider(uuid UUID) error {
	return fault.New(fault.NotFound, "", "%s", providerUnknown(uuid))
}

// ErrNoClass returns the fault of a resource class that does not exist.
func ErrNoClass(name string) error {
	return fault.New(fault.NotFound, "", "%s", classUnknown(name))
}

// ErrNoTrait returns the fault of a trait that does not exist.
func ErrNoTrait(name string) error {
	return fault.New(fault.NotFound, "", "%s", traitUnknown(name))
}

// errGenerationChanged is the conflict of traits and aggregates written for
// another generation of the provider.
func errGenerationChanged() error {
	return fault.New(fault.Conflict, CodeConcurrentUpdate, "Resource provider's generation already changed. "+
		"Please update the generation and try again.")
}
