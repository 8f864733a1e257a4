// Package differential sends the same random requests to two Placement services and compares their
// answers: status, relevant headers, error codes and bodies, except order, identifiers and times.
// It is for testing Berth against upstream's Placement and imports neither; it uses HTTP and the
// API's vocabulary only.
//
// A Generator generates sequences of mostly valid requests, since a Tracker reads the answers; a
// Pair plays a sequence on both services and compares; Shrink shortens a failing sequence; Format
// writes it in a form that Parse reads.
package differential
