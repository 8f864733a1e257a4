package identity

import "strings"

// A Header returns a header of a request and whether it was sent. Names are in canonical form, such
// as "X-Auth-Token". The values of a repeated header are joined by commas, as in WSGI servers.
type Header func(name string) (value string, sent bool)

// NoAuth returns the caller that the headers describe, without authentication, as Placement's
// strategy "noauth2" does (placement.auth.NoAuthMiddleware), and false without a token. It is for
// trials and tests: any client can claim any identity.
//
// The token is "user" or "user:project"; the project's default is the name of the user. The user
// "admin" has the role of that name, others have none, unless X-Roles lists roles.
func NoAuth(h Header) (Caller, bool) {
	token, sent := h("X-Auth-Token")
	if !sent {
		return Caller{}, false
	}
	user, project, _ := strings.Cut(token, ":")
	if project == "" {
		project = user
	}
	system := h.value("Openstack-System-Scope")
	return Caller{
		UserID:                 user,
		UserDomainID:           h.value("X-User-Domain-Id"),
		ProjectID:              h.project(project, system),
		ProjectDomainID:        h.value("X-Project-Domain-Id"),
		DomainID:               h.value("X-Domain-Id"),
		SystemScope:            system,
		Roles:                  h.roles(user),
		AdminProject:           h.adminProject(),
		ServiceUserID:          h.value("X-Service-User-Id"),
		ServiceUserDomainID:    h.value("X-Service-User-Domain-Id"),
		ServiceProjectID:       h.value("X-Service-Project-Id"),
		ServiceProjectDomainID: h.value("X-Service-Project-Domain-Id"),
		ServiceRoles:           split(h.value("X-Service-Roles")),
	}, true
}

// value returns a header, empty when it was not sent.
func (h Header) value(name string) string {
	v, _ := h(name)
	return v
}

// project returns the project of the request. X-Project-Id overrides the token, even when it is
// empty. The token overrides the older headers, which therefore only apply with system scope, where
// the token's project is ignored.
func (h Header) project(token, system string) string {
	if v, sent := h("X-Project-Id"); sent {
		return v
	}
	if system == "" {
		return token
	}
	if v, sent := h("X-Tenant-Id"); sent {
		return v
	}
	return h.value("X-Tenant")
}

// roles returns the roles in X-Roles, or those that the user's name implies when that header was
// not sent. An empty header means no roles, for "admin" too.
func (h Header) roles(user string) []string {
	if v, sent := h("X-Roles"); sent {
		return split(v)
	}
	if user == "admin" {
		return []string{"admin"}
	}
	return nil
}

// adminProject is true unless a header denies it, so that policies written before Keystone had such
// a project keep their meaning.
func (h Header) adminProject() bool {
	v, sent := h("X-Is-Admin-Project")
	return !sent || strings.ToLower(v) == "true"
}

// split takes a comma separated list apart.
func split(list string) []string {
	if list == "" {
		return nil
	}
	names := strings.Split(list, ",")
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
	}
	return names
}
