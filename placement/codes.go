package placement

import (
	"fmt"

	"github.com/berthcloud/berth/fault"
)

// The codes of upstream's placement.errors, in the body of errors since microversion 1.23. Clients
// match on them: Nova tries a claim again after CodeConcurrentUpdate.
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

// The conditions that several operations report, each in words of its own
// around the same core. They are plain values: an operation turns them into
// the fault that its caller sees.

// ClassUnknown says that there is no resource class of that name. It is the text of upstream's
// exception.ResourceClassNotFound.
func ClassUnknown(name string) string {
	return fmt.Sprintf("No such resource class %s.", name)
}

// TraitUnknown says that there is no trait of that name. It is the text of upstream's
// exception.TraitNotFound, which is given one name here.
func TraitUnknown(name string) string {
	return fmt.Sprintf("No such trait(s): %s.", name)
}

// ProviderUnknown says that there is no provider with that UUID.
func ProviderUnknown(uuid UUID) string {
	return fmt.Sprintf("No resource provider with uuid %s found", uuid)
}

// ErrNoProvider returns the fault of a provider that does not exist.
func ErrNoProvider(uuid UUID) error {
	return fault.New(fault.NotFound, "", "%s", ProviderUnknown(uuid))
}

// ErrNoClass returns the fault of a resource class that does not exist.
func ErrNoClass(name string) error {
	return fault.New(fault.NotFound, "", "%s", ClassUnknown(name))
}

// ErrNoTrait returns the fault of a trait that does not exist.
func ErrNoTrait(name string) error {
	return fault.New(fault.NotFound, "", "%s", TraitUnknown(name))
}
