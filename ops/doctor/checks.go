package doctor

// A Check is one of the table. Its name is stable: programs match it.
type Check struct {
	Name, Group string
	// Looks says what it looks at, and Means what follows when it fails, for people.
	Looks, Means string

	needs need
	// codes are the rules of audit whose findings it takes over.
	codes []string
	run   func(x *exam, r *findings)
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
	everyGuarantee = providers | networking
)

// Checks returns all checks, in the order in which they are made and documented.
func Checks() []Check { return checks }

// checks is the table of all checks. A new one is a row here, a function, and a row of the tests.
var checks = []Check{
	{
		"login", reachGroup, "whether the identity service can be reached and gives a token",
		"Nothing can be asked.", around, nil, login,
	},
	{
		"catalog", reachGroup, "whether the catalog has an endpoint of each service",
		"Services do not find each other: servers with guarantees cannot be started.", around, nil, catalog,
	},
	{
		"endpoints", reachGroup, "whether each service answers at its endpoint, and accepts the token",
		"Whatever needs the service fails.", around, nil, endpoints,
	},
	{
		"certificates", reachGroup, "whether endpoints have TLS, with certificates that are trusted and valid for 30 days more",
		"Services stop talking to each other when a certificate ends; without TLS tokens can be read on the way.", around, nil, certificates,
	},
	{
		"versions", reachGroup, "whether the microversions of placement and compute are new enough for guaranteed bandwidth, and of which release they are",
		"Servers with guaranteed ports are refused, or get no guarantee.", around, nil, versions,
	},
	{
		"token-roles", reachGroup, "whether the token has a role that may read all records",
		"Records are missing, so that other checks see less than there is.", around, nil, roles,
	},
	{
		"service-roles", reachGroup, "whether the users nova, neutron and placement are enabled, and have the role admin or service",
		"Services refuse what the others ask of them: placement has no claims, ports are not bound.", around, nil, serviceRoles,
	},
	{
		"clocks", reachGroup, "how much the clocks of the services differ from this machine's, and whether heartbeats and the token are of the future",
		"Tokens are refused as expired, and agents and services are taken for dead.", around, nil, clocks,
	},
	{
		"records-read", reachGroup, "whether the records of placement, the compute and the network service could be read",
		"", 0, nil, recordsRead,
	},

	{
		"network-extensions", networkGroup, "whether the network service has the API extensions of guaranteed bandwidth",
		"Ports ask placement for nothing, or for less than their policy guarantees.", around, nil, extensions,
	},
	{
		"rule-types", networkGroup, "whether a mechanism driver enforces minimum bandwidth",
		"Policies with such a rule are refused.", around, nil, ruleTypes,
	},
	{
		"policies", networkGroup, "whether a QoS policy has a rule that guarantees something",
		"No port is guaranteed anything.", networking, nil, policyHasRule,
	},

	{
		"agents-alive", agentGroup, "whether agents of Open vSwitch, SR-IOV and OVN are alive, by their heartbeats",
		"Ports are not bound on the host, and changes do not reach it.", networking, nil, agentsAlive,
	},
	{
		"agents-enabled", agentGroup, "whether agents are enabled (admin_state_up)",
		"Ports are not bound on the host.", networking, nil, agentsEnabled,
	},
	{
		"bandwidths-configured", agentGroup, "whether agents with physical networks report bandwidths (resource_provider_bandwidths)",
		"Placement has no bandwidth of the host: ports that ask for some get no host there.", networking,
		[]string{"agent-report-invalid"},
		bandwidthsConfigured,
	},
	{
		"bandwidths-mapped", agentGroup, "whether the bandwidths of agents are of bridges and devices that their mappings have",
		"Placement does not have the device, or not its physical network.", networking,
		[]string{"agent-device-left-out"},
		bandwidthsMapped,
	},
	{
		"agents-restarted", agentGroup, "when agents were started, against their first start and the settings files that were given",
		"An agent reports the settings that it was started with.", networking, nil, agentsRestarted,
	},
	{
		"agents-synced", agentGroup, "whether placement has what agents report (resources_synced), with the last error where the service says it",
		"Placement lacks the devices, or has old amounts.", networking, nil, agentsSynced,
	},
	{
		"devices-shared", agentGroup, "whether a device is reported by two agents of a host",
		"More is guaranteed of the device than it has, unless its bandwidth is divided between both.", networking, nil, devicesShared,
	},
	{
		"hypervisor-names", agentGroup, "whether agents, hypervisors and providers call a host the same",
		"Devices are not put below their host, or ports are not bound there.", providers,
		[]string{"agent-host-unknown", "agent-host-differs", "hypervisor-name-differs", "names-alike"},
		nil,
	},

	{
		"provider-tree", providerGroup, "whether hosts, agents and devices are providers, each below the one that it belongs to",
		"Devices are not offered together with their host.", everyGuarantee,
		[]string{"hypervisor-without-provider", "hypervisor-uuid-differs", "agent-provider-missing", "provider-name-differs", "agent-provider-misplaced", "device-provider-misplaced", "provider-parent-gone", "provider-root-differs"},
		nil,
	},
	{
		"provider-inventories", providerGroup, "whether inventories are what agents report",
		"Placement promises more or less than there is.", everyGuarantee,
		[]string{"inventory-class-missing", "inventory-class-superfluous", "inventory-total-differs", "inventory-settings-differ", "max-unit-below-total"},
		nil,
	},
	{
		"provider-traits", providerGroup, "whether devices have the traits of their physical network and of the VNIC types of their agent (CUSTOM_PHYSNET_…, CUSTOM_VNIC_TYPE_…)",
		"Ports get no host, or one that is not connected to their network.", everyGuarantee,
		[]string{"physnet-trait-missing", "physnet-trait-superfluous", "vnic-trait-missing", "unknown-trait"},
		nil,
	},
	{
		"providers-stale", providerGroup, "whether there are providers of agents, devices or hosts that do not exist any more",
		"Servers are sent where nothing can run.", everyGuarantee,
		[]string{"agent-provider-stale", "device-provider-stale", "provider-of-gone-host"},
		nil,
	},
	{
		"capacity", providerGroup, "whether more is allocated than there is, and guarantees are overcommitted",
		"Guarantees are not kept, and changes are refused.", providers,
		[]string{"capacity-exceeded", "reserved-in-use", "guarantee-overcommitted", "reserved-above-total"},
		nil,
	},
	{
		"ratios", providerGroup, "whether allocation ratios differ between hosts of an aggregate, or from its metadata",
		"Hosts that are to be alike are filled to different degrees.", providers,
		[]string{"aggregate-ratio-differs", "ratios-differ-in-aggregate"},
		nil,
	},

	{
		"physical-networks", portGroup, "whether the physical networks of networks are connected to a host, and placement has what ports ask for",
		"Ports of the network get no host.", networking, nil, physicalNetworks,
	},
	{
		"physical-names", portGroup, "whether several physical networks have one trait, since their names differ by case or signs only",
		"A server may get a host that is connected to the other network.", networking, nil, physicalNamesAlike,
	},
	{
		"port-requests", portGroup, "whether ports whose policy guarantees something ask placement for it (resource_request)",
		"The port is promised bandwidth that nothing accounts for.", networking, nil, portRequests,
	},
	{
		"port-bindings", portGroup, "whether the ports of servers are bound, and why not",
		"The port has no connection.", networking, nil, portBindings,
	},
	{
		"ports-mixed", portGroup, "whether ports without a guarantee are bound to devices with guarantees",
		"Such ports may take bandwidth that others are guaranteed, or starve; aggregates of hosts keep them apart.", everyGuarantee, nil, portsMixed,
	},
	{
		"trunks", portGroup, "whether the parent port of each trunk is guaranteed as much bandwidth as its subports together",
		"Placement accounts for the parent's guarantee only: the device may not have what the subports are guaranteed.", networking, nil, trunksSized,
	},

	{
		"compute-services", computeGroup, "whether compute services are up and enabled",
		"Nova takes no host whose service is down or disabled.", computing, nil, computeServices,
	},
	{
		"compute-hosts", computeGroup, "whether every hypervisor has its service, and placement knows which are disabled",
		"Servers are sent to hosts that cannot run them, or not to hosts that can.", computing,
		[]string{"host-without-service", "disabled-trait-missing", "disabled-trait-superfluous"},
		nil,
	},
	{
		"aggregates", computeGroup, "whether placement has the host aggregates of the compute service",
		"Servers are sent to hosts outside of their aggregate or zone, or not to those in it.", computing,
		[]string{"aggregate-mirror-missing", "aggregate-mirror-superfluous", "aggregate-host-unknown"},
		nil,
	},
	{
		"failed-servers", computeGroup, "which servers are in ERROR",
		"A request has failed.", computing, nil, failedServers,
	},

	{
		"records-agree", recordGroup, "what else audit finds: allocations, servers, migrations and ports that disagree",
		"Capacity is lost, or promised twice.", 0, nil, recordsAgree,
	},

	{
		"database-schema", databaseGroup, "the revision of the tables of placement's database (with --config or --connection)",
		"The placement service does not start, or fails.", database, nil, databaseSchema,
	},
	{
		"database-rows", databaseGroup, "whether the rows contradict each other, as berth db check finds",
		"The placement service answers wrongly, or fails.", database, nil, databaseRows,
	},
	{
		"database-replicas", databaseGroup, "whether the database takes writes, its Galera cluster is whole, it is no replica, and its standbys follow",
		"Writes fail, or what was written is lost when a server fails.", database, nil, databaseReplicas,
	},
	{
		"policy-files", databaseGroup, "whether policy files of the placement service can be used, are equal, and what they change",
		"Requests are refused, or allowed, against expectation.", policies, nil, policyFiles,
	},
	{
		"settings-readable", databaseGroup, "whether settings files can be read (with --settings)",
		"The service does not start, or leaves settings out.", settings, nil, settingsReadable,
	},
	{
		"settings-reported", databaseGroup, "whether the agents of the host report the bandwidths of its settings files",
		"The agent was not restarted, or reads another file.", settings | networking, nil, settingsReported,
	},
	{
		"settings-ratios", databaseGroup, "whether the ratios of the settings files are those of the host's inventories",
		"The compute service was not restarted, or something else writes the ratios.", settings | providers | computing, nil, settingsRatios,
	},

	{
		"server-scheduled", serverGroup, "whether it has a host",
		"It does not run.", computing, nil, serverScheduled,
	},
	{
		"server-candidates", serverGroup, "whether placement has hosts for what it asks for, and what stands in the way",
		"There is no valid host.", computing, nil, serverCandidates,
	},
	{
		"server-ports", serverGroup, "whether it was started with a port that asks placement for something, and not with a network",
		"It is guaranteed nothing.", computing | networking, nil, serverPorts,
	},
	{
		"server-policy", serverGroup, "whether its ports have a policy with a rule that guarantees something",
		"It is guaranteed nothing.", computing | networking, nil, serverPolicy,
	},
	{
		"server-request", serverGroup, "whether its ports have a resource_request",
		"Nova asks placement for nothing on behalf of the port.", computing | networking, nil, serverRequest,
	},
	{
		"server-allocation", serverGroup, "whether it has an allocation",
		"Its host looks emptier than it is.", computing | consumers | providers, nil, serverAllocation,
	},
	{
		"server-providers", serverGroup, "whether the allocation is what its flavor and ports ask for, of providers of its host",
		"What it is guaranteed is not accounted for where it runs.", computing | consumers | providers | networking, nil, serverProviders,
	},
	{
		"server-profile", serverGroup, "whether the binding profiles of its ports name the providers that serve them",
		"The network service does not know which device the guarantee is on.", computing | consumers | providers | networking, nil, serverProfile,
	},
	{
		"server-bound", serverGroup, "whether its ports are bound, and why not",
		"It has no connection.", computing | networking, nil, serverBound,
	},
}
