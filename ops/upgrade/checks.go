package upgrade

import (
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
)

// A Row is a check of the table. Its name is stable: programs match it.
type Row struct {
	Name string
	// Since is the release that the check is about, 0 for every one.
	Since   request.Release
	Service string
	// Examines says what it reads, Means what follows when something was seen, and None what it says
	// when nothing was, for people.
	Examines, Means, None string

	needs cloud.Part
	run   func(x *run, r *findings)
}

// Checks returns all checks, in the order in which they are made and documented.
func Checks() []Row { return checks }

// The services that releases are of.
const (
	novaService      = "compute"
	neutronService   = "network"
	placementService = "placement"
)

// checks is the table of all checks. A new one is a row here, a function, a row of the tests and of
// docs/operations/upgrade-check.md.
var checks = []Row{
	{
		"path", 0, novaService, "whether Nova can be upgraded to the release in one step",
		"Nova's services refuse to start next to compute services that are too old.", "", cloud.ComputePart, path,
	},
	{
		"compute-services", 0, novaService, "compute services that are down or forced down, which nobody upgrades",
		"A service that stays old in Nova's records delays what waits for all of them, and is too old for the next upgrade.",
		"All compute services are up.", cloud.ComputePart, oldServices,
	},
	{
		"placement-traits", 0, placementService, "whether placement knows the traits that upgraded hosts report",
		"Hosts that report a trait which placement does not know fail to report: upgrade placement, with os-traits, first.",
		"Placement knows all traits that hosts of the release report.", cloud.PlacementPart, knownTraits,
	},
	{
		"settings", 0, novaService, "settings of a nova.conf (--nova-config) that the releases do not have any more, or " +
			"whose default changes",
		"A removed setting has no effect, or its service does not start; one that is not set gets the new default.", "", 0,
		settings,
	},
	{
		"query-traits", 0, novaService, "flavors for which Nova will require further traits of hosts",
		"The scheduler is upgraded before the hosts: such servers get no host until hosts are upgraded.",
		"Nova requires no further traits for the flavors.", cloud.PlacementPart | cloud.ComputePart, queryTraits,
	},
	{
		"policies-users", request.Antelope, novaService, "users with servers, and system scope: who has none of the roles " +
			"that Nova's new default policies know (enforce_new_defaults)",
		"Their requests are refused with 403.", "", cloud.ComputePart, newDefaults,
	},
	{
		"allocation-ratios", request.Antelope, novaService, "hosts with the former initial allocation ratios, of CPUs 16.0 " +
			"and of memory 1.5",
		"New hosts get 4.0 and 1.0 unless nova.conf says otherwise, so that they take fewer servers than those that are " +
			"there.",
		"No host has the former initial ratios.", cloud.PlacementPart | cloud.ComputePart, initialRatios,
	},
	{
		"pci-in-placement", request.Antelope, novaService, "flavors that request PCI devices, as if pci_in_placement were " +
			"on: how many hosts and candidates there are, and which stop fitting",
		"With [filter_scheduler] pci_in_placement servers of such flavors get no host.", "",
		cloud.PlacementPart | cloud.ComputePart, pciInPlacement,
	},
	{
		"zones", request.Bobcat, novaService, "whether placement has the aggregates of availability zones: from this " +
			"release on it alone decides which hosts are in a zone",
		"Servers are sent to hosts outside of their zone, or not to those in it.",
		"Placement has the aggregates of all zones.", cloud.PlacementPart | cloud.ComputePart, zones,
	},
	{
		"policies-network", request.Bobcat, neutronService, "whether Neutron's new default policies (enforce_new_defaults) " +
			"know the roles of users with servers",
		"Their requests are refused with 403 or 404.", "", cloud.ComputePart, newDefaults,
	},
	{
		"policies-reshape", request.Dalmatian, placementService,
		"whether the user that Nova logs in as has the role service, which placement's new default policies require for " +
			"reshapes",
		"Placement refuses reshapes to the role admin, unless its enforce_new_defaults is off or its policy file allows " +
			"them.", "",
		cloud.EnvironmentPart, reshapeRole,
	},
	{
		"linux-bridge-agents", request.Epoxy, neutronService, "Linux bridge agents, which Neutron does not have any more",
		"The agents do not start: ports on their hosts lose their connections with the next restart.",
		"There is no Linux bridge agent.", cloud.NetworkPart, bridgeAgents,
	},
	{
		"memory-encryption", request.Flamingo, novaService,
		"hosts whose MEM_ENCRYPTION_CONTEXT nova-compute will move to a " +
			"provider below the host's (a reshape)",
		"nova-compute moves inventory and allocations in one request at its first start. What names the host's " +
			"provider for " +
			"this class has to name the child.",
		"No host has MEM_ENCRYPTION_CONTEXT.", cloud.PlacementPart, memoryEncryption,
	},
	{
		"policies-manager", request.Flamingo, novaService, "users with servers who have the role manager, and roles of " +
			"service users",
		"The role manager may list the migrations of its project and migrate its servers, without naming a host.", "",
		cloud.ComputePart, managerRole,
	},
	{
		"vgpu-groups", request.Gazpacho, novaService, "flavors with VGPUs in several request groups, all of which count " +
			"from this release on",
		"Before, all groups were allocated and a server had the devices of one. New servers have them all.",
		"No flavor has VGPUs in several groups.", 0, vgpuGroups,
	},
	{
		"owner-trait", request.Hibiscus, novaService, "compute nodes that Nova will require OWNER_NOVA of, once every " +
			"compute service is of this release",
		"nova-compute reports the trait at its first start. Hosts and PCI devices without it get no servers from then on.",
		"There are no compute nodes.", cloud.PlacementPart | cloud.ComputePart, ownerTrait,
	},
	{
		"linux-bridge-ports", request.Hibiscus, novaService, "ports with the VIF type bridge, which Nova does not plug any " +
			"more",
		"Their servers cannot be started or moved on upgraded hosts.", "No port has the VIF type bridge.",
		cloud.NetworkPart, bridgePorts,
	},
}
