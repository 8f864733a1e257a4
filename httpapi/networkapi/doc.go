// Package networkapi is the wire of the Networking API, version 2.0: its paths, attributes,
// filters, and errors, a file per noun. JSON and query strings end here; the rules are in package
// network. What all HTTP surfaces share is in package httpapi.
//
// Most nouns are a [resource.Resource]: a table of attributes, and five functions of the service.
// What such a kind does with a request, and in which order, is in package resource; here are the
// tables of the nouns, the values that only they have, and the routes that are not those of a kind.
//
// Dialogues recorded from Neutron (conformance/neutron/testdata) are replayed with this package.
//
// # A new endpoint
//
// A new attribute is a row of the noun's table, a new kind of object a [resource.Resource];
// policy.go has the name, the default and the operation of its rule. The route is described in
// conformance/fuzzing/testdata/api.txt.
package networkapi
