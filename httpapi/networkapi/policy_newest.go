package networkapi

// newestChecks are the checks that Neutron 29 (2026.2) has with new defaults enforced and Zed has
// not, each with its rules: services do what the role advsvc and administrators did for them, only
// they write what is between the services, and managers have the QoS policies of their project.
var newestChecks = map[string][]string{
	"rule:admin_only or role:reader and project_id:%(project_id)s or rule:service_api or " +
		"rule:shared or rule:external or rule:context_is_advsvc": {
		"get_network",
	},
	"role:reader and project_id:%(project_id)s or rule:shared or rule:external or " +
		"rule:admin_only or role:reader and rule:network_owner or rule:service_api": {
		"get_subnet",
	},
	"rule:admin_only or rule:service_api or role:member and rule:network_owner or rule:shared": {
		"create_port", "create_port:fixed_ips", "create_port:fixed_ips:subnet_id",
		"update_port:fixed_ips:subnet_id",
	},
	"not rule:network_device or rule:admin_only or rule:service_api or role:member and rule:network_owner": {
		"create_port:device_owner", "update_port:device_owner",
	},
	"rule:admin_only or rule:service_api or role:member and rule:network_owner": {
		"create_port:mac_address", "create_port:fixed_ips:ip_address", "create_port:port_security_enabled",
		"update_port:fixed_ips", "update_port:fixed_ips:ip_address", "update_port:port_security_enabled",
	},
	"rule:admin_only or rule:service_api": {
		"create_port:binding:host_id", "get_port:binding:vif_type", "get_port:binding:vif_details",
		"get_port:binding:host_id", "get_port:binding:profile", "update_port:binding:host_id",
		"get_network_ip_availability", "get_port_binding",
	},
	"rule:service_api": {
		"create_port:binding:profile", "update_port:binding:profile", "create_port_binding",
		"delete_port_binding",
	},
	"rule:admin_only or role:member and project_id:%(project_id)s or rule:service_api": {
		"create_port:binding:vnic_type",
	},
	"rule:admin_only or role:member and rule:network_owner or rule:service_api": {
		"create_port:allowed_address_pairs", "create_port:allowed_address_pairs:mac_address",
		"create_port:allowed_address_pairs:ip_address", "update_port:allowed_address_pairs",
		"update_port:allowed_address_pairs:mac_address", "update_port:allowed_address_pairs:ip_address",
	},
	"rule:admin_only or rule:service_api or role:reader and rule:network_owner or " +
		"role:reader and project_id:%(project_id)s": {
		"get_port",
	},
	"rule:admin_only or rule:service_api or role:member and project_id:%(project_id)s": {
		"update_port", "update_port:binding:vnic_type",
	},
	"rule:admin_only or rule:service_api or role:manager and rule:network_owner": {
		"update_port:mac_address",
	},
	"rule:admin_only or rule:service_api or role:member and rule:network_owner or " +
		"role:member and project_id:%(project_id)s": {
		"delete_port",
	},
	"rule:admin_only or role:manager and project_id:%(project_id)s": {
		"create_policy", "update_policy", "delete_policy", "get_quota",
	},
	"rule:admin_only or role:manager and rule:ext_parent_owner": {
		"create_policy_bandwidth_limit_rule", "update_policy_bandwidth_limit_rule",
		"delete_policy_bandwidth_limit_rule", "create_policy_packet_rate_limit_rule",
		"update_policy_packet_rate_limit_rule", "delete_policy_packet_rate_limit_rule",
		"create_policy_dscp_marking_rule", "update_policy_dscp_marking_rule",
		"delete_policy_dscp_marking_rule", "create_policy_minimum_bandwidth_rule",
		"update_policy_minimum_bandwidth_rule", "delete_policy_minimum_bandwidth_rule",
		"create_policy_minimum_packet_rate_rule", "update_policy_minimum_packet_rate_rule",
		"delete_policy_minimum_packet_rate_rule", "update_alias_bandwidth_limit_rule",
		"delete_alias_bandwidth_limit_rule", "update_alias_dscp_marking_rule",
		"delete_alias_dscp_marking_rule", "update_alias_minimum_bandwidth_rule",
		"delete_alias_minimum_bandwidth_rule",
	},
}
