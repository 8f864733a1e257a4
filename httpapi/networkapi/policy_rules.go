package networkapi

// policyRules are the rules of the API, with the default checks of Neutron 21 (Zed) and those
// before: until new defaults are enforced, either is sufficient. A rule without an operation exists
// for others to refer to.
var policyRules = []policyRule{
	{"context_is_admin", "role:admin", "", ""},
	{"owner", "tenant_id:%(tenant_id)s", "", ""},
	{"admin_or_owner", "rule:context_is_admin or rule:owner", "", ""},
	{"context_is_advsvc", "role:advsvc", "", ""},
	{"service_api", "role:service", "", ""},
	{"admin_or_network_owner", "rule:context_is_admin or tenant_id:%(network:tenant_id)s", "", ""},
	{"admin_owner_or_network_owner", "rule:owner or rule:admin_or_network_owner", "", ""},
	{"network_owner", "tenant_id:%(network:tenant_id)s", "", ""},
	{"admin_only", "rule:context_is_admin", "", ""},
	{"regular_user", everybody, "", ""},
	{"shared", "field:networks:shared=True", "", ""},
	{"default", "rule:admin_or_owner", "", ""},
	{"admin_or_ext_parent_owner", "rule:context_is_admin or tenant_id:%(ext_parent:tenant_id)s", "", ""},
	{"ext_parent_owner", "tenant_id:%(ext_parent:tenant_id)s", "", ""},
	{"sg_owner", "tenant_id:%(security_group:tenant_id)s", "", ""},
	{"external", "field:networks:router:external=True", "", ""},
	{
		"create_network", "rule:admin_only or role:member and project_id:%(project_id)s", "rule:regular_user",
		"POST /v2.0/networks",
	},
	{"create_network:shared", "rule:admin_only", "rule:admin_only", "POST /v2.0/networks"},
	{"create_network:router:external", "rule:admin_only", "rule:admin_only", "POST /v2.0/networks"},
	{"create_network:is_default", "rule:admin_only", "rule:admin_only", "POST /v2.0/networks"},
	{
		"create_network:port_security_enabled", "rule:admin_only or role:member and project_id:%(project_id)s",
		"rule:regular_user", "POST /v2.0/networks",
	},
	{"create_network:segments", "rule:admin_only", "rule:admin_only", "POST /v2.0/networks"},
	{"create_network:provider:network_type", "rule:admin_only", "rule:admin_only", "POST /v2.0/networks"},
	{"create_network:provider:physical_network", "rule:admin_only", "rule:admin_only", "POST /v2.0/networks"},
	{"create_network:provider:segmentation_id", "rule:admin_only", "rule:admin_only", "POST /v2.0/networks"},
	{
		"get_network",
		"rule:admin_only or role:reader and project_id:%(project_id)s or rule:shared or rule:external or " +
			"rule:context_is_advsvc",
		"rule:admin_or_owner or rule:shared or rule:external or rule:context_is_advsvc", "GET /v2.0/networks",
	},
	{
		"get_network:router:external", "rule:admin_only or role:reader and project_id:%(project_id)s", "rule:regular_user",
		"GET /v2.0/networks",
	},
	{"get_network:segments", "rule:admin_only", "rule:admin_only", "GET /v2.0/networks"},
	{"get_network:provider:network_type", "rule:admin_only", "rule:admin_only", "GET /v2.0/networks"},
	{"get_network:provider:physical_network", "rule:admin_only", "rule:admin_only", "GET /v2.0/networks"},
	{"get_network:provider:segmentation_id", "rule:admin_only", "rule:admin_only", "GET /v2.0/networks"},
	{
		"update_network", "rule:admin_only or role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"PUT /v2.0/networks/{id}",
	},
	{"update_network:segments", "rule:admin_only", "rule:admin_only", "PUT /v2.0/networks/{id}"},
	{"update_network:shared", "rule:admin_only", "rule:admin_only", "PUT /v2.0/networks/{id}"},
	{"update_network:provider:network_type", "rule:admin_only", "rule:admin_only", "PUT /v2.0/networks/{id}"},
	{"update_network:provider:physical_network", "rule:admin_only", "rule:admin_only", "PUT /v2.0/networks/{id}"},
	{"update_network:provider:segmentation_id", "rule:admin_only", "rule:admin_only", "PUT /v2.0/networks/{id}"},
	{"update_network:router:external", "rule:admin_only", "rule:admin_only", "PUT /v2.0/networks/{id}"},
	{"update_network:is_default", "rule:admin_only", "rule:admin_only", "PUT /v2.0/networks/{id}"},
	{
		"update_network:port_security_enabled", "rule:admin_only or role:member and project_id:%(project_id)s",
		"rule:admin_or_owner", "PUT /v2.0/networks/{id}",
	},
	{
		"delete_network", "rule:admin_only or role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"DELETE /v2.0/networks/{id}",
	},
	{
		"create_subnet", "rule:admin_only or role:member and project_id:%(project_id)s or rule:network_owner",
		"rule:admin_or_network_owner", "POST /v2.0/subnets",
	},
	{"create_subnet:segment_id", "rule:admin_only", "rule:admin_only", "POST /v2.0/subnets"},
	{"create_subnet:service_types", "rule:admin_only", "rule:admin_only", "POST /v2.0/subnets"},
	{
		"get_subnet", "rule:admin_only or role:reader and project_id:%(project_id)s or rule:shared",
		"rule:admin_or_owner or rule:shared", "GET /v2.0/subnets",
	},
	{"get_subnet:segment_id", "rule:admin_only", "rule:admin_only", "GET /v2.0/subnets"},
	{
		"update_subnet", "rule:admin_only or role:member and project_id:%(project_id)s or rule:network_owner",
		"rule:admin_or_network_owner", "PUT /v2.0/subnets/{id}",
	},
	{"update_subnet:segment_id", "rule:admin_only", "rule:admin_only", "PUT /v2.0/subnets/{id}"},
	{"update_subnet:service_types", "rule:admin_only", "rule:admin_only", "PUT /v2.0/subnets/{id}"},
	{
		"delete_subnet", "rule:admin_only or role:member and project_id:%(project_id)s or rule:network_owner",
		"rule:admin_or_network_owner", "DELETE /v2.0/subnets/{id}",
	},
	{"network_device", "field:port:device_owner=~^network:", "", ""},
	{
		"create_port", "rule:admin_only or role:member and project_id:%(project_id)s", "rule:regular_user",
		"POST /v2.0/ports",
	},
	{
		"create_port:device_owner",
		"not rule:network_device or rule:admin_only or rule:context_is_advsvc or rule:network_owner",
		"not rule:network_device or rule:context_is_advsvc or rule:admin_or_network_owner", "POST /v2.0/ports",
	},
	{
		"create_port:mac_address", "rule:context_is_advsvc or rule:network_owner or rule:admin_only",
		"rule:context_is_advsvc or rule:admin_or_network_owner", "POST /v2.0/ports",
	},
	{
		"create_port:fixed_ips", "rule:context_is_advsvc or rule:network_owner or rule:admin_only or rule:shared",
		"rule:context_is_advsvc or rule:admin_or_network_owner or rule:shared", "POST /v2.0/ports",
	},
	{
		"create_port:fixed_ips:ip_address", "rule:context_is_advsvc or rule:network_owner or rule:admin_only",
		"rule:context_is_advsvc or rule:admin_or_network_owner", "POST /v2.0/ports",
	},
	{
		"create_port:fixed_ips:subnet_id", "rule:context_is_advsvc or rule:network_owner or rule:admin_only or rule:shared",
		"rule:context_is_advsvc or rule:admin_or_network_owner or rule:shared", "POST /v2.0/ports",
	},
	{
		"create_port:port_security_enabled", "rule:context_is_advsvc or rule:network_owner or rule:admin_only",
		"rule:context_is_advsvc or rule:admin_or_network_owner", "POST /v2.0/ports",
	},
	{"create_port:binding:host_id", "rule:admin_only", "rule:admin_only", "POST /v2.0/ports"},
	{"create_port:binding:profile", "rule:admin_only", "rule:admin_only", "POST /v2.0/ports"},
	{
		"create_port:binding:vnic_type", "rule:admin_only or role:member and project_id:%(project_id)s", "rule:regular_user",
		"POST /v2.0/ports",
	},
	{"create_port:trusted", "rule:admin_only", "", "POST /v2.0/ports"},
	{
		"create_port:allowed_address_pairs", "rule:admin_only or rule:network_owner", "rule:admin_or_network_owner",
		"POST /v2.0/ports",
	},
	{
		"create_port:allowed_address_pairs:mac_address", "rule:admin_only or rule:network_owner",
		"rule:admin_or_network_owner", "POST /v2.0/ports",
	},
	{
		"create_port:allowed_address_pairs:ip_address", "rule:admin_only or rule:network_owner",
		"rule:admin_or_network_owner", "POST /v2.0/ports",
	},
	{
		"get_port", "rule:admin_only or rule:context_is_advsvc or role:reader and project_id:%(project_id)s",
		"rule:context_is_advsvc or rule:admin_owner_or_network_owner", "GET /v2.0/ports",
	},
	{"get_port:binding:vif_type", "rule:admin_only", "rule:admin_only", "GET /v2.0/ports"},
	{
		"get_port:binding:vif_details", "rule:admin_only", "rule:admin_only",
		"GET /v2.0/ports, GET /berth/v1/ports/{id}/binding",
	},
	{"get_port:binding:host_id", "rule:admin_only", "rule:admin_only", "GET /v2.0/ports"},
	{"get_port:binding:profile", "rule:admin_only", "rule:admin_only", "GET /v2.0/ports"},
	{"get_port:trusted", "rule:admin_only", "", "GET /v2.0/ports"},
	{"get_port:resource_request", "rule:admin_only", "rule:admin_only", "GET /v2.0/ports"},
	{
		"update_port", "rule:admin_only or role:member and project_id:%(project_id)s or rule:context_is_advsvc",
		"rule:admin_or_owner or rule:context_is_advsvc", "PUT /v2.0/ports/{id}",
	},
	{
		"update_port:device_owner",
		"not rule:network_device or rule:context_is_advsvc or rule:network_owner or rule:admin_only",
		"not rule:network_device or rule:context_is_advsvc or rule:admin_or_network_owner", "PUT /v2.0/ports/{id}",
	},
	{
		"update_port:mac_address", "rule:admin_only or rule:context_is_advsvc", "rule:admin_only or rule:context_is_advsvc",
		"PUT /v2.0/ports/{id}",
	},
	{
		"update_port:fixed_ips", "rule:context_is_advsvc or rule:network_owner or rule:admin_only",
		"rule:context_is_advsvc or rule:admin_or_network_owner", "PUT /v2.0/ports/{id}",
	},
	{
		"update_port:fixed_ips:ip_address", "rule:context_is_advsvc or rule:network_owner or rule:admin_only",
		"rule:context_is_advsvc or rule:admin_or_network_owner", "PUT /v2.0/ports/{id}",
	},
	{
		"update_port:fixed_ips:subnet_id", "rule:context_is_advsvc or rule:network_owner or rule:admin_only or rule:shared",
		"rule:context_is_advsvc or rule:admin_or_network_owner or rule:shared", "PUT /v2.0/ports/{id}",
	},
	{
		"update_port:port_security_enabled", "rule:context_is_advsvc or rule:network_owner or rule:admin_only",
		"rule:context_is_advsvc or rule:admin_or_network_owner", "PUT /v2.0/ports/{id}",
	},
	{"update_port:binding:host_id", "rule:admin_only", "rule:admin_only", "PUT /v2.0/ports/{id}"},
	{
		"update_port:binding:profile", "rule:admin_only", "rule:admin_only",
		"PUT /v2.0/ports/{id}, POST /berth/v1/servers/{server}/settle",
	},
	{
		"update_port:binding:vnic_type",
		"rule:admin_only or role:member and project_id:%(project_id)s or rule:context_is_advsvc",
		"rule:admin_or_owner or rule:context_is_advsvc", "PUT /v2.0/ports/{id}",
	},
	{"update_port:trusted", "rule:admin_only", "", "PUT /v2.0/ports/{id}"},
	{
		"update_port:allowed_address_pairs", "rule:admin_only or rule:network_owner", "rule:admin_or_network_owner",
		"PUT /v2.0/ports/{id}",
	},
	{
		"update_port:allowed_address_pairs:mac_address", "rule:admin_only or rule:network_owner",
		"rule:admin_or_network_owner", "PUT /v2.0/ports/{id}",
	},
	{
		"update_port:allowed_address_pairs:ip_address", "rule:admin_only or rule:network_owner",
		"rule:admin_or_network_owner", "PUT /v2.0/ports/{id}",
	},
	{
		"delete_port", "rule:admin_only or rule:context_is_advsvc or role:member and project_id:%(project_id)s",
		"rule:context_is_advsvc or rule:admin_owner_or_network_owner", "DELETE /v2.0/ports/{id}",
	},
	{
		"get_policy", "rule:admin_only or role:reader and project_id:%(project_id)s", "rule:regular_user",
		"GET /v2.0/qos/policies",
	},
	{"create_policy", "rule:admin_only", "rule:admin_only", "POST /v2.0/qos/policies"},
	{"update_policy", "rule:admin_only", "rule:admin_only", "PUT /v2.0/qos/policies/{id}"},
	{"delete_policy", "rule:admin_only", "rule:admin_only", "DELETE /v2.0/qos/policies/{id}"},
	{"get_rule_type", "rule:admin_only", "rule:regular_user", "GET /v2.0/qos/rule-types"},
	{
		"get_policy_bandwidth_limit_rule", "rule:admin_only or role:reader and project_id:%(project_id)s",
		"rule:regular_user", "GET /v2.0/qos/policies/{policy_id}/bandwidth_limit_rules",
	},
	{
		"create_policy_bandwidth_limit_rule", "rule:admin_only", "rule:admin_only",
		"POST /v2.0/qos/policies/{policy_id}/bandwidth_limit_rules",
	},
	{
		"update_policy_bandwidth_limit_rule", "rule:admin_only", "rule:admin_only",
		"PUT /v2.0/qos/policies/{policy_id}/bandwidth_limit_rules/{rule_id}",
	},
	{
		"delete_policy_bandwidth_limit_rule", "rule:admin_only", "rule:admin_only",
		"DELETE /v2.0/qos/policies/{policy_id}/bandwidth_limit_rules/{rule_id}",
	},
	{
		"get_policy_packet_rate_limit_rule", "rule:admin_only or role:reader and project_id:%(project_id)s", "",
		"GET /v2.0/qos/policies/{policy_id}/packet_rate_limit_rules",
	},
	{
		"create_policy_packet_rate_limit_rule", "rule:admin_only", "",
		"POST /v2.0/qos/policies/{policy_id}/packet_rate_limit_rules",
	},
	{
		"update_policy_packet_rate_limit_rule", "rule:admin_only", "",
		"PUT /v2.0/qos/policies/{policy_id}/packet_rate_limit_rules/{rule_id}",
	},
	{
		"delete_policy_packet_rate_limit_rule", "rule:admin_only", "",
		"DELETE /v2.0/qos/policies/{policy_id}/packet_rate_limit_rules/{rule_id}",
	},
	{
		"get_policy_dscp_marking_rule", "rule:admin_only or role:reader and project_id:%(project_id)s", "rule:regular_user",
		"GET /v2.0/qos/policies/{policy_id}/dscp_marking_rules",
	},
	{
		"create_policy_dscp_marking_rule", "rule:admin_only", "rule:admin_only",
		"POST /v2.0/qos/policies/{policy_id}/dscp_marking_rules",
	},
	{
		"update_policy_dscp_marking_rule", "rule:admin_only", "rule:admin_only",
		"PUT /v2.0/qos/policies/{policy_id}/dscp_marking_rules/{rule_id}",
	},
	{
		"delete_policy_dscp_marking_rule", "rule:admin_only", "rule:admin_only",
		"DELETE /v2.0/qos/policies/{policy_id}/dscp_marking_rules/{rule_id}",
	},
	{
		"get_policy_minimum_bandwidth_rule", "rule:admin_only or role:reader and project_id:%(project_id)s",
		"rule:regular_user", "GET /v2.0/qos/policies/{policy_id}/minimum_bandwidth_rules",
	},
	{
		"create_policy_minimum_bandwidth_rule", "rule:admin_only", "rule:admin_only",
		"POST /v2.0/qos/policies/{policy_id}/minimum_bandwidth_rules",
	},
	{
		"update_policy_minimum_bandwidth_rule", "rule:admin_only", "rule:admin_only",
		"PUT /v2.0/qos/policies/{policy_id}/minimum_bandwidth_rules/{rule_id}",
	},
	{
		"delete_policy_minimum_bandwidth_rule", "rule:admin_only", "rule:admin_only",
		"DELETE /v2.0/qos/policies/{policy_id}/minimum_bandwidth_rules/{rule_id}",
	},
	{
		"get_policy_minimum_packet_rate_rule", "rule:admin_only or role:reader and project_id:%(project_id)s", "",
		"GET /v2.0/qos/policies/{policy_id}/minimum_packet_rate_rules",
	},
	{
		"create_policy_minimum_packet_rate_rule", "rule:admin_only", "",
		"POST /v2.0/qos/policies/{policy_id}/minimum_packet_rate_rules",
	},
	{
		"update_policy_minimum_packet_rate_rule", "rule:admin_only", "",
		"PUT /v2.0/qos/policies/{policy_id}/minimum_packet_rate_rules/{rule_id}",
	},
	{
		"delete_policy_minimum_packet_rate_rule", "rule:admin_only", "",
		"DELETE /v2.0/qos/policies/{policy_id}/minimum_packet_rate_rules/{rule_id}",
	},
	{
		"get_alias_bandwidth_limit_rule", "rule:admin_only or role:reader and project_id:%(project_id)s", "rule:regular_user",
		"GET /v2.0/qos/alias_bandwidth_limit_rules/{rule_id}/",
	},
	{
		"update_alias_bandwidth_limit_rule", "rule:admin_only", "rule:admin_only",
		"PUT /v2.0/qos/alias_bandwidth_limit_rules/{rule_id}/",
	},
	{
		"delete_alias_bandwidth_limit_rule", "rule:admin_only", "rule:admin_only",
		"DELETE /v2.0/qos/alias_bandwidth_limit_rules/{rule_id}/",
	},
	{
		"get_alias_dscp_marking_rule", "rule:admin_only or role:reader and project_id:%(project_id)s", "rule:regular_user",
		"GET /v2.0/qos/alias_dscp_marking_rules/{rule_id}/",
	},
	{
		"update_alias_dscp_marking_rule", "rule:admin_only", "rule:admin_only",
		"PUT /v2.0/qos/alias_dscp_marking_rules/{rule_id}/",
	},
	{
		"delete_alias_dscp_marking_rule", "rule:admin_only", "rule:admin_only",
		"DELETE /v2.0/qos/alias_dscp_marking_rules/{rule_id}/",
	},
	{
		"get_alias_minimum_bandwidth_rule", "rule:admin_only or role:reader and project_id:%(project_id)s",
		"rule:regular_user", "GET /v2.0/qos/alias_minimum_bandwidth_rules/{rule_id}/",
	},
	{
		"update_alias_minimum_bandwidth_rule", "rule:admin_only", "rule:admin_only",
		"PUT /v2.0/qos/alias_minimum_bandwidth_rules/{rule_id}/",
	},
	{
		"delete_alias_minimum_bandwidth_rule", "rule:admin_only", "rule:admin_only",
		"DELETE /v2.0/qos/alias_minimum_bandwidth_rules/{rule_id}/",
	},
	{
		"get_alias_minimum_packet_rate_rule", "rule:get_policy_minimum_packet_rate_rule", "",
		"GET /v2.0/qos/alias_minimum_packet_rate_rules/{rule_id}/",
	},
	{
		"update_alias_minimum_packet_rate_rule", "rule:update_policy_minimum_packet_rate_rule", "",
		"PUT /v2.0/qos/alias_minimum_packet_rate_rules/{rule_id}/",
	},
	{
		"delete_alias_minimum_packet_rate_rule", "rule:delete_policy_minimum_packet_rate_rule", "",
		"DELETE /v2.0/qos/alias_minimum_packet_rate_rules/{rule_id}/",
	},
	{
		"report_agent_state", "rule:admin_only or role:berth_agent", "rule:admin_only or role:service",
		"POST /berth/v1/heartbeats, GET and POST /berth/v1/hosts/{host}/ports",
	},
	{"get_change", "rule:admin_only", "", "GET /berth/v1/changes"},
	{"get_agent", "rule:admin_only", "rule:admin_only", "GET /v2.0/agents"},
	{"update_agent", "rule:admin_only", "rule:admin_only", "PUT /v2.0/agents/{id}"},
	{"delete_agent", "rule:admin_only", "rule:admin_only", "DELETE /v2.0/agents/{id}"},
	{"create_segment", "rule:admin_only", "rule:admin_only", "POST /v2.0/segments"},
	{"get_segment", "rule:admin_only", "rule:admin_only", "GET /v2.0/segments"},
	{"update_segment", "rule:admin_only", "rule:admin_only", "PUT /v2.0/segments/{id}"},
	{"delete_segment", "rule:admin_only", "rule:admin_only", "DELETE /v2.0/segments/{id}"},
	{"create_trunk", "role:member and project_id:%(project_id)s", "rule:regular_user", "POST /v2.0/trunks"},
	{"get_trunk", "role:reader and project_id:%(project_id)s", "rule:admin_or_owner", "GET /v2.0/trunks"},
	{"update_trunk", "role:member and project_id:%(project_id)s", "rule:admin_or_owner", "PUT /v2.0/trunks/{id}"},
	{"delete_trunk", "role:member and project_id:%(project_id)s", "rule:admin_or_owner", "DELETE /v2.0/trunks/{id}"},
	{
		"get_subports", "role:reader and project_id:%(project_id)s", "rule:regular_user",
		"GET /v2.0/trunks/{id}/get_subports",
	},
	{
		"add_subports", "role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"PUT /v2.0/trunks/{id}/add_subports",
	},
	{
		"remove_subports", "role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"PUT /v2.0/trunks/{id}/remove_subports",
	},
	{"admin_or_sg_owner", "rule:context_is_admin or tenant_id:%(security_group:tenant_id)s", "", ""},
	{"admin_owner_or_sg_owner", "rule:owner or rule:admin_or_sg_owner", "", ""},
	{
		"create_security_group", "role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"POST /v2.0/security-groups",
	},
	{"get_security_group", "role:reader and project_id:%(project_id)s", "rule:regular_user", "GET /v2.0/security-groups"},
	{
		"update_security_group", "role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"PUT /v2.0/security-groups/{id}",
	},
	{
		"delete_security_group", "role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"DELETE /v2.0/security-groups/{id}",
	},
	{
		"create_security_group_rule", "role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"POST /v2.0/security-group-rules",
	},
	{
		"get_security_group_rule", "role:reader and project_id:%(project_id)s or rule:sg_owner",
		"rule:admin_owner_or_sg_owner", "GET /v2.0/security-group-rules",
	},
	{
		"delete_security_group_rule", "role:member and project_id:%(project_id)s", "rule:admin_or_owner",
		"DELETE /v2.0/security-group-rules/{id}",
	},
	{"get_quota", "rule:admin_only", "rule:admin_only", "GET /v2.0/quota"},
	{"update_quota", "rule:admin_only", "rule:admin_only", "PUT /v2.0/quota/{id}"},
	{"delete_quota", "rule:admin_only", "rule:admin_only", "DELETE /v2.0/quota/{id}"},
	{"get_network_ip_availability", "rule:admin_only", "rule:admin_only", "GET /v2.0/network-ip-availabilities"},
	{"get_availability_zone", "rule:admin_only", "rule:regular_user", "GET /v2.0/availability_zones"},

	// Neutron has no rules for the bindings of a port: they are the
	// administrator's alone.
	{"create_port_binding", "rule:admin_only", "", "POST /v2.0/ports/{port_id}/bindings"},
	{"get_port_binding", "rule:admin_only", "", "GET /v2.0/ports/{port_id}/bindings"},
	{"update_port_binding", "rule:admin_only", "", "PUT /v2.0/ports/{port_id}/bindings/{host}"},
	{"delete_port_binding", "rule:admin_only", "", "DELETE /v2.0/ports/{port_id}/bindings/{host}"},
	{"activate_port_binding", "rule:admin_only", "", "PUT /v2.0/ports/{port_id}/bindings/{host}/activate"},
}
