package config

import (
	"slices"

	"github.com/berthcloud/berth/osloconfig"
)

// Settings returns the table of all options in the order of the documentation, bound to the fields
// of n: Display returns the values in n.
func (n *Network) Settings() []Setting {
	return slices.Concat(
		n.Default.Settings(), n.Default.logOptions(), n.Neutron.settings(),
		n.Database.oslo(groupOsloDB), n.keystone(), n.credentials(), n.Placement.settings(groupPlacement), n.nova(),
		n.policy(), n.cors(), n.middleware(), n.ssl(), n.ML2.settings(), n.OVN.settings(), n.quotas(), n.berth(),
		n.Berth.hosts(), n.promises(),
	)
}

// settings returns the rows of [DEFAULT]: of the service itself, of networks and their extensions,
// and of bounds.
func (n *Neutron) settings() []Setting {
	const g = groupDefault
	return []Setting{
		NewSetting(g, "state_path", osloconfig.String(&n.StatePath),
			"Neutron's directory for state. Only good for $state_path in other values."),
		NewSetting(g, "bind_host", osloconfig.String(&n.BindHost),
			"Address of the API, unless [berth] listen names one. Neutron's default is 0.0.0.0: all addresses."),
		NewSetting(g, "bind_port", osloconfig.IntBetween(&n.BindPort, 0, 65535),
			"Port of the API, unless [berth] listen names one."),
		NewSetting(g, "use_ssl", osloconfig.Bool(&n.UseSSL),
			"Serve with TLS by the files of [ssl], unless [berth] tls_cert_file names one."),
		NewSetting(g, "auth_strategy", osloconfig.Choice(&n.AuthStrategy, StrategyKeystone, StrategyNoAuth),
			"Authentication of callers: keystone, or noauth, which checks nothing and is for tests: "+
				"the token is the user's name, and admin is the administrator."),
		NewSetting(g, "notify_nova_on_port_status_changes", osloconfig.Bool(&n.NotifyNovaOfStatus),
			"Notify Nova when a server's port is plugged or unplugged."),
		NewSetting(g, "notify_nova_on_port_data_changes", osloconfig.Bool(&n.NotifyNovaOfData),
			"Notify Nova when a server's port is changed or removed."),

		NewSetting(g, "core_plugin",
			osloconfig.String(&n.CorePlugin).Check(optional(oneOf("ml2", "neutron.plugins.ml2.plugin.Ml2Plugin"))),
			"Berth is like the plugin ml2, and no other."),
		NewSetting(g, "service_plugins", osloconfig.List(&n.ServicePlugins),
			"Parts that Berth is to have: placement keeps the agents' devices in placement, segments the segments of routed "+
				"networks in placement and Nova; qos and trunk. Others are warned about."),
		NewSetting(g, "base_mac", osloconfig.String(&n.BaseMAC).Check(checkMAC),
			"MAC addresses of ports begin with its first three octets."),
		NewSetting(g, "global_physnet_mtu", osloconfig.IntBetween(&n.GlobalPhysnetMTU, 0, maxMTU),
			"Largest packet on physical networks, in bytes; tunnels carry less.").
			FormerlyIn(groupML2, "segment_mtu"),
		NewSetting(g, "agent_down_time", osloconfig.IntBetween(&n.AgentDownTime, 1, 1<<31-1),
			"Seconds after its last heartbeat at which an agent counts as down."),
		NewSetting(g, "enable_new_agents", osloconfig.Bool(&n.NewAgents),
			"Have new agents bind ports with guarantees, rather than once an administrator has turned them on."),
		NewSetting(g, "network_link_prefix", osloconfig.String(&n.LinkPrefix).Check(checkLinkPrefix),
			"URL prefix of links in answers, instead of that of the request and of [berth] trusted_proxies."),

		NewSetting(g, "max_dns_nameservers", osloconfig.Int(&n.MaxDNSNameservers), "Name servers that a subnet may have."),
		NewSetting(g, "max_subnet_host_routes", osloconfig.Int(&n.MaxSubnetHostRoutes), "Host routes of a subnet."),
		NewSetting(g, "max_allowed_address_pair", osloconfig.Int(&n.MaxAddressPairs),
			"Allowed address pairs that a port may have."),
		NewSetting(g, "pagination_max_limit", osloconfig.String(&n.PaginationMaxLimit).Check(checkPageLimit),
			"Most objects in one answer, which is then a page; infinite, 0 or a number below it, for no bound."),
	}
}

