// Package computeapi is the wire of the Compute API: its paths, schemas and answers
// for every microversion, and Nova's errors and policy, a file per noun. Versions,
// JSON and query strings end here; the rules are in package compute. It is not for
// what all HTTP surfaces share, which is package httpapi.
//
// What Nova does with a request is done here in the same order, so that one which is
// wrong in two ways is told of the same one:
//
//	body is JSON → project of the path → query and body against their schemas →
//	policy → what is named is there → the service
package computeapi
