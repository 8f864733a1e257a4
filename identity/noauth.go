package identity

import "strings"

// A Header looks up one header of a request and says whether it was sent at
// all. Names are given in canonical form, such as "X-Auth-Token". The values
// of a repeated header are joined by commas, as WSGI servers do.
type Header func(name string) (value string, sent bool)

// NoAuth believes what the headers say, as Placement's "noauth2" strategy does,
// and reports false when there is no token, which is the one thing it insists
// on. It is meant for trials and tests: whoever can reach the service can be
// anybody.
//
// The token is "user" or "user:project"; a project that is not named is called
// like the user. The user "admin" holds the role of that name, all others hold
// none, unless X-Roles lists them.
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

// project returns the project the call is for. X-Project-Id wins over the
// token, even when it is empty. The token in turn wins over the older headers,
// which therefore only count for a system scope, where the token's project is
// set aside.
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

// roles returns what X-Roles lists, or what the user's name implies when that
// header was not sent. An empty header means no roles, for "admin" too.
func (h Header) roles(user string) []string {
	if v, sent := h("X-Roles"); sent {
		return split(v)
	}
	if user == "admin" {
		return []string{"admin"}
	}
	return nil
}

// adminProject holds unless a header denies it, so that policies written before
// there was such a project keep their meaning.
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
