package config

import (
	"github.com/berthcloud/berth/osloconfig"
)

// serverOptions describes the options in Neutron's [DEFAULT] about processes, requests and timers
// for which Berth has other settings, or none.
func serverOptions() []Setting {
	const g = groupDefault
	return []Setting{
		ignored(g, "api_workers", maybeNumber(), "Processes for the API. Berth is one, with all processors."),
		ignored(g, "rpc_workers", maybeNumber(), "Processes for agents."),
		ignored(g, "rpc_state_report_workers", number(1), "Processes for heartbeats."),
		ignored(g, "api_extensions_path", text(""), "Directories of more extensions, in Python."),
		ignored(g, "api_paste_config", text("api-paste.ini"), "Order of the WSGI filters."),
		ignored(g, "allow_bulk", on(), "Take several objects in one request. Berth always does."),
		ignored(g, "filter_validation", on(), "Refuse unknown filters. Berth always does."),
		ignored(g, "host", text(""), "Name of this host, for agents."),
		ignored(g, "rpc_response_timeout", number(60), "Seconds to wait for an agent's answer."),
		ignored(g, "rpc_response_max_timeout", number(600), "Longest such wait."),
		ignored(g, "setproctitle", text("on"), "Titles of processes."),
		ignored(g, "backlog", number(4096), "Connections that wait to be accepted."),
		ignored(g, "retry_until_window", number(30), "Seconds for which listening is tried."),
		ignored(g, "http_retries", number(3), "How often requests to Nova and Ironic are sent again."),
		ignored(g, "send_events_interval", number(2), "Seconds for which events for Nova are collected."),
		ignored(g, "periodic_interval", number(40), "Seconds between periodic tasks."),
		ignored(g, "periodic_fuzzy_delay", number(5), "Seconds by which these are spread at the start."),
		ignored(g, "wsgi_log_format", text(`%(client_ip)s "%(request_line)s" status: %(status_code)s  len: %(body_length)s time: %(wall_seconds).7f`),
			"Format of lines about requests."),
		ignored(g, "tcp_keepidle", number(600), "Seconds after which idle connections are probed."),
		ignored(g, "wsgi_default_pool_size", number(100), "Requests under way. See [berth] max_requests."),
		ignored(g, "max_header_line", number(16384), "Longest header line."),
		ignored(g, "wsgi_keep_alive", on(), "Keep connections open. Berth always does."),
		ignored(g, "client_socket_timeout", number(900), "Seconds a connection may be idle. See [berth] idle_timeout."),
		ignored(g, "wsgi_server_debug", off(), "Send Python tracebacks to clients."),
	}
}

// otherParts describes the options in [DEFAULT] about parts of Neutron that Berth does not have:
// routers, DHCP, address management, and their agents.
func otherParts() []Setting {
	const g = groupDefault
	return []Setting{
		ignored(g, "enable_services_on_agents_with_admin_state_down", off(), "Keep what an agent that is turned off serves."),
		ignored(g, "rpc_resources_processing_step", number(20), "Objects in one message to an agent."),
		ignored(g, "ipv6_pd_enabled", off(), "Delegation of IPv6 prefixes."),
		ignored(g, "ipam_driver", text("internal"), "What manages addresses. Berth does it itself."),
		ignored(g, "vlan_transparent", off(), "Networks that carry VLANs of their users."),
		ignored(g, "external_dns_driver", text(""), "Service that learns servers' names."),
		ignored(g, "enable_traditional_dhcp", on(), "DHCP agents."),
		ignored(g, "dhcp_lease_duration", number(86400), "Seconds of a lease."),
		ignored(g, "dhcp_agent_notification", on(), "Tell DHCP agents of changes."),
		ignored(g, "dhcp_load_type", osloconfig.Choice(new("networks"), "networks", "subnets", "ports"), "What counts as load of a DHCP agent."),
		ignored(g, "dhcp_agents_per_network", number(1), "DHCP agents of a network."),
		ignored(g, "allow_automatic_dhcp_failover", on(), "Move networks from dead DHCP agents."),
		ignored(g, "network_scheduler_driver", text("neutron.scheduler.dhcp_agent_scheduler.WeightScheduler"), "What picks DHCP agents."),
		ignored(g, "network_auto_schedule", on(), "Give networks to DHCP agents."),
		ignored(g, "max_routes", number(30), "Routes of a router."),
		ignored(g, "enable_snat_by_default", on(), "Source NAT of routers."),
		ignored(g, "dvr_base_mac", text("fa:16:3f:00:00:00"), "What MAC addresses of distributed routers begin with."),
		ignored(g, "router_distributed", off(), "Make routers distributed ones."),
		ignored(g, "enable_dvr", on(), "Offer distributed routers."),
		ignored(g, "host_dvr_for_dhcp", on(), "Distributed routers beside DHCP agents."),
		ignored(g, "router_scheduler_driver", text("neutron.scheduler.l3_agent_scheduler.LeastRoutersScheduler"), "What picks agents of routers."),
		ignored(g, "router_auto_schedule", on(), "Give routers to agents."),
		ignored(g, "allow_automatic_l3agent_failover", off(), "Move routers from dead agents."),
		ignored(g, "l3_ha", off(), "Make routers highly available ones."),
		ignored(g, "max_l3_agents_per_router", number(3), "Agents of such a router."),
		ignored(g, "l3_ha_net_cidr", text("169.254.192.0/18"), "Addresses between these."),
		ignored(g, "l3_ha_network_type", text(""), "Type of the network between these."),
		ignored(g, "l3_ha_network_physical_name", text(""), "Physical network between these."),
		ignored(g, "allowed_conntrack_helpers", text("amanda:tcp,ftp:tcp,h323:udp,h323:tcp,irc:tcp,netbios-ns:udp,"+
			"pptp:tcp,sane:tcp,sip:udp,snmp:udp,tftp:udp"), "Helpers of routers' connection tracking."),
		ignored(g, "ovs_integration_bridge", text("br-int"), "For agents."),
		ignored(g, "ovs_use_veth", off(), "For agents."),
		ignored(g, "interface_driver", text(""), "For agents."),
	}
}
