// Package identity describes the authenticated caller and its scope. Decisions on permissions are
// in the package policy below, requests to Keystone in package keystone.
package identity

import "context"

// A Scope is the kind of scope of a caller's token.
type Scope string

// The scopes of tokens. There is no unscoped one: policy treats a token that has neither system nor
// domain as a project's.
const (
	System  Scope = "system"
	Domain  Scope = "domain"
	Project Scope = "project"
)

// A Caller is one authenticated caller of the API. An empty string means that the token lacks the
// value. A Caller is a value: copies may be shared, but its slices must not be modified after
// authentication.
type Caller struct {
	UserID          string
	UserDomainID    string
	ProjectID       string
	ProjectDomainID string
	DomainID        string

	// SystemScope is "all" for a token with system scope, and empty for others.
	SystemScope string

	// Roles are the names of the caller's roles, implied ones included.
	Roles []string

	// AdminProject says that the project is the one set aside for administrators. Keystone reports
	// it of every project unless it is configured otherwise.
	AdminProject bool

	// The service fields describe the service that forwarded the request, when it sent a token of
	// its own.
	ServiceUserID          string
	ServiceUserDomainID    string
	ServiceProjectID       string
	ServiceProjectDomainID string
	ServiceRoles           []string

	// Hosts are the host names in the caller's certificate: it acts for these hosts only. Nil: the
	// caller sent a token.
	Hosts []string
}

// Scope returns the scope of the caller's token. System takes precedence over domain, and domain
// over project.
func (c Caller) Scope() Scope {
	switch {
	case c.SystemScope != "":
		return System
	case c.DomainID != "":
		return Domain
	}
	return Project
}

// Key is the key under which a context has the *Caller.
type Key struct{}

// From returns the caller that ctx has under Key, and whether there is one.
func From(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(Key{}).(*Caller)
	if !ok {
		return Caller{}, false
	}
	return *c, true
}
