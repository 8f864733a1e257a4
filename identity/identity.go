// Package identity says who calls, and in which scope. It is not for deciding
// what they may do, which is the policy package below, nor for asking Keystone.
package identity

import "context"

// A Scope is the kind of thing a caller's token was issued for.
type Scope string

// The scopes a token can have. There is no unscoped one: policy treats a token
// that names neither system nor domain as a project's.
const (
	System  Scope = "system"
	Domain  Scope = "domain"
	Project Scope = "project"
)

// A Caller is one authenticated caller of the API. An empty string means that
// the token does not say. A Caller is a value: share copies freely, but leave
// the slices alone once it is in use.
type Caller struct {
	UserID          string
	UserDomainID    string
	ProjectID       string
	ProjectDomainID string
	DomainID        string

	// SystemScope is "all" for a token scoped to the whole deployment, and
	// empty for any other.
	SystemScope string

	// Roles are the names of the roles held, implied ones included.
	Roles []string

	// AdminProject says that the project is the one set aside for
	// administrators. Keystone says so of every project unless told otherwise.
	AdminProject bool

	// The service fields describe the service that passed the call on, when
	// it sent a token of its own.
	ServiceUserID          string
	ServiceUserDomainID    string
	ServiceProjectID       string
	ServiceProjectDomainID string
	ServiceRoles           []string

	// Hosts are those that the caller's certificate is for: it speaks for no other.
	// Nil: the caller showed a token.
	Hosts []string
}

// Scope returns what the caller's token was issued for. System wins over
// domain, and domain over project.
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

// With returns a context that carries the caller.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, Key{}, &c)
}

// From returns the caller that ctx has under Key, and whether there is one.
func From(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(Key{}).(*Caller)
	if !ok {
		return Caller{}, false
	}
	return *c, true
}
