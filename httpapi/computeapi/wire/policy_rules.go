package wire

// policyRules are the rules of the API, with the checks that Nova 26 (Zed) has by
// default. A rule without operations is there for others to name.
var policyRules = []policyRule{
	{"context_is_admin", "role:admin", "admin_api", ""},
	{"admin_or_owner", "role:admin or project_id:%(project_id)s", "", ""},
	{"admin_api", "role:admin", "", ""},
	{"project_member_api", "role:member and project_id:%(project_id)s", "admin_or_owner", ""},
	{"project_reader_api", "role:reader and project_id:%(project_id)s", "admin_or_owner", ""},
	{"project_member_or_admin", "rule:project_member_api or rule:context_is_admin", "admin_or_owner", ""},
	{"project_reader_or_admin", "rule:project_reader_api or rule:context_is_admin", "admin_or_owner", ""},
	{"project_manager_api", "role:manager and project_id:%(project_id)s", "admin_api", ""},
	{"project_manager_or_admin", "rule:project_manager_api or rule:context_is_admin", "admin_api", ""},
	{"service_api", "role:service", "admin_api", ""},
	{"service_or_admin", "rule:service_api or rule:context_is_admin", "admin_api", ""},

	{"os_compute_api:os-flavor-manage:create", "rule:context_is_admin", "", "POST /flavors"},
	{"os_compute_api:os-flavor-manage:update", "rule:context_is_admin", "", "PUT /flavors/{flavor_id}"},
	{"os_compute_api:os-flavor-manage:delete", "rule:context_is_admin", "", "DELETE /flavors/{flavor_id}"},
	{
		"os_compute_api:os-flavor-extra-specs:index", "rule:project_reader_or_admin", "",
		"GET /flavors/{flavor_id}/os-extra_specs/, POST /flavors, GET /flavors/detail, GET /flavors/{flavor_id}, " +
			"PUT /flavors/{flavor_id}",
	},
	{
		"os_compute_api:os-flavor-extra-specs:show", "rule:project_reader_or_admin", "",
		"GET /flavors/{flavor_id}/os-extra_specs/{flavor_extra_spec_key}",
	},
	{
		"os_compute_api:os-flavor-extra-specs:create", "rule:context_is_admin", "",
		"POST /flavors/{flavor_id}/os-extra_specs/",
	},
	{
		"os_compute_api:os-flavor-extra-specs:update", "rule:context_is_admin", "",
		"PUT /flavors/{flavor_id}/os-extra_specs/{flavor_extra_spec_key}",
	},
	{
		"os_compute_api:os-flavor-extra-specs:delete", "rule:context_is_admin", "",
		"DELETE /flavors/{flavor_id}/os-extra_specs/{flavor_extra_spec_key}",
	},
	{
		"os_compute_api:os-flavor-access", "rule:context_is_admin", "os_compute_api:os-flavor-access=rule:admin_or_owner",
		"GET /flavors/{flavor_id}/os-flavor-access",
	},
	{
		"os_compute_api:os-flavor-access:add_tenant_access", "rule:context_is_admin", "",
		"POST /flavors/{flavor_id}/action (addTenantAccess)",
	},
	{
		"os_compute_api:os-flavor-access:remove_tenant_access", "rule:context_is_admin", "",
		"POST /flavors/{flavor_id}/action (removeTenantAccess)",
	},

	{"os_compute_api:os-keypairs:index", "(rule:context_is_admin) or user_id:%(user_id)s", "", "GET /os-keypairs"},
	{"os_compute_api:os-keypairs:create", "(rule:context_is_admin) or user_id:%(user_id)s", "", "POST /os-keypairs"},
	{
		"os_compute_api:os-keypairs:delete", "(rule:context_is_admin) or user_id:%(user_id)s", "",
		"DELETE /os-keypairs/{keypair_name}",
	},
	{
		"os_compute_api:os-keypairs:show", "(rule:context_is_admin) or user_id:%(user_id)s", "",
		"GET /os-keypairs/{keypair_name}",
	},

	{"os_compute_api:os-aggregates:index", "rule:context_is_admin", "", "GET /os-aggregates"},
	{"os_compute_api:os-aggregates:create", "rule:context_is_admin", "", "POST /os-aggregates"},
	{"os_compute_api:os-aggregates:show", "rule:context_is_admin", "", "GET /os-aggregates/{aggregate_id}"},
	{"os_compute_api:os-aggregates:update", "rule:context_is_admin", "", "PUT /os-aggregates/{aggregate_id}"},
	{"os_compute_api:os-aggregates:delete", "rule:context_is_admin", "", "DELETE /os-aggregates/{aggregate_id}"},
	{
		"os_compute_api:os-aggregates:add_host", "rule:context_is_admin", "",
		"POST /os-aggregates/{aggregate_id}/action (add_host)",
	},
	{
		"os_compute_api:os-aggregates:remove_host", "rule:context_is_admin", "",
		"POST /os-aggregates/{aggregate_id}/action (remove_host)",
	},
	{
		"os_compute_api:os-aggregates:set_metadata", "rule:context_is_admin", "",
		"POST /os-aggregates/{aggregate_id}/action (set_metadata)",
	},

	{"os_compute_api:os-availability-zone:list", "@", "", "GET /os-availability-zone"},
	{"os_compute_api:os-availability-zone:detail", "rule:context_is_admin", "", "GET /os-availability-zone/detail"},

	{
		"os_compute_api:os-services:list", "rule:context_is_admin", "os_compute_api:os-services=rule:admin_api",
		"GET /os-services",
	},
	{
		"os_compute_api:os-services:update", "rule:context_is_admin", "os_compute_api:os-services=rule:admin_api",
		"PUT /os-services/{service_id}",
	},
	{
		"os_compute_api:os-services:delete", "rule:context_is_admin", "os_compute_api:os-services=rule:admin_api",
		"DELETE /os-services/{service_id}",
	},

	{
		"os_compute_api:os-hypervisors:list", "rule:context_is_admin", "os_compute_api:os-hypervisors=rule:admin_api",
		"GET /os-hypervisors",
	},
	{
		"os_compute_api:os-hypervisors:list-detail", "rule:context_is_admin", "os_compute_api:os-hypervisors=rule:admin_api",
		"GET /os-hypervisors/details",
	},
	{
		"os_compute_api:os-hypervisors:statistics", "rule:context_is_admin", "os_compute_api:os-hypervisors=rule:admin_api",
		"GET /os-hypervisors/statistics",
	},
	{
		"os_compute_api:os-hypervisors:show", "rule:context_is_admin", "os_compute_api:os-hypervisors=rule:admin_api",
		"GET /os-hypervisors/{hypervisor_id}",
	},
	{
		"os_compute_api:os-hypervisors:uptime", "rule:context_is_admin", "os_compute_api:os-hypervisors=rule:admin_api",
		"GET /os-hypervisors/{hypervisor_id}/uptime",
	},
	{
		"os_compute_api:os-hypervisors:search", "rule:context_is_admin", "os_compute_api:os-hypervisors=rule:admin_api",
		"GET /os-hypervisors/{hypervisor_hostname_pattern}/search",
	},
	{
		"os_compute_api:os-hypervisors:servers", "rule:context_is_admin", "os_compute_api:os-hypervisors=rule:admin_api",
		"GET /os-hypervisors/{hypervisor_hostname_pattern}/servers",
	},

	{"os_compute_api:os-server-groups:create", "rule:project_member_or_admin", "", "POST /os-server-groups"},
	{
		"os_compute_api:os-server-groups:delete", "rule:project_member_or_admin", "",
		"DELETE /os-server-groups/{server_group_id}",
	},
	{"os_compute_api:os-server-groups:index", "rule:project_reader_or_admin", "", "GET /os-server-groups"},
	{"os_compute_api:os-server-groups:index:all_projects", "rule:context_is_admin", "", "GET /os-server-groups"},
	{
		"os_compute_api:os-server-groups:show", "rule:project_reader_or_admin", "", "GET /os-server-groups/{server_group_id}",
	},

	{"os_compute_api:os-quota-sets:update", "rule:context_is_admin", "", "PUT /os-quota-sets/{tenant_id}"},
	{"os_compute_api:os-quota-sets:defaults", "@", "", "GET /os-quota-sets/{tenant_id}/defaults"},
	{"os_compute_api:os-quota-sets:show", "rule:project_reader_or_admin", "", "GET /os-quota-sets/{tenant_id}"},
	{"os_compute_api:os-quota-sets:delete", "rule:context_is_admin", "", "DELETE /os-quota-sets/{tenant_id}"},
	{"os_compute_api:os-quota-sets:detail", "rule:project_reader_or_admin", "", "GET /os-quota-sets/{tenant_id}/detail"},
	{"os_compute_api:os-quota-class-sets:show", "rule:context_is_admin", "", "GET /os-quota-class-sets/{quota_class}"},
	{"os_compute_api:os-quota-class-sets:update", "rule:context_is_admin", "", "PUT /os-quota-class-sets/{quota_class}"},
	{"os_compute_api:ips:show", "rule:project_reader_or_admin", "", "GET /servers/{server_id}/ips/{network_label}"},
	{"os_compute_api:ips:index", "rule:project_reader_or_admin", "", "GET /servers/{server_id}/ips"},
	{
		"os_compute_api:os-simple-tenant-usage:show", "rule:project_reader_or_admin", "",
		"GET /os-simple-tenant-usage/{tenant_id}",
	},
	{"os_compute_api:os-simple-tenant-usage:list", "rule:context_is_admin", "", "GET /os-simple-tenant-usage"},
	{"os_compute_api:limits", "@", "", "GET /limits"},
	{
		"os_compute_api:limits:other_project", "rule:context_is_admin", "os_compute_api:os-used-limits=rule:admin_api",
		"GET /limits",
	},

	{"os_compute_api:servers:index", "rule:project_reader_or_admin", "", "GET /servers"},
	{"os_compute_api:servers:detail", "rule:project_reader_or_admin", "", "GET /servers/detail"},
	{"os_compute_api:servers:index:get_all_tenants", "rule:context_is_admin", "", "GET /servers"},
	{"os_compute_api:servers:detail:get_all_tenants", "rule:context_is_admin", "", "GET /servers/detail"},
	{"os_compute_api:servers:allow_all_filters", "rule:context_is_admin", "", "GET /servers, GET /servers/detail"},
	{"os_compute_api:servers:show", "rule:project_reader_or_admin", "", "GET /servers/{server_id}"},
	{
		"os_compute_api:servers:show:flavor-extra-specs", "rule:project_reader_or_admin",
		"os_compute_api:os-flavor-extra-specs:index=rule:admin_or_owner",
		"GET /servers/detail, GET /servers/{server_id}, PUT /servers/{server_id}",
	},
	{
		"os_compute_api:servers:show:host_status", "rule:context_is_admin", "",
		"GET /servers/{server_id}, GET /servers/detail",
	},
	{
		"os_compute_api:servers:show:host_status:unknown-only", "rule:context_is_admin", "",
		"GET /servers/{server_id}, GET /servers/detail",
	},
	{
		"os_compute_api:os-extended-server-attributes", "rule:context_is_admin", "", "GET /servers/{id}, GET /servers/detail",
	},
	{"os_compute_api:servers:create", "rule:project_member_or_admin", "", "POST /servers"},
	{"os_compute_api:servers:create:forced_host", "rule:context_is_admin", "", "POST /servers"},
	{"compute:servers:create:requested_destination", "rule:context_is_admin", "", "POST /servers"},
	{"os_compute_api:servers:create:attach_network", "rule:project_member_or_admin", "", "POST /servers"},
	{"os_compute_api:servers:update", "rule:project_member_or_admin", "", "PUT /servers/{server_id}"},
	{"os_compute_api:servers:delete", "rule:project_member_or_admin", "", "DELETE /servers/{server_id}"},

	{"compute:server:topology:index", "rule:project_reader_or_admin", "", "GET /servers/{server_id}/topology"},
	{"compute:server:topology:host:index", "rule:context_is_admin", "", "GET /servers/{server_id}/topology"},

	{"os_compute_api:servers:start", "rule:project_member_or_admin", "", "POST /servers/{server_id}/action (os-start)"},
	{"os_compute_api:servers:stop", "rule:project_member_or_admin", "", "POST /servers/{server_id}/action (os-stop)"},
	{"os_compute_api:servers:resize", "rule:project_member_or_admin", "", "POST /servers/{server_id}/action (resize)"},
	{
		"os_compute_api:servers:confirm_resize", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (confirmResize)",
	},
	{
		"os_compute_api:servers:revert_resize", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (revertResize)",
	},
	{
		"os_compute_api:os-migrate-server:migrate_live", "rule:context_is_admin", "",
		"POST /servers/{server_id}/action (os-migrateLive)",
	},
	{
		"os_compute_api:os-migrate-server:migrate_live:host", "rule:os_compute_api:os-migrate-server:migrate_live", "",
		"POST /servers/{server_id}/action (os-migrateLive)",
	},
	{"os_compute_api:os-evacuate", "rule:context_is_admin", "", "POST /servers/{server_id}/action (evacuate)"},
	{
		"os_compute_api:servers:migrations:force_complete", "rule:context_is_admin", "",
		"POST /servers/{server_id}/migrations/{migration_id}/action (force_complete)",
	},
	{
		"os_compute_api:servers:migrations:delete", "rule:context_is_admin", "",
		"DELETE /servers/{server_id}/migrations/{migration_id}",
	},
	{
		"os_compute_api:os-migrate-server:migrate", "rule:context_is_admin", "", "POST /servers/{server_id}/action (migrate)",
	},
	{
		"os_compute_api:os-migrate-server:migrate:host", "rule:os_compute_api:os-migrate-server:migrate", "",
		"POST /servers/{server_id}/action (migrate)",
	},
	{"os_compute_api:servers:reboot", "rule:project_member_or_admin", "", "POST /servers/{server_id}/action (reboot)"},
	{
		"os_compute_api:os-pause-server:pause", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (pause)",
	},
	{
		"os_compute_api:os-pause-server:unpause", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (unpause)",
	},
	{
		"os_compute_api:os-suspend-server:suspend", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (suspend)",
	},
	{
		"os_compute_api:os-suspend-server:resume", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (resume)",
	},
	{"os_compute_api:servers:rebuild", "rule:project_member_or_admin", "", "POST /servers/{server_id}/action (rebuild)"},
	{
		"os_compute_api:servers:rebuild:trusted_certs", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (rebuild)",
	},
	{"os_compute_api:os-shelve:shelve", "rule:project_member_or_admin", "", "POST /servers/{server_id}/action (shelve)"},
	{
		"os_compute_api:os-shelve:unshelve", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (unshelve)",
	},
	{
		"os_compute_api:os-shelve:unshelve_to_host", "rule:context_is_admin", "",
		"POST /servers/{server_id}/action (unshelve)",
	},
	{
		"os_compute_api:os-shelve:shelve_offload", "rule:context_is_admin", "",
		"POST /servers/{server_id}/action (shelveOffload)",
	},
	{"os_compute_api:os-lock-server:lock", "rule:project_member_or_admin", "", "POST /servers/{server_id}/action (lock)"},
	{
		"os_compute_api:os-lock-server:unlock", "rule:project_member_or_admin", "",
		"POST /servers/{server_id}/action (unlock)",
	},
	{
		"os_compute_api:os-lock-server:unlock:unlock_override", "rule:context_is_admin", "",
		"POST /servers/{server_id}/action (unlock)",
	},
	{
		"os_compute_api:os-admin-actions:reset_state", "rule:context_is_admin", "",
		"POST /servers/{server_id}/action (os-resetState)",
	},
	{"os_compute_api:server-metadata:index", "rule:project_reader_or_admin", "", "GET /servers/{server_id}/metadata"},
	{"os_compute_api:server-metadata:show", "rule:project_reader_or_admin", "", "GET /servers/{server_id}/metadata/{key}"},
	{"os_compute_api:server-metadata:create", "rule:project_member_or_admin", "", "POST /servers/{server_id}/metadata"},
	{"os_compute_api:server-metadata:update_all", "rule:project_member_or_admin", "", "PUT /servers/{server_id}/metadata"},
	{
		"os_compute_api:server-metadata:update", "rule:project_member_or_admin", "",
		"PUT /servers/{server_id}/metadata/{key}",
	},
	{
		"os_compute_api:server-metadata:delete", "rule:project_member_or_admin", "",
		"DELETE /servers/{server_id}/metadata/{key}",
	},
	{"os_compute_api:os-server-tags:index", "rule:project_reader_or_admin", "", "GET /servers/{server_id}/tags"},
	{"os_compute_api:os-server-tags:show", "rule:project_reader_or_admin", "", "GET /servers/{server_id}/tags/{tag}"},
	{"os_compute_api:os-server-tags:update_all", "rule:project_member_or_admin", "", "PUT /servers/{server_id}/tags"},
	{"os_compute_api:os-server-tags:delete_all", "rule:project_member_or_admin", "", "DELETE /servers/{server_id}/tags"},
	{"os_compute_api:os-server-tags:update", "rule:project_member_or_admin", "", "PUT /servers/{server_id}/tags/{tag}"},
	{"os_compute_api:os-server-tags:delete", "rule:project_member_or_admin", "", "DELETE /servers/{server_id}/tags/{tag}"},
	{
		"os_compute_api:os-attach-interfaces:list", "rule:project_reader_or_admin",
		"os_compute_api:os-attach-interfaces=rule:admin_or_owner", "GET /servers/{server_id}/os-interface",
	},
	{
		"os_compute_api:os-attach-interfaces:show", "rule:project_reader_or_admin",
		"os_compute_api:os-attach-interfaces=rule:admin_or_owner", "GET /servers/{server_id}/os-interface/{port_id}",
	},
	{
		"os_compute_api:os-attach-interfaces:create", "rule:project_member_or_admin",
		"os_compute_api:os-attach-interfaces=rule:admin_or_owner", "POST /servers/{server_id}/os-interface",
	},
	{
		"os_compute_api:os-attach-interfaces:delete", "rule:project_member_or_admin",
		"os_compute_api:os-attach-interfaces=rule:admin_or_owner", "DELETE /servers/{server_id}/os-interface/{port_id}",
	},
	{
		"os_compute_api:os-instance-actions:list", "rule:project_reader_or_admin",
		"os_compute_api:os-instance-actions=rule:admin_or_owner", "GET /servers/{server_id}/os-instance-actions",
	},
	{
		"os_compute_api:os-instance-actions:show", "rule:project_reader_or_admin",
		"os_compute_api:os-instance-actions=rule:admin_or_owner", "GET /servers/{server_id}/os-instance-actions/{request_id}",
	},
	{
		"os_compute_api:os-instance-actions:events", "rule:context_is_admin", "",
		"GET /servers/{server_id}/os-instance-actions/{request_id}",
	},
	{
		"os_compute_api:os-instance-actions:events:details", "rule:context_is_admin", "",
		"GET /servers/{server_id}/os-instance-actions/{request_id}",
	},
	{"os_compute_api:os-migrations:index", "rule:context_is_admin", "", "GET /os-migrations"},
	{"os_compute_api:servers:migrations:index", "rule:context_is_admin", "", "GET /servers/{server_id}/migrations"},
	{
		"os_compute_api:os-migrations:index:all_projects", "rule:os_compute_api:os-migrations:index", "",
		"GET /os-migrations",
	},
	{"os_compute_api:os-migrations:index:host", "rule:os_compute_api:os-migrations:index", "", "GET /os-migrations"},
	{
		"os_compute_api:servers:migrations:index:host", "rule:os_compute_api:servers:migrations:index", "",
		"GET /servers/{server_id}/migrations",
	},
	{
		"os_compute_api:servers:migrations:show", "rule:context_is_admin", "",
		"GET /servers/{server_id}/migrations/{migration_id}",
	},
	{"os_compute_api:os-server-external-events:create", "rule:context_is_admin", "", "POST /os-server-external-events"},

	// Nova lists no tasks that are under way.
	{"os_compute_api:berth-operations:index", "rule:context_is_admin", "", "GET /berth/v1/operations"},
	// Nova has no rule for its hosts, which speak over a message bus.
	{
		"os_compute_api:berth-hosts:report", "rule:context_is_admin or role:berth_agent",
		"os_compute_api:berth-hosts:report=rule:context_is_admin or role:service",
		"POST /berth/v1/heartbeats, GET /berth/v1/hosts/{host}/servers, POST /berth/v1/hosts/{host}/servers",
	},
}
