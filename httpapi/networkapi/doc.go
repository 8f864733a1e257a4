// Package networkapi is the wire of the Networking API, version 2.0: its paths,
// attributes, filters, and errors, a file per noun. JSON and query strings end
// here; the rules are in package network. It is not for what all HTTP surfaces
// share, which is package httpapi.
//
// Most nouns are a [resource]: a table of attributes, and five functions of the
// service. What Neutron does with such a table is done here in the same order, so
// that a request which is wrong in two ways is told of the same one:
//
//	body is an object → its key → owner → unknown attributes → required and
//	read-only ones → conversion → checks → policy → the service
package networkapi
