package upgrade

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/osloconfig"
)

// defaultRoles are the roles that new default policies of the services know.
var defaultRoles = []string{"admin", "manager", "member", "reader", "service"}

// newDefaults finds users whose roles the new default policies do not know, and a login of system
// scope, which Nova refuses.
func newDefaults(x *run, r *findings) {
	if l := x.environment.Login; l.System {
		r.required(rbacPage, "%s has logged in with system scope, which is refused: log in with a project", cmp.Or(l.User,
			"this user"))
	}
	if x.Users == nil {
		r.unknown("The roles of users with servers were not read.")
		return
	}
	known := 0
	for _, u := range x.Users {
		switch {
		case len(u.Roles) == 0: // may not log in there
		case !slices.ContainsFunc(u.Roles, func(role string) bool { return slices.Contains(defaultRoles, role) }):
			r.required("openstack role add --user "+u.ID+" --project "+u.Project+" member",
				"the user %s has %s in the project %s, and none of %s", cmp.Or(u.Name, u.ID), strings.Join(u.Roles, ", "),
				u.Project, strings.Join(defaultRoles, ", "))
		case !slices.ContainsFunc(u.Roles, func(role string) bool {
			return role != "reader" && slices.Contains(defaultRoles,
				role)
		}):
			r.required("openstack role add --user "+u.ID+" --project "+u.Project+" member",
				"the user %s has the role reader in the project %s, which may only read from then on", cmp.Or(u.Name, u.ID),
				u.Project)
		default:
			known++
		}
	}
	if r.list == nil {
		r.ok("%s with servers: each has a role that the policies know", count(known, "user"))
	}
}

// reshapeRole checks the users that Nova may log in as at placement. With the new default policies,
// which are in force since placement 12.0.0 (oslo.policy 4.4.0), a reshape takes the role service
// (service_api), and every other request of nova-compute the role admin or service
// (admin_or_service_api).
func reshapeRole(x *run, r *findings) {
	names := []string{"nova", "placement"} // each is usual
	configured, known := x.Settings[osloconfig.Name{Group: "placement", Option: "username"}]
	if known {
		names = []string{configured}
	}
	var users []cloud.ServiceUser
	for _, u := range x.environment.ServiceUsers {
		if slices.Contains(names, u.Name) {
			users = append(users, u)
		}
	}
	switch {
	case x.environment.ServiceUsers == nil:
		r.unknown("The users of services and their roles were not read.")
		return
	case users == nil:
		r.unknown("The roles of the user that Nova logs in as at placement were not read: no user is called %s.",
			strings.Join(names, " or "))
		return
	}
	// Only one of several users is Nova's: when some have the role, the others may not need it.
	known = known || !slices.ContainsFunc(users, isService)
	for _, u := range users {
		grant := "openstack role add --user " + u.Name + " --project service service"
		roles := cmp.Or(strings.Join(u.Roles, ", "), "no role")
		reshape := x.reshape()
		switch {
		case isService(u):
			r.ok("the user %s has the role service", u.Name)
		case !known:
			r.unknown("The user %s has %s, and not the role service; --nova-config shows whether Nova logs in as this user "+
				"([placement] username).", u.Name, roles)
		case !slices.Contains(u.Roles, "admin"):
			r.required(grant, "the user %s has %s: every request is refused, unless placement's policy file allows it", u.Name,
				roles)
		case reshape != "":
			r.required(grant, "the user %s has %s, and not the role service: %s", u.Name, roles, reshape)
		default:
			r.changes(grant, "the user %s has %s, and not the role service: all requests but reshapes are allowed, and the "+
				"records show no reshape on the way to %s", u.Name, roles, x.To)
		}
	}
}

func isService(u cloud.ServiceUser) bool { return slices.Contains(u.Roles, "service") }

// reshape says what nova-compute will move with a reshape during the upgrade, "" when the records
// and settings show nothing.
func (x *run) reshape() string {
	report, _ := strconv.ParseBool(x.Settings[osloconfig.Name{Group: "pci", Option: "report_in_placement"}])
	switch {
	case x.from < request.Flamingo && x.To >= request.Flamingo && len(x.encrypting()) > 0:
		return "the reshape of MEM_ENCRYPTION_CONTEXT is refused, and nova-compute does not start"
	case report:
		return "nova-compute records the PCI devices of servers with reshapes ([pci] report_in_placement)"
	}
	return ""
}

// managerRole names the users who may do more from 2025.2 on, and service users whose requests Nova
// accepts for the role admin only.
func managerRole(x *run, r *findings) {
	for _, u := range x.Users {
		if slices.Contains(u.Roles, "manager") && !slices.Contains(u.Roles, "admin") {
			r.changes(rbacPage, "the user %s has the role manager in the project %s", cmp.Or(u.Name, u.ID), u.Project)
		}
	}
	for _, u := range x.environment.ServiceUsers {
		switch {
		case u.Name != "neutron" || slices.Contains(u.Roles, "service"):
		case slices.Contains(u.Roles, "admin"):
			r.changes("openstack role add --user neutron --project service service",
				"the user neutron has the role admin and not service, which os-server-external-events is for; admin is accepted "+
					"as well")
		default:
			r.required("openstack role add --user neutron --project service service",
				"the user neutron has neither service nor admin: Nova refuses its events (os-server-external-events)")
		}
	}
	if x.Users == nil {
		r.unknown("The roles of users with servers were not read.")
	}
	if r.list == nil {
		r.ok("no user with servers has the role manager")
	}
}
