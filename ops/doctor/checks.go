package doctor

import (
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
)

// A Check is one of the table. Its name is stable: programs match it.
type Check struct {
	Name, Group string
	// Examines says what it reads, and Means what follows when it fails, for people.
	Examines, Means string

	needs cloud.Part
	// codes are the rules of audit whose findings it takes over.
	codes []audit.Code
	run   func(x *run, r *findings)
}

// The groups, from the outside in.
const (
	reachGroup     = "The cloud and its services"
	networkGroup   = "The network service"
	agentGroup     = "Agents"
	providerGroup  = "Providers in placement"
	portGroup      = "Networks and ports"
	computeGroup   = "Compute services"
	recordGroup    = "Records"
	databaseGroup  = "Placement's database and files"
	serverGroup    = "The server"
	everyGuarantee = cloud.PlacementPart | cloud.NetworkPart
)

// Checks returns all checks, in the order in which they are made and documented.
func Checks() []Check { return checks }

// checks is the table of all checks. A new one is a row here, a function, and a row of the tests.
var checks = []Check{
	{
		"login", reachGroup, "whether the identity service can be reached and gives a token",
		"No service can be queried.", cloud.EnvironmentPart, nil, login,
	},
	{
		"catalog", reachGroup, "whether the catalog has an endpoint of each service",
		"Services do not find each other: servers with guarantees cannot be started.", cloud.EnvironmentPart, nil, catalog,
	},
	{
		"endpoints", reachGroup, "whether each service answers at its endpoint, and accepts the token",
		"Whatever needs the service fails.", cloud.EnvironmentPart, nil, endpoints,
	},
	{
		"certificates", reachGroup,
		"whether endpoints have TLS, with certificates that are trusted and valid for 30 days more",
		"Services stop talking to each other when a certificate ends; without TLS tokens can be read on the way.",
		cloud.EnvironmentPart, nil, certificates,
	},
	{
		"versions", reachGroup, "whether the microversions of placement and compute are new enough for guaranteed " +
			"bandwidth, and of which release they are",
		"Servers with guaranteed ports are refused, or get no guarantee.", cloud.EnvironmentPart, nil, versions,
	},
	{
		"token-roles", reachGroup, "whether the token has a role that may read all records",
		"Records are missing, so that other checks see less than there is.", cloud.EnvironmentPart, nil, roles,
	},
	{
		"service-roles", reachGroup,
		"whether the users nova, neutron and placement are enabled, and have the role admin or service",
		"Services refuse the requests of the others: placement has no claims, ports are not bound.", cloud.EnvironmentPart,
		nil, serviceRoles,
	},
	{
		"clocks", reachGroup, "how much the clocks of the services differ from this machine's, and whether heartbeats and " +
			"the token are of the future",
		"Tokens are refused as expired, and agents and services are taken for dead.", cloud.EnvironmentPart, nil, clocks,
	},
	{
		"records-read", reachGroup, "whether the records of placement, the compute and the network service could be read",
		"", 0, nil, recordsRead,
	},

	{
		"network-extensions", networkGroup, "whether the network service has the API extensions of guaranteed bandwidth",
		"Ports request nothing from placement, or less than their policy guarantees.", cloud.EnvironmentPart, nil, extensions,
	},
	{
		"rule-types", networkGroup, "whether a mechanism driver enforces minimum bandwidth",
		"Policies with such a rule are refused.", cloud.EnvironmentPart, nil, ruleTypes,
	},
	{
		"policies", networkGroup, "whether a QoS policy has a rule that guarantees something",
		"No port is guaranteed anything.", cloud.NetworkPart, nil, policyHasRule,
	},

	{
		"agents-alive", agentGroup, "whether agents of Open vSwitch, SR-IOV and OVN are alive, by their heartbeats",
		"Ports are not bound on the host, and changes do not reach it.", cloud.NetworkPart, nil, agentsAlive,
	},
	{
		"agents-enabled", agentGroup, "whether agents are enabled (admin_state_up)",
		"Ports are not bound on the host.", cloud.NetworkPart, nil, agentsEnabled,
	},
	{
		"bandwidths-configured", agentGroup,
		"whether agents with physical networks report bandwidths (resource_provider_bandwidths)",
		"Placement has no bandwidth of the host: ports that request some get no host there.", cloud.NetworkPart,
		[]audit.Code{audit.AgentReportInvalid},
		bandwidthsConfigured,
	},
	{
		"bandwidths-mapped", agentGroup,
		"whether the bandwidths of agents are of bridges and devices that their mappings have",
		"Placement does not have the device, or not its physical network.", cloud.NetworkPart,
		[]audit.Code{audit.AgentDeviceIgnored},
		bandwidthsMapped,
	},
	{
		"agents-restarted", agentGroup,
		"when agents were started, against their first start and the settings files that were given",
		"An agent reports the settings that it was started with.", cloud.NetworkPart, nil, agentsRestarted,
	},
	{
		"agents-synced", agentGroup,
		"whether placement has what agents report (resources_synced), with the last error where the service says it",
		"Placement lacks the devices, or has old amounts.", cloud.NetworkPart, nil, agentsSynced,
	},
	{
		"devices-shared", agentGroup, "whether a device is reported by two agents of a host",
		"More is guaranteed of the device than it has, unless its bandwidth is divided between both.", cloud.NetworkPart, nil,
		devicesShared,
	},
	{
		"hypervisor-names", agentGroup, "whether agents, hypervisors and providers call a host the same",
		"Devices are not put below their host, or ports are not bound there.", cloud.PlacementPart,
		[]audit.Code{audit.AgentHostUnknown, audit.AgentHostDiffers, audit.HypervisorNameDiffers, audit.NamesAlike},
		nil,
	},

	{
		"provider-tree", providerGroup,
		"whether hosts, agents and devices are providers, each below the one that it belongs to",
		"Devices are not offered together with their host.", everyGuarantee,
		[]audit.Code{
			audit.HypervisorWithoutProvider, audit.HypervisorUUIDDiffers, audit.AgentProviderMissing, audit.ProviderNameDiffers,
			audit.AgentProviderMisplaced, audit.DeviceProviderMisplaced, audit.ProviderParentMissing, audit.ProviderRootDiffers,
		},
		nil,
	},
	{
		"provider-inventories", providerGroup, "whether inventories are what agents report",
		"Placement promises more or less than there is.", everyGuarantee,
		[]audit.Code{
			audit.InventoryClassMissing, audit.InventoryClassSuperfluous, audit.InventoryTotalDiffers,
			audit.InventorySettingsDiffer, audit.MaxUnitBelowTotal,
		},
		nil,
	},
	{
		"provider-traits", providerGroup, "whether devices have the traits of their physical network and of the VNIC types " +
			"of their agent (CUSTOM_PHYSNET_…, CUSTOM_VNIC_TYPE_…)",
		"Ports get no host, or one that is not connected to their network.", everyGuarantee,
		[]audit.Code{audit.PhysnetTraitMissing, audit.PhysnetTraitSuperfluous, audit.VNICTraitMissing, audit.UnknownTrait},
		nil,
	},
	{
		"providers-stale", providerGroup,
		"whether there are providers of agents, devices or hosts that do not exist any more",
		"Servers are sent where nothing can run.", everyGuarantee,
		[]audit.Code{audit.AgentProviderStale, audit.DeviceProviderStale, audit.ProviderOfDeletedHost},
		nil,
	},
	{
		"capacity", providerGroup, "whether more is allocated than there is, and guarantees are overcommitted",
		"Guarantees are not kept, and changes are refused.", cloud.PlacementPart,
		[]audit.Code{
			audit.CapacityExceeded, audit.ReservedInUse, audit.VanishedDevice, audit.GuaranteeOvercommitted,
			audit.ReservedAboveTotal,
		},
		nil,
	},
	{
		"ratios", providerGroup, "whether allocation ratios differ between hosts of an aggregate, or from its metadata",
		"Hosts that are to be alike are filled to different degrees.", cloud.PlacementPart,
		[]audit.Code{audit.AggregateRatioDiffers, audit.RatiosDifferInAggregate},
		nil,
	},

	{
		"physical-networks", portGroup,
		"whether the physical networks of networks are connected to a host, and placement has what ports request",
		"Ports of the network get no host.", cloud.NetworkPart, nil, physicalNetworks,
	},
	{
		"physical-names", portGroup,
		"whether several physical networks have one trait, since their names differ by case or signs only",
		"A server may get a host that is connected to the other network.", cloud.NetworkPart, nil, physicalNamesAlike,
	},
	{
		"port-requests", portGroup,
		"whether ports whose policy guarantees something request it from placement (resource_request)",
		"The port is promised bandwidth that nothing accounts for.", cloud.NetworkPart, nil, portRequests,
	},
	{
		"port-bindings", portGroup, "whether the ports of servers are bound, and why not",
		"The port has no connection.", cloud.NetworkPart, nil, portBindings,
	},
	{
		"ports-mixed", portGroup, "whether ports without a guarantee are bound to devices with guarantees",
		"Such ports may take bandwidth that others are guaranteed, or starve; aggregates of hosts keep them apart.",
		everyGuarantee, nil, portsMixed,
	},
	{
		"trunks", portGroup, "whether the parent port of each trunk is guaranteed as much bandwidth as its subports together",
		"Placement accounts for the parent's guarantee only: the device may not have what the subports are guaranteed.",
		cloud.NetworkPart, nil, trunksSized,
	},

	{
		"compute-services", computeGroup, "whether compute services are up and enabled",
		"Nova takes no host whose service is down or disabled.", cloud.ComputePart, nil, computeServices,
	},
	{
		"compute-hosts", computeGroup, "whether every hypervisor has its service, and placement knows which are disabled",
		"Servers are sent to hosts that cannot run them, or not to hosts that can.", cloud.ComputePart,
		[]audit.Code{audit.HostWithoutService, audit.DisabledTraitMissing, audit.DisabledTraitSuperfluous},
		nil,
	},
	{
		"aggregates", computeGroup, "whether placement has the host aggregates of the compute service",
		"Servers are sent to hosts outside of their aggregate or zone, or not to those in it.", cloud.ComputePart,
		[]audit.Code{audit.AggregateMirrorMissing, audit.AggregateMirrorSuperfluous, audit.AggregateHostUnknown},
		nil,
	},
	{
		"failed-servers", computeGroup, "which servers are in ERROR",
		"A request has failed.", cloud.ComputePart, nil, failedServers,
	},

	{
		"records-agree", recordGroup, "what else audit finds: allocations, servers, migrations and ports that disagree",
		"Capacity is lost, or promised twice.", 0, nil, recordsAgree,
	},

	{
		"database-schema", databaseGroup,
		"the revision of the tables of placement's database (with --config or --connection)",
		"The placement service does not start, or fails.", databaseInput, nil, databaseSchema,
	},
	{
		"database-rows", databaseGroup, "whether the rows contradict each other, as berth db check finds",
		"The placement service answers wrongly, or fails.", databaseInput, nil, databaseRows,
	},
	{
		"database-replicas", databaseGroup,
		"whether the database takes writes, its Galera cluster is whole, it is no replica, and its standbys follow",
		"Writes fail, or what was written is lost when a server fails.", databaseInput, nil, databaseReplicas,
	},
	{
		"policy-files", databaseGroup,
		"whether policy files of the placement service can be used, are equal, and what they change",
		"Requests are refused, or allowed, against expectation.", policiesInput, nil, policyFiles,
	},
	{
		"settings-readable", databaseGroup, "whether settings files can be read (with --settings)",
		"The service does not start, or leaves settings out.", settingsInput, nil, settingsReadable,
	},
	{
		"settings-reported", databaseGroup, "whether the agents of the host report the bandwidths of its settings files",
		"The agent was not restarted, or reads another file.", settingsInput | cloud.NetworkPart, nil, settingsReported,
	},
	{
		"settings-ratios", databaseGroup, "whether the ratios of the settings files are those of the host's inventories",
		"The compute service was not restarted, or something else writes the ratios.",
		settingsInput | cloud.PlacementPart | cloud.ComputePart, nil, settingsRatios,
	},

	{
		"server-scheduled", serverGroup, "whether it has a host",
		"It does not run.", cloud.ComputePart, nil, serverScheduled,
	},
	{
		"server-candidates", serverGroup, "whether placement has hosts for what it requests, and what stands in the way",
		"There is no valid host.", cloud.ComputePart, nil, serverCandidates,
	},
	{
		"server-ports", serverGroup, "whether it was started with a port that has a resource request, and not with a network",
		"It is guaranteed nothing.", cloud.ComputePart | cloud.NetworkPart, nil, serverPorts,
	},
	{
		"server-policy", serverGroup, "whether its ports have a policy with a rule that guarantees something",
		"It is guaranteed nothing.", cloud.ComputePart | cloud.NetworkPart, nil, serverPolicy,
	},
	{
		"server-request", serverGroup, "whether its ports have a resource_request",
		"Nova requests nothing from placement for the port.", cloud.ComputePart | cloud.NetworkPart, nil, serverRequest,
	},
	{
		"server-allocation", serverGroup, "whether it has an allocation",
		"Its host looks emptier than it is.", cloud.ComputePart | cloud.ConsumersPart | cloud.PlacementPart, nil,
		serverAllocation,
	},
	{
		"server-providers", serverGroup,
		"whether the allocation is what its flavor and ports request, of providers of its host",
		"What it is guaranteed is not accounted for where it runs.",
		cloud.ComputePart | cloud.ConsumersPart | cloud.PlacementPart | cloud.NetworkPart, nil, serverProviders,
	},
	{
		"server-profile", serverGroup, "whether the binding profiles of its ports name the providers that serve them",
		"The network service does not know which device the guarantee is on.",
		cloud.ComputePart | cloud.ConsumersPart | cloud.PlacementPart | cloud.NetworkPart, nil, serverProfile,
	},
	{
		"server-bound", serverGroup, "whether its ports are bound, and why not",
		"It has no connection.", cloud.ComputePart | cloud.NetworkPart, nil, serverBound,
	},
}
