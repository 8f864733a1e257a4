package heal

import "github.com/berthcloud/berth/ops/audit"

// A flag is what an operator has to allow before a code is repaired.
type flag string

const (
	noFlag     flag = ""
	deleteFlag flag = "--delete"
	forceFlag  flag = "--force"
)

// A method is how findings are repaired.
type method int

const (
	byNothing      method = iota // by no request
	byRelease                    // the consumer's allocation is deleted
	byServer                     // with all others of its server
	byAggregates                 // the provider's aggregates are replaced
	byNameOrParent               // the provider gets another name or parent
	byTraits                     // the provider's traits are replaced
	byInventory                  // an inventory is omitted
	byRemoval                    // the provider and those below it are deleted
	byPort                       // the port is changed
)

// A rule says how findings of a code are repaired.
type rule struct {
	part   Part
	method method
	flag   flag
	// nova is the code of heal_allocations for a finding that remains.
	nova NovaCode
}

// rules has all codes of audit.
var rules = map[audit.Code]rule{
	audit.OrphanedAllocation:          {Allocations, byRelease, deleteFlag, 0},
	audit.EndedMigrationAllocated:     {Allocations, byRelease, deleteFlag, 0},
	audit.MigrationOfDeletedServer:    {Allocations, byRelease, deleteFlag, 0},
	audit.OffloadedServerAllocated:    {Allocations, byRelease, deleteFlag, 0},
	audit.HostlessServerAllocated:     {Allocations, byRelease, deleteFlag, 0},
	audit.ConsumerWithoutType:         {Allocations, byServer, noFlag, 0},
	audit.ConsumerTypeWrong:           {Allocations, byServer, noFlag, 0},
	audit.ConsumerProjectWrong:        {Allocations, byServer, noFlag, 0},
	audit.ConsumerUserWrong:           {Allocations, byServer, noFlag, 0},
	audit.ServerWithoutAllocation:     {Allocations, byServer, noFlag, NotAllocated},
	audit.AllocationOnWrongHost:       {Allocations, byServer, forceFlag, 0},
	audit.AllocatedOnSeveralHosts:     {Allocations, byServer, deleteFlag, 0},
	audit.EvacuationSourceAllocated:   {Allocations, byServer, deleteFlag, 0},
	audit.FlavorAmountMissing:         {Allocations, byServer, forceFlag, 0},
	audit.FlavorAmountSuperfluous:     {Allocations, byServer, forceFlag, 0},
	audit.ClassNotRequested:           {Allocations, byServer, forceFlag, 0},
	audit.BoundWithoutKey:             {Allocations, byServer, noFlag, NotAllocated},
	audit.KeyGroupUnknown:             {Allocations, byServer, noFlag, 0},
	audit.KeyGroupMissing:             {Allocations, byServer, noFlag, NotAllocated},
	audit.KeyProviderMissing:          {Allocations, byServer, noFlag, 0},
	audit.KeyProviderOfOtherHost:      {Allocations, byServer, noFlag, 0},
	audit.KeyProviderLacksClass:       {Allocations, byServer, noFlag, 0},
	audit.KeyProviderLacksTrait:       {Allocations, byServer, noFlag, 0},
	audit.KeyNotAllocated:             {Allocations, byServer, noFlag, NotAllocated},
	audit.PortAmountMissing:           {Allocations, byServer, noFlag, NotAllocated},
	audit.PortAmountSuperfluous:       {Allocations, byServer, deleteFlag, 0},
	audit.ConsumerEmpty:               {part: Allocations},
	audit.AllocationOnMissingProvider: {part: Allocations},
	audit.AllocationWithoutInventory:  {part: Allocations},
	audit.AmountBreaksUnits:           {part: Allocations},
	audit.UsageDiffers:                {part: Allocations},
	audit.ServerHostUnknown:           {part: Allocations, nova: NoNode},
	audit.MigrationWithoutAllocation:  {part: Allocations},
	audit.MigrationOnWrongHost:        {part: Allocations},
	audit.MigrationRecordStale:        {part: Allocations},
	audit.CapacityExceeded:            {part: Allocations},
	audit.ReservedInUse:               {part: Allocations},
	audit.VanishedDevice:              {part: Allocations},
	audit.GuaranteeOvercommitted:      {part: Allocations},

	audit.AggregateMirrorMissing:     {Aggregates, byAggregates, noFlag, 0},
	audit.AggregateMirrorSuperfluous: {Aggregates, byAggregates, noFlag, 0},
	audit.AggregateHostUnknown:       {part: Aggregates},
	audit.AggregateRatioDiffers:      {part: Aggregates},
	audit.RatiosDifferInAggregate:    {part: Aggregates},
	audit.SharingWithoutAggregate:    {part: Aggregates},
	audit.SharingAggregateEmpty:      {part: Aggregates},

	audit.AgentProviderMisplaced:    {Providers, byNameOrParent, noFlag, 0},
	audit.DeviceProviderMisplaced:   {Providers, byNameOrParent, noFlag, 0},
	audit.ProviderNameDiffers:       {Providers, byNameOrParent, noFlag, 0},
	audit.DisabledTraitMissing:      {Providers, byTraits, noFlag, 0},
	audit.DisabledTraitSuperfluous:  {Providers, byTraits, noFlag, 0},
	audit.OwnerTraitMissing:         {part: Providers},
	audit.InventoryClassSuperfluous: {Providers, byInventory, deleteFlag, 0},
	audit.AgentProviderStale:        {Providers, byRemoval, deleteFlag, 0},
	audit.DeviceProviderStale:       {Providers, byRemoval, deleteFlag, 0},
	audit.ProviderOfDeletedHost:     {Providers, byRemoval, deleteFlag, 0},
	audit.AgentDeadWithPorts:        {part: Providers},
	audit.AgentNotSynced:            {part: Providers},
	audit.AgentReportInvalid:        {part: Providers},
	audit.AgentDeviceIgnored:        {part: Providers},
	audit.AgentHostUnknown:          {part: Providers},
	audit.AgentHostDiffers:          {part: Providers},
	audit.AgentProviderMissing:      {part: Providers},
	audit.InventoryClassMissing:     {part: Providers},
	audit.InventoryTotalDiffers:     {part: Providers},
	audit.InventorySettingsDiffer:   {part: Providers},
	audit.MaxUnitBelowTotal:         {part: Providers},
	audit.PhysnetTraitMissing:       {part: Providers},
	audit.PhysnetTraitSuperfluous:   {part: Providers},
	audit.VNICTraitMissing:          {part: Providers},
	audit.HypervisorWithoutProvider: {part: Providers},
	audit.HypervisorUUIDDiffers:     {part: Providers},
	audit.HypervisorNameDiffers:     {part: Providers},
	audit.HostWithoutService:        {part: Providers},
	audit.NamesAlike:                {part: Providers},
	audit.ReservedAboveTotal:        {part: Providers},
	audit.UnknownClass:              {part: Providers},
	audit.UnknownTrait:              {part: Providers},
	audit.ProviderParentMissing:     {part: Providers},
	audit.ProviderRootDiffers:       {part: Providers},

	audit.PortOfDeletedServer:         {Ports, byPort, deleteFlag, 0},
	audit.KeyOfUnboundPort:            {Ports, byPort, noFlag, 0},
	audit.KeyWithoutRequest:           {Ports, byPort, noFlag, 0},
	audit.KeyFormatOld:                {Ports, byPort, noFlag, 0},
	audit.PortHostDiffers:             {part: Ports},
	audit.PortBindingFailed:           {part: Ports},
	audit.PortNotBound:                {part: Ports},
	audit.RequestTraitWithoutProvider: {part: Ports},
}

// Rule returns the part that a code belongs to, and the flag that healing its findings takes, ""
// for none.
func Rule(code audit.Code) (part Part, flag string) {
	r := rules[code]
	return r.part, string(r.flag)
}

// Heals reports whether a request heals findings of a code; it is what audit.Options takes.
func Heals(code audit.Code) bool { return rules[code].method != byNothing }
