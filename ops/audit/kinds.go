package audit

// A Kind is a kind of finding. Its code is stable: programs match it.
type Kind struct {
	Code     string
	Severity Severity
	// Means says what follows from it, and Mends what mends it, for people.
	Means, Mends string

	needs part
	rule  func(x *Index, r *report)

	// Heals is the subcommand of berth heal that mends it, "" where none does.
	Heals string
}

// Kinds returns all kinds, in the order in which they are documented.
func Kinds() []Kind { return kinds }

// kinds is the table of all kinds. A new one is a row here, a rule, and a plant in the tests.
var kinds = []Kind{
	// Allocations and their consumers.
	{
		"orphaned-allocation", Error, "Capacity is lost: nothing that exists uses the resources.",
		"Ensure that no server has the UUID, and delete the allocation.", consumers | computing, orphanedAllocation, "allocations",
	},
	{
		"migration-left-over", Error, "Capacity of the host that the server left is lost.",
		"Delete the allocation of the migration.", consumers | computing, migrationLeftOver, "allocations",
	},
	{
		"consumer-empty", Info, "A leftover in placement's database; it does no harm.",
		"Nothing needs to be done; an allocation for the consumer reuses it.", consumers, consumerEmpty, "",
	},
	{
		"consumer-without-type", Info, "Usages by type of consumer leave it out.",
		"The next change of the allocation by a service that sets types mends it.", consumers | computing, consumerWithoutType, "allocations",
	},
	{
		"consumer-type-wrong", Warning, "Usages by type of consumer, and what cleans up migrations, take it for something else.",
		"Write the allocation again with its type.", consumers | computing, consumerTypeWrong, "allocations",
	},
	{
		"consumer-project-wrong", Warning, "The usage counts for the quota of another project.",
		"Heal the allocations of the server.", consumers | computing, consumerProjectWrong, "allocations",
	},
	{
		"consumer-user-wrong", Warning, "The usage counts for another user.",
		"Heal the allocations of the server.", consumers | computing, consumerUserWrong, "allocations",
	},
	{
		"allocation-on-gone-provider", Error, "Placement's database contradicts itself.",
		"Check the database.", consumers, allocationOnGoneProvider, "",
	},
	{
		"allocation-without-inventory", Error, "The resource went away while it was used; moves of the consumer fail.",
		"Move the server, or restore the inventory.", consumers, allocationWithoutInventory, "",
	},
	{
		"amount-breaks-units", Warning, "Units were changed after the allocation was made; writing it again is refused.",
		"Move the server, or restore min_unit, max_unit and step_size.", consumers, amountBreaksUnits, "",
	},
	{
		"usage-differs", Error, "Placement's database contradicts itself, or changed while it was read.",
		"Look again; if it stays, check the database.", consumers, usageDiffers, "",
	},

	// Servers.
	{
		"server-without-allocation", Error, "Its host looks emptier than it is and may get more servers than it can run.",
		"Heal the allocations of the server.", consumers | computing, serverWithoutAllocation, "allocations",
	},
	{
		"allocation-on-wrong-host", Error, "One host looks fuller than it is and the other one emptier.",
		"Delete the allocation and heal the server's.", consumers | computing, allocationOnWrongHost, "allocations",
	},
	{
		"held-on-several-hosts", Error, "A move has left something behind: capacity of the other host is lost.",
		"Remove the part of the allocation that is on the other host.", consumers | computing, heldOnSeveralHosts, "allocations",
	},
	{
		"flavor-amount-missing", Error, "Its host looks emptier than it is and may get more servers than it can run.",
		"Replace the server's allocation by what its flavor asks for (heal with force).", consumers | computing, flavorAmountMissing, "allocations",
	},
	{
		"flavor-amount-superfluous", Warning, "Capacity of its host is lost.",
		"Replace the server's allocation by what its flavor asks for (heal with force).", consumers | computing, flavorAmountSuperfluous, "allocations",
	},
	{
		"class-not-asked", Warning, "Capacity of its host is lost.",
		"Replace the server's allocation by what its flavor asks for (heal with force).", consumers | computing, classNotAsked, "allocations",
	},
	{
		"offloaded-server-holds", Error, "Capacity is lost until the server is unshelved, which may fail.",
		"Delete the allocation.", consumers | computing, offloadedServerHolds, "allocations",
	},
	{
		"unplaced-server-holds", Error, "A boot has failed and left its claim behind: capacity is lost.",
		"Delete the allocation, or the server.", consumers | computing, unplacedServerHolds, "allocations",
	},
	{
		"server-host-unknown", Error, "The server cannot be managed: its host is not known to the compute service.",
		"Start the compute service on the host under its former name, or evacuate the server.", computing, serverHostUnknown, "",
	},
	{
		"evacuation-source-held", Error, "Capacity is allocated that no service will release.",
		"Remove the part of the allocation that is on the former host.", consumers | computing, evacuationSourceHeld, "allocations",
	},

	// Migrations.
	{
		"migration-without-allocation", Warning, "The resize cannot be reverted safely: the former host may have no capacity any more.",
		"Confirm the resize.", consumers | computing, migrationWithoutAllocation, "",
	},
	{
		"migration-on-wrong-host", Error, "Reverting the move gives the server resources of another host.",
		"Compare the allocations of the migration and its server.", consumers | computing, migrationOnWrongHost, "",
	},
	{
		"migration-of-gone-server", Error, "Capacity of the host that the server was to leave is lost.",
		"Delete the allocation of the migration.", consumers | computing, migrationOfGoneServer, "allocations",
	},
	{
		"migration-record-stale", Warning, "The resize has ended for the server and not for its migration, which may hold capacity.",
		"Compare both, and delete the allocation of the migration.", consumers | computing, migrationRecordStale, "",
	},

	// Ports.
	{
		"port-of-gone-server", Warning, "The port cannot be used by another server.",
		"Clear the device of the port, or delete it.", computing | networking, portOfGoneServer, "ports",
	},
	{
		"port-host-differs", Error, "The port has no connection on the host of its server, and its guarantee is on another one.",
		"Detach and attach the port.", providers | computing | networking, portHostDiffers, "",
	},
	{
		"port-binding-failed", Error, "The port has no connection.",
		"See that the agent of the host is alive and has the port's network, and detach and attach the port.", computing | networking, portBindingFailed, "",
	},
	{
		"port-not-bound", Error, "The port has no connection.",
		"Detach and attach the port.", providers | computing | networking, portNotBound, "",
	},
	{
		"key-of-unbound-port", Warning, "Binding the port fails when the provider is not one of the next host.",
		"Remove the key allocation from the binding profile.", networking, keyOfUnboundPort, "ports",
	},
	{
		"bound-without-key", Error, "The port is promised bandwidth that nothing accounts for.",
		"Heal the allocations of the server.", providers | computing | networking, boundWithoutKey, "allocations",
	},
	{
		"key-without-request", Warning, "The policy of the port went away without its allocation, which may still be held.",
		"Remove the key allocation from the binding profile.", providers | computing | networking, keyWithoutRequest, "ports",
	},
	{
		"key-group-unknown", Error, "A change of the policy, or detaching the port, does not find what was allocated for it.",
		"Move the key in the binding profile to the group that the port asks for.", providers | computing | networking, keyGroupUnknown, "allocations",
	},
	{
		"key-group-missing", Error, "A part of what the port is guaranteed is not accounted for.",
		"Detach and attach the port.", providers | computing | networking, keyGroupMissing, "allocations",
	},
	{
		"key-format-old", Info, "The binding profile is in the format before port-resource-request-groups, which later releases do not read.",
		"Run the command that rewrites binding profiles.", providers | computing | networking, keyFormatOld, "ports",
	},
	{
		"key-provider-gone", Error, "Nothing accounts for what the port is guaranteed; the next binding fails.",
		"Move the server, or detach and attach the port.", providers | computing | networking, keyProviderGone, "allocations",
	},
	{
		"key-provider-of-other-host", Error, "The guarantee is accounted for on a host where the port is not.",
		"Move the server, or detach and attach the port.", providers | computing | networking, keyProviderOfOtherHost, "allocations",
	},
	{
		"key-provider-lacks-class", Error, "The provider cannot give what the port is guaranteed.",
		"Move the server, or detach and attach the port.", consumers | computing | networking, keyProviderLacksClass, "allocations",
	},
	{
		"key-provider-lacks-trait", Error, "The port may be on another physical network than its guarantee.",
		"Move the server, or detach and attach the port.", providers | computing | networking, keyProviderLacksTrait, "allocations",
	},
	{
		"key-not-allocated", Error, "The port is promised bandwidth that nothing accounts for.",
		"Add what the port asks for to the allocation of the server.", consumers | computing | networking, keyNotAllocated, "allocations",
	},
	{
		"port-amount-missing", Error, "The port is promised more than is accounted for; the device may be overcommitted.",
		"Add the difference to the allocation of the server.", consumers | computing | networking, portAmountMissing, "allocations",
	},
	{
		"port-amount-superfluous", Error, "Bandwidth leaks: a port was deleted or changed, and what it had stays allocated until the server is deleted.",
		"Subtract the difference from the allocation of the server.", consumers | computing | networking, portAmountSuperfluous, "allocations",
	},
	{
		"request-trait-without-provider", Warning, "No server can be started with the port: there is no valid host.",
		"Map the physical network on the hosts that have it, or use a VNIC type that their agents bind.", providers | networking, requestTraitWithoutProvider, "",
	},

	// Agents and what they report.
	{
		"agent-dead-with-ports", Warning, "Changes of ports and their guarantees do not reach the host.",
		"Start the agent.", networking, agentDeadWithPorts, "",
	},
	{
		"agent-not-synced", Error, "Placement may not have what the agent reports.",
		"See the log of the network service for the reason; it tries again with the next report.", networking, agentNotSynced, "",
	},
	{
		"agent-report-invalid", Error, "Placement gets nothing from the agent.",
		"Correct the agent's settings and restart it.", networking, agentReportInvalid, "",
	},
	{
		"agent-device-left-out", Warning, "The device cannot be guaranteed anything.",
		"Correct the agent's settings and restart it.", networking, agentDeviceLeftOut, "",
	},
	{
		"agent-host-unknown", Error, "The agent's devices cannot be put into placement.",
		"Set resource_provider_hypervisors or resource_provider_default_hypervisor of the agent to the hypervisor's hostname.", providers | networking, agentHostUnknown, "",
	},
	{
		"agent-host-differs", Error, "Ports of servers on the host cannot be bound: no agent is on the host that the compute service names.",
		"Set host to the same value in the settings of both services.", computing | networking, agentHostDiffers, "",
	},
	{
		"agent-provider-missing", Error, "Placement does not offer the device: there is no valid host for ports that ask for it.",
		"Restart the agent, which reports again.", providers | networking, agentProviderMissing, "",
	},
	{
		"provider-name-differs", Warning, "Virtual functions are chosen by the name of the provider, and tools look for it.",
		"Rename the provider.", providers | networking, providerNameDiffers, "providers",
	},
	{
		"agent-provider-misplaced", Error, "The devices are not offered together with their host.",
		"Move the provider below the one of its host.", providers | networking, agentProviderMisplaced, "providers",
	},
	{
		"device-provider-misplaced", Warning, "Requests for one subtree do not find the device with its agent.",
		"Move the provider below the one of its agent.", providers | networking, deviceProviderMisplaced, "providers",
	},
	{
		"agent-provider-stale", Warning, "Servers are sent to devices that nothing manages.",
		"Start the agent again, or delete its providers, those of devices first.", providers | networking, agentProviderStale, "providers",
	},
	{
		"device-provider-stale", Warning, "Servers are sent to a device that does not exist.",
		"Delete the provider once nothing of it is allocated.", providers | networking, deviceProviderStale, "providers",
	},
	{
		"inventory-class-missing", Error, "Placement does not offer what the device has.",
		"Restart the agent, which reports again.", providers | networking, inventoryClassMissing, "",
	},
	{
		"inventory-class-superfluous", Warning, "Placement offers what the device does not have.",
		"Delete the inventory.", providers | networking, inventoryClassSuperfluous, "providers",
	},
	{
		"inventory-total-differs", Error, "Placement offers more or less than the device has.",
		"Restart the agent, which reports again.", providers | networking, inventoryTotalDiffers, "",
	},
	{
		"inventory-settings-differ", Warning, "Placement calculates with other settings than the agent's.",
		"Restart the agent, which reports again; it overwrites what others have set.", providers | networking, inventorySettingsDiffer, "",
	},
	{
		"max-unit-below-total", Warning, "A port that asks for more than this gets no host, although a device has enough.",
		"Restart the agent, which reports again.", providers | networking, maxUnitBelowTotal, "",
	},
	{
		"physnet-trait-missing", Error, "Ports of the network get no host here.",
		"Restart the agent, which reports again.", providers | networking, physnetTraitMissing, "",
	},
	{
		"physnet-trait-superfluous", Error, "Ports get a host that is not connected to their network.",
		"Restart the agent, which reports again.", providers | networking, physnetTraitSuperfluous, "",
	},
	{
		"vnic-trait-missing", Error, "No port gets a host here.",
		"Restart the agent, which reports again.", providers | networking, vnicTraitMissing, "",
	},

	// Hosts.
	{
		"hypervisor-without-provider", Error, "No server is started on the host.",
		"See that its compute service is up; it creates the provider.", providers | computing, hypervisorWithoutProvider, "",
	},
	{
		"hypervisor-uuid-differs", Error, "The compute service of the host cannot create its provider: the name is taken.",
		"Release what is allocated of the old provider and delete it, or give the host its former UUID back.", providers | computing, hypervisorUUIDDiffers, "",
	},
	{
		"hypervisor-name-differs", Warning, "The host was renamed. Agents look for its provider by name and do not find it.",
		"Give the host its former name back, or empty it and have it made anew.", providers | computing, hypervisorNameDiffers, "",
	},
	{
		"provider-of-gone-host", Warning, "Servers are sent to a host that does not exist.",
		"Release what is allocated of it, and delete the providers of its tree from the bottom up.", providers | computing, providerOfGoneHost, "providers",
	},
	{
		"host-without-service", Error, "Servers are sent to a host that nothing manages.",
		"Start its compute service, or delete the compute node and its provider.", computing, hostWithoutService, "",
	},
	{
		"names-alike", Warning, "Services may find each other's records of the host under one name and not under the other.",
		"Use one form of the host's name, the short or the full one, in all services.", providers, namesAlike, "",
	},
	{
		"disabled-trait-missing", Warning, "Placement offers the host, so that searches with a limit may end without a host.",
		"Restart the compute service of the host, or set the trait.", providers | computing, disabledTraitMissing, "providers",
	},
	{
		"disabled-trait-superfluous", Error, "No server is started on the host.",
		"Restart the compute service of the host, or remove the trait.", providers | computing, disabledTraitSuperfluous, "providers",
	},

	// Aggregates.
	{
		"aggregate-mirror-missing", Error, "Servers of the aggregate's projects, or of its availability zone, are not sent to the host.",
		"Synchronize aggregates.", providers | computing, aggregateMirrorMissing, "aggregates",
	},
	{
		"aggregate-mirror-superfluous", Warning, "Servers are sent to a host that has left the aggregate.",
		"Remove the aggregate from the provider; sync_aggregates does not.", providers | computing, aggregateMirrorSuperfluous, "aggregates",
	},
	{
		"aggregate-host-unknown", Warning, "Synchronizing aggregates fails at the host.",
		"Remove the host from the aggregate; one that Nova does not know any more, in the table aggregate_hosts of its API's database.", computing, aggregateHostUnknown, "",
	},
	{
		"aggregate-ratio-differs", Info, "The ratio in an aggregate's metadata has no effect where placement has another one.",
		"Set the ratio in placement and in the settings of the host, or remove the metadata.", providers | computing, aggregateRatioDiffers, "",
	},
	{
		"ratios-differ-in-aggregate", Info, "Hosts that should be alike are filled to different degrees.",
		"Set the same ratios in the settings of the hosts.", providers | computing, ratiosDifferInAggregate, "",
	},
	{
		"sharing-without-aggregate", Warning, "Nothing can use what the provider shares.",
		"Put the provider and those that use it into an aggregate.", providers, sharingWithoutAggregate, "",
	},
	{
		"sharing-aggregate-empty", Info, "Nothing uses what the provider shares.",
		"Put those that use it into the aggregate.", providers, sharingAggregateEmpty, "",
	},

	// Providers by themselves.
	{
		"capacity-exceeded", Error, "More is promised than there is. Changes that use more are refused.",
		"Move servers away, or see why the total or the ratio was lowered.", providers, capacityExceeded, "",
	},
	{
		"reserved-in-use", Info, "Nothing more is allocated there: everything is reserved while it is in use.",
		"Nothing, if it is a bare-metal node, a one-time-use device or a device that has left; lower what is reserved otherwise.", providers, reservedInUse, "",
	},
	{
		"guarantee-overcommitted", Warning, "Guarantees cannot be kept when all ports use theirs.",
		"Set an allocation ratio of 1.0 in the agent's settings.", providers, guaranteeOvercommitted, "",
	},
	{
		"reserved-above-total", Error, "Nothing can be allocated.",
		"Lower what is reserved.", providers, reservedAboveTotal, "",
	},
	{
		"unknown-class", Error, "Placement's database contradicts itself.",
		"Create the class, or check the database.", providers, unknownClass, "",
	},
	{
		"unknown-trait", Error, "Placement's database contradicts itself.",
		"Create the trait, or check the database.", providers, unknownTrait, "",
	},
	{
		"provider-parent-gone", Error, "Placement's database contradicts itself.",
		"Check the database.", providers, providerParentGone, "",
	},
	{
		"provider-root-differs", Error, "Placement's database contradicts itself: searches do not find the provider in its tree.",
		"Check the database.", providers, providerRootDiffers, "",
	},
}
