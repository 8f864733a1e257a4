// Package networkapi is the wire of the Networking API, version 2.0: its paths, attributes,
// filters, and errors, a file per noun. JSON and query strings end here; the rules are in package
// network. What all HTTP surfaces share is in package httpapi.
//
// Most nouns are a [resource]: a table of attributes, and five functions of the service. A request
// passes the same steps as in Neutron in the same order, so that a request with two mistakes gets
// the same error:
//
//	body is an object → its key → owner → unknown attributes → required and
//	read-only ones → conversion → checks → policy → the service
package networkapi
