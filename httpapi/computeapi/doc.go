// Package computeapi is the wire of the Compute API: its paths, schemas and answers for every
// microversion, and Nova's errors and policy. Versions, JSON and query strings end here; the rules
// are in package compute. What all HTTP surfaces share is in package httpapi.
//
// The nouns are in packages of their own, a file each: catalogapi, fleetapi and serversapi. What
// these share is in package wire. This package puts their routes together.
//
// A request passes the same steps as in Nova in the same order, so that one with two mistakes gets
// the same error:
//
//	body is JSON → project of the path → query and body against their schemas →
//	policy → named objects exist → the service
//
// Dialogues recorded from Nova (conformance/nova/testdata) are replayed with this package.
//
// # A new endpoint
//
// The package of the noun gets the route with its first version, a function of a wire.Request, the
// schema, and an answer of package view. The rule of policy has a name, a default and operations in
// wire/policy_rules.go. The route is described in conformance/fuzzing/testdata/api.txt.
package computeapi
