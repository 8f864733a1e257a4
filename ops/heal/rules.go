package heal

import "github.com/berthcloud/berth/ops/audit"

// A need is what an operator has to ask for before a code is mended.
type need string

const (
	asked   need = ""
	deletes need = "--delete"
	forces  need = "--force"
)

// A way is how findings are mended.
type way int

const (
	never      way = iota // by no request
	release               // the consumer's allocation is deleted
	server                // with all others of its server
	aggregates            // the provider's aggregates are replaced
	place                 // the provider gets another name or parent
	traits                // the provider's traits are replaced
	inventory             // an inventory is left out
	removal               // the provider and those below it are deleted
	port                  // the port is changed
)

// A rule says how findings of a code are mended.
type rule struct {
	part Part
	way  way
	need need
	// nova is the code of heal_allocations for a finding that is left.
	nova NovaCode
}

// rules has all codes of audit.
var rules = map[audit.Code]rule{
	audit.OrphanedAllocation:         {Allocations, release, deletes, 0},
	audit.MigrationLeftOver:          {Allocations, release, deletes, 0},
	audit.MigrationOfGoneServer:      {Allocations, release, deletes, 0},
	audit.OffloadedServerHolds:       {Allocations, release, deletes, 0},
	audit.UnplacedServerHolds:        {Allocations, release, deletes, 0},
	audit.ConsumerWithoutType:        {Allocations, server, asked, 0},
	audit.ConsumerTypeWrong:          {Allocations, server, asked, 0},
	audit.ConsumerProjectWrong:       {Allocations, server, asked, 0},
	audit.ConsumerUserWrong:          {Allocations, server, asked, 0},
	audit.ServerWithoutAllocation:    {Allocations, server, asked, NotAllocated},
	audit.AllocationOnWrongHost:      {Allocations, server, forces, 0},
	audit.HeldOnSeveralHosts:         {Allocations, server, deletes, 0},
	audit.EvacuationSourceHeld:       {Allocations, server, deletes, 0},
	audit.FlavorAmountMissing:        {Allocations, server, forces, 0},
	audit.FlavorAmountSuperfluous:    {Allocations, server, forces, 0},
	audit.ClassNotAsked:              {Allocations, server, forces, 0},
	audit.BoundWithoutKey:            {Allocations, server, asked, NotAllocated},
	audit.KeyGroupUnknown:            {Allocations, server, asked, 0},
	audit.KeyGroupMissing:            {Allocations, server, asked, NotAllocated},
	audit.KeyProviderGone:            {Allocations, server, asked, 0},
	audit.KeyProviderOfOtherHost:     {Allocations, server, asked, 0},
	audit.KeyProviderLacksClass:      {Allocations, server, asked, 0},
	audit.KeyProviderLacksTrait:      {Allocations, server, asked, 0},
	audit.KeyNotAllocated:            {Allocations, server, asked, NotAllocated},
	audit.PortAmountMissing:          {Allocations, server, asked, NotAllocated},
	audit.PortAmountSuperfluous:      {Allocations, server, deletes, 0},
	audit.ConsumerEmpty:              {part: Allocations},
	audit.AllocationOnGoneProvider:   {part: Allocations},
	audit.AllocationWithoutInventory: {part: Allocations},
	audit.AmountBreaksUnits:          {part: Allocations},
	audit.UsageDiffers:               {part: Allocations},
	audit.ServerHostUnknown:          {part: Allocations, nova: NoNode},
	audit.MigrationWithoutAllocation: {part: Allocations},
	audit.MigrationOnWrongHost:       {part: Allocations},
	audit.MigrationRecordStale:       {part: Allocations},
	audit.CapacityExceeded:           {part: Allocations},
	audit.ReservedInUse:              {part: Allocations},
	audit.GuaranteeOvercommitted:     {part: Allocations},

	audit.AggregateMirrorMissing:     {Aggregates, aggregates, asked, 0},
	audit.AggregateMirrorSuperfluous: {Aggregates, aggregates, asked, 0},
	audit.AggregateHostUnknown:       {part: Aggregates},
	audit.AggregateRatioDiffers:      {part: Aggregates},
	audit.RatiosDifferInAggregate:    {part: Aggregates},
	audit.SharingWithoutAggregate:    {part: Aggregates},
	audit.SharingAggregateEmpty:      {part: Aggregates},

	audit.AgentProviderMisplaced:    {Providers, place, asked, 0},
	audit.DeviceProviderMisplaced:   {Providers, place, asked, 0},
	audit.ProviderNameDiffers:       {Providers, place, asked, 0},
	audit.DisabledTraitMissing:      {Providers, traits, asked, 0},
	audit.DisabledTraitSuperfluous:  {Providers, traits, asked, 0},
	audit.InventoryClassSuperfluous: {Providers, inventory, deletes, 0},
	audit.AgentProviderStale:        {Providers, removal, deletes, 0},
	audit.DeviceProviderStale:       {Providers, removal, deletes, 0},
	audit.ProviderOfGoneHost:        {Providers, removal, deletes, 0},
	audit.AgentDeadWithPorts:        {part: Providers},
	audit.AgentNotSynced:            {part: Providers},
	audit.AgentReportInvalid:        {part: Providers},
	audit.AgentDeviceLeftOut:        {part: Providers},
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
	audit.ProviderParentGone:        {part: Providers},
	audit.ProviderRootDiffers:       {part: Providers},

	audit.PortOfGoneServer:            {Ports, port, deletes, 0},
	audit.KeyOfUnboundPort:            {Ports, port, asked, 0},
	audit.KeyWithoutRequest:           {Ports, port, asked, 0},
	audit.KeyFormatOld:                {Ports, port, asked, 0},
	audit.PortHostDiffers:             {part: Ports},
	audit.PortBindingFailed:           {part: Ports},
	audit.PortNotBound:                {part: Ports},
	audit.RequestTraitWithoutProvider: {part: Ports},
}

// Rule returns the part that a code belongs to, and the flag that healing its findings takes, "" for none.
func Rule(code audit.Code) (part Part, flag string) {
	r := rules[code]
	return r.part, string(r.need)
}

// Heals reports whether a request heals findings of a code; it is what audit.Options takes.
func Heals(code audit.Code) bool { return rules[code].way != never }