// databaseOlder are the older names of oslo.db's options.
var databaseOlder = map[string][]osloconfig.Name{
	"connection": {
		{Group: groupDefault, Option: "sql_connection"},
		{Group: "DATABASE", Option: "sql_connection"},
		{Group: "sql", Option: "connection"},
	},
	"max_retries": {{Group: groupDefault, Option: "sql_max_retries"}, {Group: "DATABASE", Option: "sql_max_retries"}},
	"retry_interval": {
		{Group: groupDefault, Option: "sql_retry_interval"}, {Group: "DATABASE", Option: "reconnect_interval"},
	},
	"max_overflow": {
		{Group: groupDefault, Option: "sql_max_overflow"}, {Group: "DATABASE", Option: "sqlalchemy_max_overflow"},
	},
	"pool_timeout": {{Group: "DATABASE", Option: "sqlalchemy_pool_timeout"}},
}

// oslo describes a group that oslo.db registers.
func (d *Database) oslo(g string) []Setting {
	all := d.settings(g)
	for i := range all {
		all[i].Older = append(all[i].Older, databaseOlder[all[i].Name.Option]...)
	}
	return all
}

// ssl returns the rows of [ssl] (oslo.service).
func (n *Network) ssl() []Setting {
	const g = groupSSL
	return []Setting{
		NewSetting(g, "cert_file", osloconfig.String(&n.SSL.CertFile),
			"PEM file with the certificate of the API, when use_ssl is set.").FormerlyIn(groupDefault, "ssl_cert_file"),
		NewSetting(g, "key_file", osloconfig.String(&n.SSL.KeyFile), "PEM file with the private key of that certificate.").
			FormerlyIn(groupDefault, "ssl_key_file"),
		NewSetting(g, "ca_file", osloconfig.String(&n.SSL.CAFile),
			"PEM file with the authorities of clients' certificates; clients then need one.").FormerlyIn(
			groupDefault, "ssl_ca_file"),
	}
}

// quotas returns the rows of [quotas].
func (n *Network) quotas() []Setting {
	q := &n.Quotas
	const g = groupQuotas
	most := func(name string, v *int, help string) Setting { return NewSetting(g, name, osloconfig.Int(v), help) }
	return []Setting{
		most("default_quota", &q.Default,
			"Objects that a project may have, of kinds without an option here; below 0: any number, here and below."),
		most("quota_network", &q.Network, "Networks."),
		most("quota_subnet", &q.Subnet, "Subnets."),
		most("quota_port", &q.Port, "Ports."),
		most("quota_security_group", &q.SecurityGroup, "Security groups."),
		most("quota_security_group_rule", &q.SecurityGroupRule, "Rules of security groups."),
		most("quota_rbac_policy", &q.RBACPolicy, "Policies that share objects with other projects.").
			Formerly("quota_rbac_entry"),
	}
}

// promises returns the rows of [berth] of the network service alone.
func (n *Network) promises() []Setting {
	p := &n.Promises
	const g = groupBerth
	return []Setting{
		NewSetting(g, "old_resource_request", osloconfig.Bool(&p.OldRequests),
			"Show resource_request of ports without groups, for a Nova older than Yoga. "+
				"Guarantees of bandwidth and of packet rates at once then go unseen."),
		NewSetting(g, "tunnel_guarantees", osloconfig.Bool(&p.Tunnels),
			"Let bandwidth be guaranteed on networks of tunnels. Agents must offer it: tunnelled_network_rp_name of theirs."),
		NewSetting(g, "any_physical_network", osloconfig.Bool(&p.Alternatives),
			"Let a guaranteed port of a network with several physical networks go to any of them, not only to the first. "+
				"Needs placement's microversion 1.39 and a compute service that supports it."),
		NewSetting(g, "keep_deleted_promises", osloconfig.Bool(&p.KeepDeleted),
			"Keep the allocation of a port that is deleted while it is bound, as Neutron does, instead of releasing it."),
		maxLists(&n.Berth),
	}
}
