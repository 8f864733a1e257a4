package audit

import "strings"

// A Code names a kind of finding. Codes are stable: programs match them.
type Code string

// The codes, in the order of the table of kinds.
const (
	// Allocations and their consumers.
	OrphanedAllocation          Code = "orphaned-allocation"
	EndedMigrationAllocated     Code = "migration-left-over"
	ConsumerEmpty               Code = "consumer-empty"
	ConsumerWithoutType         Code = "consumer-without-type"
	ConsumerTypeWrong           Code = "consumer-type-wrong"
	ConsumerProjectWrong        Code = "consumer-project-wrong"
	ConsumerUserWrong           Code = "consumer-user-wrong"
	AllocationOnMissingProvider Code = "allocation-on-gone-provider"
	AllocationWithoutInventory  Code = "allocation-without-inventory"
	AmountBreaksUnits           Code = "amount-breaks-units"
	UsageDiffers                Code = "usage-differs"

	// Servers.
	ServerWithoutAllocation   Code = "server-without-allocation"
	AllocationOnWrongHost     Code = "allocation-on-wrong-host"
	AllocatedOnSeveralHosts   Code = "held-on-several-hosts"
	FlavorAmountMissing       Code = "flavor-amount-missing"
	FlavorAmountSuperfluous   Code = "flavor-amount-superfluous"
	ClassNotRequested         Code = "class-not-asked"
	OffloadedServerAllocated  Code = "offloaded-server-holds"
	HostlessServerAllocated   Code = "unplaced-server-holds"
	ServerHostUnknown         Code = "server-host-unknown"
	EvacuationSourceAllocated Code = "evacuation-source-held"

	// Migrations.
	MigrationWithoutAllocation Code = "migration-without-allocation"
	MigrationOnWrongHost       Code = "migration-on-wrong-host"
	MigrationOfDeletedServer   Code = "migration-of-gone-server"
	MigrationRecordStale       Code = "migration-record-stale"

	// Ports.
	PortOfDeletedServer         Code = "port-of-gone-server"
	PortHostDiffers             Code = "port-host-differs"
	PortBindingFailed           Code = "port-binding-failed"
	PortNotBound                Code = "port-not-bound"
	KeyOfUnboundPort            Code = "key-of-unbound-port"
	BoundWithoutKey             Code = "bound-without-key"
	KeyWithoutRequest           Code = "key-without-request"
	KeyGroupUnknown             Code = "key-group-unknown"
	KeyGroupMissing             Code = "key-group-missing"
	KeyFormatOld                Code = "key-format-old"
	KeyProviderMissing          Code = "key-provider-gone"
	KeyProviderOfOtherHost      Code = "key-provider-of-other-host"
	KeyProviderLacksClass       Code = "key-provider-lacks-class"
	KeyProviderLacksTrait       Code = "key-provider-lacks-trait"
	KeyNotAllocated             Code = "key-not-allocated"
	PortAmountMissing           Code = "port-amount-missing"
	PortAmountSuperfluous       Code = "port-amount-superfluous"
	RequestTraitWithoutProvider Code = "request-trait-without-provider"

	// Agents and what they report.
	AgentDeadWithPorts        Code = "agent-dead-with-ports"
	AgentNotSynced            Code = "agent-not-synced"
	AgentReportInvalid        Code = "agent-report-invalid"
	AgentDeviceIgnored        Code = "agent-device-left-out"
	AgentHostUnknown          Code = "agent-host-unknown"
	AgentHostDiffers          Code = "agent-host-differs"
	AgentProviderMissing      Code = "agent-provider-missing"
	ProviderNameDiffers       Code = "provider-name-differs"
	AgentProviderMisplaced    Code = "agent-provider-misplaced"
	DeviceProviderMisplaced   Code = "device-provider-misplaced"
	AgentProviderStale        Code = "agent-provider-stale"
	DeviceProviderStale       Code = "device-provider-stale"
	InventoryClassMissing     Code = "inventory-class-missing"
	InventoryClassSuperfluous Code = "inventory-class-superfluous"
	InventoryTotalDiffers     Code = "inventory-total-differs"
	InventorySettingsDiffer   Code = "inventory-settings-differ"
	MaxUnitBelowTotal         Code = "max-unit-below-total"
	PhysnetTraitMissing       Code = "physnet-trait-missing"
	PhysnetTraitSuperfluous   Code = "physnet-trait-superfluous"
	VNICTraitMissing          Code = "vnic-trait-missing"

	// Hosts.
	HypervisorWithoutProvider Code = "hypervisor-without-provider"
	HypervisorUUIDDiffers     Code = "hypervisor-uuid-differs"
	HypervisorNameDiffers     Code = "hypervisor-name-differs"
	ProviderOfDeletedHost     Code = "provider-of-gone-host"
	HostWithoutService        Code = "host-without-service"
	NamesAlike                Code = "names-alike"
	DisabledTraitMissing      Code = "disabled-trait-missing"
	OwnerTraitMissing         Code = "owner-trait-missing"
	DisabledTraitSuperfluous  Code = "disabled-trait-superfluous"

	// Aggregates.
	AggregateMirrorMissing     Code = "aggregate-mirror-missing"
	AggregateMirrorSuperfluous Code = "aggregate-mirror-superfluous"
	AggregateHostUnknown       Code = "aggregate-host-unknown"
	AggregateRatioDiffers      Code = "aggregate-ratio-differs"
	RatiosDifferInAggregate    Code = "ratios-differ-in-aggregate"
	SharingWithoutAggregate    Code = "sharing-without-aggregate"
	SharingAggregateEmpty      Code = "sharing-aggregate-empty"

	// Providers by themselves.
	CapacityExceeded       Code = "capacity-exceeded"
	ReservedInUse          Code = "reserved-in-use"
	VanishedDevice         Code = "vanished-device"
	GuaranteeOvercommitted Code = "guarantee-overcommitted"
	ReservedAboveTotal     Code = "reserved-above-total"
	UnknownClass           Code = "unknown-class"
	UnknownTrait           Code = "unknown-trait"
	ProviderParentMissing  Code = "provider-parent-gone"
	ProviderRootDiffers    Code = "provider-root-differs"
)

// Join returns codes with commas between them.
func Join(codes []Code) string {
	list := make([]string, len(codes))
	for i, code := range codes {
		list[i] = string(code)
	}
	return strings.Join(list, ", ")
}
