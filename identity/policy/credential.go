package policy

import "github.com/berthcloud/berth/identity"

// None represents an absent value in a check: Python's text for its null. A target without a
// project has this value.
const None = "None"

// credential returns the values of one attribute of the caller under the names in OpenStack's
// request context, and whether there is such an attribute. There is no is_admin, since upstream
// does not pass it to policy.
func credential(c *identity.Caller, name string) (values []string, known bool) {
	switch name {
	case "roles":
		return c.Roles, true
	case "service_roles":
		return c.ServiceRoles, true
	case "is_admin_project":
		return []string{truth(c.AdminProject)}, true
	case "system":
		return []string{c.SystemScope}, c.SystemScope != ""
	}
	v, known := id(c, name)
	if known && v == "" {
		v = None
	}
	return []string{v}, known
}

// id returns one of the caller's identifiers.
func id(c *identity.Caller, name string) (value string, known bool) {
	switch name {
	case "user_id":
		return c.UserID, true
	case "user_domain_id":
		return c.UserDomainID, true
	case "project_id":
		return c.ProjectID, true
	case "project_domain_id":
		return c.ProjectDomainID, true
	case "domain_id":
		return c.DomainID, true
	case "system_scope":
		return c.SystemScope, true
	case "service_user_id":
		return c.ServiceUserID, true
	case "service_user_domain_id":
		return c.ServiceUserDomainID, true
	case "service_project_id":
		return c.ServiceProjectID, true
	case "service_project_domain_id":
		return c.ServiceProjectDomainID, true
	}
	return "", false
}

// truth spells a bool as Python does.
func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// own returns a value of the default target: the caller's own project and user. There are no
// others: a template with another name makes its check false.
func own(c *identity.Caller, name string) (value string, ok bool) {
	switch name {
	case "project_id":
		value = c.ProjectID
	case "user_id":
		value = c.UserID
	default:
		return "", false
	}
	if value == "" {
		value = None
	}
	return value, true
}
