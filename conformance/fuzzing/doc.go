// Package fuzzing sends random requests to all five APIs of "berth up": valid ones, which change
// objects, and ones with errors in their values, JSON, query, headers or HTTP. No answer may be a
// failure of the service, and none may be missing. Whether an answer is correct is tested in the
// other packages below conformance.
package fuzzing
