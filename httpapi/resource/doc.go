// Package resource serves kinds of objects as Neutron's API does: a kind is a table of attributes
// and a few functions of the service, and this package does the rest. It reads bodies, queries and
// conditions, checks the policy of the object and of each attribute, and writes what the caller may
// see.
//
// A request passes the same steps as in Neutron in the same order, so that a request with two
// mistakes gets the same error:
//
//	body is an object → its key → owner → unknown attributes → required and
//	read-only ones → conversion → checks → policy → the service
//
// attribute.go has the table, listing.go queries, body.go bodies, access.go policy, values.go
// conversions and checks, resource.go the handlers.
//
// It knows no noun of the network service, and no rule: those are in networkapi and in package
// network.
package resource
