package settings

import (
	"strings"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// othersDefault are the options of Neutron's other programs in [DEFAULT], and of
// the message bus, by name: neutron.conf belongs to all of them.
var othersDefault = strings.Fields(`
agent_down_time agent_mode allow_automatic_dhcp_failover allow_automatic_l3agent_failover allow_bulk
allowed_conntrack_helpers api_extensions_path api_workers auth_ca_cert auth_strategy backlog base_mac
bind_host bind_port bulk_reload_interval cleanup_on_shutdown conn_pool_min_size conn_pool_ttl control_exchange
core_plugin default_availability_zones dhcp_agent_notification dhcp_agents_per_network dhcp_broadcast_reply
dhcp_confs dhcp_driver dhcp_lease_duration dhcp_load_type dns_domain dnsmasq_base_log_dir dnsmasq_config_file
dnsmasq_dns_servers dnsmasq_enable_addr6_list dnsmasq_lease_max dnsmasq_local_resolv driver dvr_base_mac
enable_dvr enable_isolated_metadata enable_metadata_network enable_metadata_proxy enable_new_agents
enable_services_on_agents_with_admin_state_down enable_snat_by_default enable_traditional_dhcp
executor_thread_pool_size external_dns_driver external_ingress_mark filter_validation force_metadata
global_physnet_mtu granular_traffic_data ha_confs_path ha_keepalived_state_change_server_threads
ha_vrrp_advert_int ha_vrrp_auth_password ha_vrrp_auth_type ha_vrrp_health_check_interval
handle_internal_only_routers host_dvr_for_dhcp http_retries interface_driver ipam_driver ipv6_gateway
ipv6_pd_enabled keepalived_use_no_track l3_ha l3_ha_net_cidr l3_ha_network_physical_name l3_ha_network_type
max_allowed_address_pair max_dns_nameservers max_l3_agents_per_router max_routes max_rtr_adv_interval
max_subnet_host_routes measure_interval metadata_access_mark metadata_backlog metadata_port
metadata_proxy_group metadata_proxy_shared_secret metadata_proxy_socket metadata_proxy_socket_mode
metadata_proxy_user metadata_workers min_rtr_adv_interval network_auto_schedule network_link_prefix
network_scheduler_driver notify_nova_on_port_data_changes notify_nova_on_port_status_changes nova_client_cert
nova_client_priv_key nova_metadata_host nova_metadata_insecure nova_metadata_port nova_metadata_protocol
num_sync_threads ovs_integration_bridge ovs_use_veth pagination_max_limit pd_confs periodic_fuzzy_delay
periodic_interval prefix_delegation_driver ra_confs radvd_user report_interval resync_interval resync_throttle
retry_until_window router_auto_schedule router_distributed router_scheduler_driver rpc_conn_pool_size
rpc_ping_enabled rpc_resources_processing_step rpc_response_max_timeout rpc_response_timeout
rpc_state_report_workers rpc_workers send_events_interval service_plugins setproctitle transport_url use_ssl
vendor_pen vlan_transparent
`)

// elsewhere describes the options of other programs. They are accepted whatever
// they say, as upstream's agents do, and never shown, since some are passwords.
func elsewhere() []config.Setting {
	var all []config.Setting
	for _, name := range othersDefault {
		all = append(all, ignored(groupDefault, name, osloconfig.Hidden(new(osloconfig.Secret)), "Of another program of Neutron's."))
	}
	return all
}

// foreign lists the groups of which an agent reads nothing: those of the server,
// of libraries, and of the other kinds of agent.
func foreign(kind Kind) []string {
	groups := strings.Fields(`
		cache cli_script cors database designate experimental healthcheck infoblox ironic keystone_authtoken
		linux_bridge macvtap metering ml2_type_flat ml2_type_geneve ml2_type_gre ml2_type_vlan ml2_type_vxlan
		nova octavia oslo_concurrency oslo_limit oslo_messaging_amqp oslo_messaging_kafka
		oslo_messaging_metrics oslo_messaging_notifications oslo_messaging_rabbit oslo_middleware oslo_policy
		oslo_reports oslo_versionedobjects ovn ovn_nb_global ovs_driver placement privsep privsep_dhcp_release
		privsep_link privsep_namespace privsep_conntrack privsep_ovs_vsctl profiler profiler_jaeger
		profiler_otlp qos quotas service_auth service_providers sriov_driver ssl vxlan`)
	for group, owner := range map[string]Kind{groupOVS: OVS, groupSRIOV: SRIOV} {
		if kind != owner {
			groups = append(groups, group)
		}
	}
	if kind == SRIOV {
		groups = append(groups, groupML2)
	}
	return groups
}
