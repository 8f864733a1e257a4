// Package networkapi is the wire of the Networking API, version 2.0: its paths, attributes,
// filters, and errors, a file per noun. JSON and query strings end here; the rules are in package
// network. What all HTTP surfaces share is in package httpapi.
//
// Most nouns are a [resource.Resource]: a table of attributes, and five functions of the service.
// What such a kind does with a request, and in which order, is in package resource; here are the
// tables of the nouns, the values that only they have, and the routes that are not those of a kind.
package networkapi
