// Package identity has the caller of a request: who it is, and the scope of its token. Tokens are
// checked in package keystone below it, or in local for "berth up"; what a caller may do is decided
// in package policy. This package imports none of them, so that handlers depend on the caller only.
package identity

import (
	"context"
	"slices"
	"time"
)

// A Scope is the kind of scope of a caller's token, as keystoneauth and oslo.policy distinguish
// them.
type Scope string

// The scopes of tokens. There is no unscoped one: policy treats a token that has neither system nor
// domain as a project's.
const (
	System  Scope = "system"
	Domain  Scope = "domain"
	Project Scope = "project"
)

// A Caller is the authenticated caller of a request: the part of upstream's RequestContext
// (oslo.context) that policy and quotas use. An empty string means that the token does not have the
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

	// Roles are the names of the caller's roles, including those that Keystone implies.
	Roles []string

	// AdminProject is true for the project of administrators. Keystone reports it for every project
	// unless [resource] admin_project_name is configured.
	AdminProject bool

	// The service fields describe the service that forwarded the request, when it sent a token of
	// its own.
	ServiceUserID          string
	ServiceUserDomainID    string
	ServiceProjectID       string
	ServiceProjectDomainID string
	ServiceRoles           []string

	// Expires is when the caller's token does; zero when that is not known.
	Expires time.Time

	// Hosts are the hosts that the caller has proved to be, by a certificate or a key: it acts for
	// these only. Nil: the caller sent a token.
	Hosts []string
	// AllHosts lets the caller act for every host: the service's settings let tokens do so.
	AllHosts bool
}

// AgentRole is the role of hosts and their agents. No rule of placement names it, as agents send no
// requests there.
const AgentRole = "berth_agent"

// ActsFor reports whether the caller may read what a host is to do, and report for it.
func (c Caller) ActsFor(host string) bool { return c.AllHosts || slices.Contains(c.Hosts, host) }

// Scope returns the scope of the caller's token: system before domain before project. A token
// without any scope counts as one of a project, as in oslo.policy.
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

// From returns the caller of the request that ctx belongs to, false when it was not authenticated.
func From(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(Key{}).(*Caller)
	if !ok {
		return Caller{}, false
	}
	return *c, true
}
