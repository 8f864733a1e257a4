// Package fuzzing sends random requests to all five APIs of "berth up": well-formed ones,
// which change what there is, and ones that are broken in their values, their JSON, their
// query, their headers or their HTTP. Whatever is sent, no answer may be a failure of the
// service, and none may be missing. It does not judge whether an answer is the right one;
// that is for the other packages below conformance.
package fuzzing
