// Package differential sends the same random requests to two Placement
// services and compares what they answer: status, headers that matter, error
// codes and bodies, but for order, identifiers and times. It is made for
// testing Berth against upstream's Placement and imports neither; it knows
// HTTP and the API's vocabulary only.
//
// A Generator makes sequences of requests that mostly make sense, because a
// Tracker reads the answers; a Pair plays a sequence on both services and
// compares; Shrink makes a failing sequence short; Format writes it down in a
// form that Parse reads.
package differential
