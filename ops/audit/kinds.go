package audit

import "github.com/berthcloud/berth/ops/cloud"

// A Kind is a kind of finding.
type Kind struct {
	Code     Code
	Severity Severity
	// Means says what follows from it, and Repair what repairs it, for people.
	Means, Repair string

	needs cloud.Part
	rule  func(x *records, r *report)
}

// Kinds returns all kinds, in the order in which they are documented.
func Kinds() []Kind { return kinds }

// kinds is the table of all kinds. A new one is a code, a row here, a rule, and a fault in the
// tests.
var kinds = []Kind{
	// Allocations and their consumers.
	{
		OrphanedAllocation, Error, "Capacity is lost: nothing that exists uses the resources.",
		"Ensure that no server has the UUID, and delete the allocation.", cloud.ConsumersPart | cloud.ComputePart,
		orphanedAllocation,
	},
	{
		EndedMigrationAllocated, Error, "Capacity of the host that the server left is lost.",
		"Delete the allocation of the migration.", cloud.ConsumersPart | cloud.ComputePart, endedMigrationAllocated,
	},
	{
		ConsumerEmpty, Info, "A leftover in placement's database; it does no harm.",
		"Nothing needs to be done; an allocation for the consumer reuses it.", cloud.ConsumersPart, consumerEmpty,
	},
	{
		ConsumerWithoutType, Info, "Usages by type of consumer leave it out.",
		"The next change of the allocation by a service that sets types repairs it.", cloud.ConsumersPart | cloud.ComputePart,
		consumerWithoutType,
	},
	{
		ConsumerTypeWrong, Warning, "Usages by type of consumer, and what cleans up migrations, take it for something else.",
		"Write the allocation again with its type.", cloud.ConsumersPart | cloud.ComputePart, consumerTypeWrong,
	},
	{
		ConsumerProjectWrong, Warning, "The usage counts for the quota of another project.",
		"Heal the allocations of the server.", cloud.ConsumersPart | cloud.ComputePart, consumerProjectWrong,
	},
	{
		ConsumerUserWrong, Warning, "The usage counts for another user.",
		"Heal the allocations of the server.", cloud.ConsumersPart | cloud.ComputePart, consumerUserWrong,
	},
	{
		AllocationOnMissingProvider, Error, "Placement's database contradicts itself.",
		"Check the database.", cloud.ConsumersPart, allocationOnMissingProvider,
	},
	{
		AllocationWithoutInventory, Error, "The resource went away while it was used; moves of the consumer fail.",
		"Move the server, or restore the inventory.", cloud.ConsumersPart, allocationWithoutInventory,
	},
	{
		AmountBreaksUnits, Warning, "Units were changed after the allocation was made; writing it again is refused.",
		"Move the server, or restore min_unit, max_unit and step_size.", cloud.ConsumersPart, amountBreaksUnits,
	},
	{
		UsageDiffers, Error, "Placement's database contradicts itself, or changed while it was read.",
		"Audit again; if the finding remains, check the database.", cloud.ConsumersPart, usageDiffers,
	},

	// Servers.
	{
		ServerWithoutAllocation, Error, "Its host looks emptier than it is and may get more servers than it can run.",
		"Heal the allocations of the server.", cloud.ConsumersPart | cloud.ComputePart, serverWithoutAllocation,
	},
	{
		AllocationOnWrongHost, Error, "One host looks fuller than it is and the other one emptier.",
		"Delete the allocation and heal the server's.", cloud.ConsumersPart | cloud.ComputePart, allocationOnWrongHost,
	},
	{
		AllocatedOnSeveralHosts, Error, "A move did not release everything: capacity of the other host is lost.",
		"Remove the part of the allocation that is on the other host.", cloud.ConsumersPart | cloud.ComputePart,
		allocatedOnSeveralHosts,
	},
	{
		FlavorAmountMissing, Error, "Its host looks emptier than it is and may get more servers than it can run.",
		"Replace the server's allocation by what its flavor requests (heal with force).",
		cloud.ConsumersPart | cloud.ComputePart, flavorAmountMissing,
	},
	{
		FlavorAmountSuperfluous, Warning, "Capacity of its host is lost.",
		"Replace the server's allocation by what its flavor requests (heal with force).",
		cloud.ConsumersPart | cloud.ComputePart, flavorAmountSuperfluous,
	},
	{
		ClassNotRequested, Warning, "Capacity of its host is lost.",
		"Replace the server's allocation by what its flavor requests (heal with force).",
		cloud.ConsumersPart | cloud.ComputePart, classNotRequested,
	},
	{
		OffloadedServerAllocated, Error, "Capacity is lost until the server is unshelved, which may fail.",
		"Delete the allocation.", cloud.ConsumersPart | cloud.ComputePart, offloadedServerAllocated,
	},
	{
		HostlessServerAllocated, Error, "A boot has failed and did not release its claim: capacity is lost.",
		"Delete the allocation, or the server.", cloud.ConsumersPart | cloud.ComputePart, hostlessServerAllocated,
	},
	{
		ServerHostUnknown, Error, "The server cannot be managed: its host is not known to the compute service.",
		"Start the compute service on the host under its former name, or evacuate the server.", cloud.ComputePart,
		serverHostUnknown,
	},
	{
		EvacuationSourceAllocated, Error, "Capacity is allocated that no service will release.",
		"Remove the part of the allocation that is on the former host.", cloud.ConsumersPart | cloud.ComputePart,
		evacuationSourceAllocated,
	},

	// Migrations.
	{
		MigrationWithoutAllocation, Warning,
		"The resize cannot be reverted safely: the former host may have no capacity any more.",
		"Confirm the resize.", cloud.ConsumersPart | cloud.ComputePart, migrationWithoutAllocation,
	},
	{
		MigrationOnWrongHost, Error, "Reverting the move gives the server resources of another host.",
		"Compare the allocations of the migration and its server.", cloud.ConsumersPart | cloud.ComputePart,
		migrationOnWrongHost,
	},
	{
		MigrationOfDeletedServer, Error, "Capacity of the host that the server was to leave is lost.",
		"Delete the allocation of the migration.", cloud.ConsumersPart | cloud.ComputePart, migrationOfDeletedServer,
	},
	{
		MigrationRecordStale, Warning,
		"The resize has ended for the server and not for its migration, which may have capacity allocated.",
		"Compare both, and delete the allocation of the migration.", cloud.ConsumersPart | cloud.ComputePart,
		migrationRecordStale,
	},

	// Ports.
	{
		PortOfDeletedServer, Warning, "The port cannot be used by another server.",
		"Clear the device of the port, or delete it.", cloud.ComputePart | cloud.NetworkPart, portOfDeletedServer,
	},
	{
		PortHostDiffers, Error, "The port has no connection on the host of its server, and its guarantee is on another one.",
		"Detach and attach the port.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart, portHostDiffers,
	},
	{
		PortBindingFailed, Error, "The port has no connection.",
		"See that the agent of the host is alive and has the port's network, and detach and attach the port.",
		cloud.ComputePart | cloud.NetworkPart, portBindingFailed,
	},
	{
		PortNotBound, Error, "The port has no connection.",
		"Detach and attach the port.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart, portNotBound,
	},
	{
		KeyOfUnboundPort, Warning, "Binding the port fails when the provider is not one of the next host.",
		"Remove the key allocation from the binding profile.", cloud.NetworkPart, keyOfUnboundPort,
	},
	{
		BoundWithoutKey, Error, "The port is promised bandwidth that nothing accounts for.",
		"Heal the allocations of the server.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart, boundWithoutKey,
	},
	{
		KeyWithoutRequest, Warning, "The policy of the port went away without its allocation, which may still exist.",
		"Remove the key allocation from the binding profile.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart,
		keyWithoutRequest,
	},
	{
		KeyGroupUnknown, Error, "A change of the policy, or detaching the port, does not find what was allocated for it.",
		"Move the key in the binding profile to the group that the port requests.",
		cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart, keyGroupUnknown,
	},
	{
		KeyGroupMissing, Error, "A part of what the port is guaranteed is not accounted for.",
		"Detach and attach the port.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart, keyGroupMissing,
	},
	{
		KeyFormatOld, Info,
		"The binding profile is in the format before port-resource-request-groups, which later releases do not read.",
		"Run the command that rewrites binding profiles.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart,
		keyFormatOld,
	},
	{
		KeyProviderMissing, Error, "Nothing accounts for what the port is guaranteed; the next binding fails.",
		"Move the server, or detach and attach the port.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart,
		keyProviderMissing,
	},
	{
		KeyProviderOfOtherHost, Error, "The guarantee is accounted for on a host where the port is not.",
		"Move the server, or detach and attach the port.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart,
		keyProviderOfOtherHost,
	},
	{
		KeyProviderLacksClass, Error, "The provider cannot give what the port is guaranteed.",
		"Move the server, or detach and attach the port.", cloud.ConsumersPart | cloud.ComputePart | cloud.NetworkPart,
		keyProviderLacksClass,
	},
	{
		KeyProviderLacksTrait, Error, "The port may be on another physical network than its guarantee.",
		"Move the server, or detach and attach the port.", cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart,
		keyProviderLacksTrait,
	},
	{
		KeyNotAllocated, Error, "The port is promised bandwidth that nothing accounts for.",
		"Add what the port requests to the allocation of the server.",
		cloud.ConsumersPart | cloud.ComputePart | cloud.NetworkPart, keyNotAllocated,
	},
	{
		PortAmountMissing, Error, "The port is promised more than is accounted for; the device may be overcommitted.",
		"Add the difference to the allocation of the server.", cloud.ConsumersPart | cloud.ComputePart | cloud.NetworkPart,
		portAmountMissing,
	},
	{
		PortAmountSuperfluous, Error,
		"Bandwidth leaks: a port was deleted or changed, and what it had stays allocated until the server is deleted.",
		"Subtract the difference from the allocation of the server.",
		cloud.ConsumersPart | cloud.ComputePart | cloud.NetworkPart, portAmountSuperfluous,
	},
	{
		RequestTraitWithoutProvider, Warning, "No server can be started with the port: there is no valid host.",
		"Map the physical network on the hosts that have it, or use a VNIC type that their agents bind.",
		cloud.PlacementPart | cloud.NetworkPart, requestTraitWithoutProvider,
	},

	// Agents and what they report.
	{
		AgentDeadWithPorts, Warning, "Changes of ports and their guarantees do not reach the host.",
		"Start the agent.", cloud.NetworkPart, agentDeadWithPorts,
	},
	{
		AgentNotSynced, Error, "Placement may not have what the agent reports.",
		"See the log of the network service for the reason; it tries again with the next report.", cloud.NetworkPart,
		agentNotSynced,
	},
	{
		AgentReportInvalid, Error, "Placement gets nothing from the agent.",
		"Correct the agent's settings and restart it.", cloud.NetworkPart, agentReportInvalid,
	},
	{
		AgentDeviceIgnored, Warning, "The device cannot be guaranteed anything.",
		"Correct the agent's settings and restart it.", cloud.NetworkPart, agentDeviceIgnored,
	},
	{
		AgentHostUnknown, Error, "The agent's devices cannot be put into placement.",
		"Set resource_provider_hypervisors or resource_provider_default_hypervisor of the agent to the hypervisor's " +
			"hostname.", cloud.PlacementPart | cloud.NetworkPart, agentHostUnknown,
	},
	{
		AgentHostDiffers, Error,
		"Ports of servers on the host cannot be bound: no agent is on the host that the compute service names.",
		"Set host to the same value in the settings of both services.", cloud.ComputePart | cloud.NetworkPart,
		agentHostDiffers,
	},
	{
		AgentProviderMissing, Error, "Placement does not offer the device: there is no valid host for ports that request it.",
		"Restart the agent, which reports again.", cloud.PlacementPart | cloud.NetworkPart, agentProviderMissing,
	},
	{
		ProviderNameDiffers, Warning, "Virtual functions are chosen by the name of the provider, and tools look for it.",
		"Rename the provider.", cloud.PlacementPart | cloud.NetworkPart, providerNameDiffers,
	},
	{
		AgentProviderMisplaced, Error, "The devices are not offered together with their host.",
		"Move the provider below the one of its host.", cloud.PlacementPart | cloud.NetworkPart, agentProviderMisplaced,
	},
	{
		DeviceProviderMisplaced, Warning, "Requests for one subtree do not find the device with its agent.",
		"Move the provider below the one of its agent.", cloud.PlacementPart | cloud.NetworkPart, deviceProviderMisplaced,
	},
	{
		AgentProviderStale, Warning, "Servers are sent to devices that nothing manages.",
		"Start the agent again, or delete its providers, those of devices first.", cloud.PlacementPart | cloud.NetworkPart,
		agentProviderStale,
	},
	{
		DeviceProviderStale, Warning, "Servers are sent to a device that does not exist.",
		"Delete the provider once nothing of it is allocated.", cloud.PlacementPart | cloud.NetworkPart, deviceProviderStale,
	},
	{
		InventoryClassMissing, Error, "Placement does not offer what the device has.",
		"Restart the agent, which reports again.", cloud.PlacementPart | cloud.NetworkPart, inventoryClassMissing,
	},
	{
		InventoryClassSuperfluous, Warning, "Placement offers what the device does not have.",
		"Delete the inventory.", cloud.PlacementPart | cloud.NetworkPart, inventoryClassSuperfluous,
	},
	{
		InventoryTotalDiffers, Error, "Placement offers more or less than the device has.",
		"Restart the agent, which reports again.", cloud.PlacementPart | cloud.NetworkPart, inventoryTotalDiffers,
	},
	{
		InventorySettingsDiffer, Warning, "Placement calculates with other settings than the agent's.",
		"Restart the agent, which reports again; it overwrites what others have set.",
		cloud.PlacementPart | cloud.NetworkPart, inventorySettingsDiffer,
	},
	{
		MaxUnitBelowTotal, Warning, "A port that requests more than this gets no host, although a device has enough.",
		"Restart the agent, which reports again.", cloud.PlacementPart | cloud.NetworkPart, maxUnitBelowTotal,
	},
	{
		PhysnetTraitMissing, Error, "Ports of the network get no host here.",
		"Restart the agent, which reports again.", cloud.PlacementPart | cloud.NetworkPart, physnetTraitMissing,
	},
	{
		PhysnetTraitSuperfluous, Error, "Ports get a host that is not connected to their network.",
		"Restart the agent, which reports again.", cloud.PlacementPart | cloud.NetworkPart, physnetTraitSuperfluous,
	},
	{
		VNICTraitMissing, Error, "No port gets a host here.",
		"Restart the agent, which reports again.", cloud.PlacementPart | cloud.NetworkPart, vnicTraitMissing,
	},

	// Hosts.
	{
		HypervisorWithoutProvider, Error, "No server is started on the host.",
		"See that its compute service is up; it creates the provider.", cloud.PlacementPart | cloud.ComputePart,
		hypervisorWithoutProvider,
	},
	{
		HypervisorUUIDDiffers, Error, "The compute service of the host cannot create its provider: the name is taken.",
		"Release what is allocated of the old provider and delete it, or give the host its former UUID back.",
		cloud.PlacementPart | cloud.ComputePart, hypervisorUUIDDiffers,
	},
	{
		HypervisorNameDiffers, Warning, "The host was renamed. Agents look for its provider by name and do not find it.",
		"Give the host its former name back, or empty it and have it created again.", cloud.PlacementPart | cloud.ComputePart,
		hypervisorNameDiffers,
	},
	{
		ProviderOfDeletedHost, Warning, "Servers are sent to a host that does not exist.",
		"Release what is allocated of it, and delete the providers of its tree from the bottom up.",
		cloud.PlacementPart | cloud.ComputePart, providerOfDeletedHost,
	},
	{
		HostWithoutService, Error, "Servers are sent to a host that nothing manages.",
		"Start its compute service, or delete the compute node and its provider.", cloud.ComputePart, hostWithoutService,
	},
	{
		NamesAlike, Warning, "Services may find each other's records of the host under one name and not under the other.",
		"Use one form of the host's name, the short or the full one, in all services.", cloud.PlacementPart, namesAlike,
	},
	{
		DisabledTraitMissing, Warning, "Placement offers the host, so that searches with a limit may end without a host.",
		"Restart the compute service of the host, or set the trait.", cloud.PlacementPart | cloud.ComputePart,
		disabledTraitMissing,
	},
	{
		DisabledTraitSuperfluous, Error, "No server is started on the host.",
		"Restart the compute service of the host, or remove the trait.", cloud.PlacementPart | cloud.ComputePart,
		disabledTraitSuperfluous,
	},
	{
		OwnerTraitMissing, Warning, "No server is started there once every compute service is of Nova 2026.2 or newer.",
		"Upgrade the compute service of the host, or restart it: it sets the trait.", cloud.PlacementPart | cloud.ComputePart,
		ownerTraitMissing,
	},

	// Aggregates.
	{
		AggregateMirrorMissing, Error,
		"Servers of the aggregate's projects, or of its availability zone, are not sent to the host.",
		"Synchronize aggregates.", cloud.PlacementPart | cloud.ComputePart, aggregateMirrorMissing,
	},
	{
		AggregateMirrorSuperfluous, Warning, "Servers are sent to a host that has left the aggregate.",
		"Remove the aggregate from the provider; sync_aggregates does not.", cloud.PlacementPart | cloud.ComputePart,
		aggregateMirrorSuperfluous,
	},
	{
		AggregateHostUnknown, Warning, "Synchronizing aggregates fails at the host.",
		"Remove the host from the aggregate; one that Nova does not know any more, in the table aggregate_hosts of its " +
			"API's database.", cloud.ComputePart, aggregateHostUnknown,
	},
	{
		AggregateRatioDiffers, Info, "The ratio in an aggregate's metadata has no effect where placement has another one.",
		"Set the ratio in placement and in the settings of the host, or remove the metadata.",
		cloud.PlacementPart | cloud.ComputePart, aggregateRatioDiffers,
	},
	{
		RatiosDifferInAggregate, Info, "Hosts that should be alike are filled to different degrees.",
		"Set the same ratios in the settings of the hosts.", cloud.PlacementPart | cloud.ComputePart, ratiosDifferInAggregate,
	},
	{
		SharingWithoutAggregate, Warning, "Nothing can use what the provider shares.",
		"Put the provider and those that use it into an aggregate.", cloud.PlacementPart, sharingWithoutAggregate,
	},
	{
		SharingAggregateEmpty, Info, "Nothing uses what the provider shares.",
		"Put those that use it into the aggregate.", cloud.PlacementPart, sharingAggregateEmpty,
	},

	// Providers by themselves.
	{
		CapacityExceeded, Error, "More is promised than there is. Changes that use more are refused.",
		"Move servers away, or see why the total or the ratio was lowered.", cloud.PlacementPart, capacityExceeded,
	},
	{
		ReservedInUse, Info, "Nothing more is allocated there: everything is reserved while it is in use.",
		"Nothing, if it is a bare-metal node, a one-time-use device or a class that has left; lower what is reserved " +
			"otherwise.", cloud.PlacementPart, reservedInUse,
	},
	{
		VanishedDevice, Error, "Servers are promised units of a device that their host does not have any more.",
		"Move or delete the servers, or make the moves with berth reshape --moves when the device has another name now.",
		cloud.PlacementPart, vanishedDevice,
	},
	{
		GuaranteeOvercommitted, Warning, "Guarantees cannot be kept when all ports use theirs.",
		"Set an allocation ratio of 1.0 in the agent's settings.", cloud.PlacementPart, guaranteeOvercommitted,
	},
	{
		ReservedAboveTotal, Error, "Nothing can be allocated.",
		"Lower what is reserved.", cloud.PlacementPart, reservedAboveTotal,
	},
	{
		UnknownClass, Error, "Placement's database contradicts itself.",
		"Create the class, or check the database.", cloud.PlacementPart, unknownClass,
	},
	{
		UnknownTrait, Error, "Placement's database contradicts itself.",
		"Create the trait, or check the database.", cloud.PlacementPart, unknownTrait,
	},
	{
		ProviderParentMissing, Error, "Placement's database contradicts itself.",
		"Check the database.", cloud.PlacementPart, providerParentMissing,
	},
	{
		ProviderRootDiffers, Error, "Placement's database contradicts itself: searches do not find the provider in its tree.",
		"Check the database.", cloud.PlacementPart, providerRootDiffers,
	},
}
