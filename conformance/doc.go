// Package conformance tests Berth as a black box, over HTTP: scenario files, the real clients, and
// the same random requests sent to Berth and to the Placement service of the distribution. It
// imports nothing of Berth; rules that a unit test can reach are tested there.
package conformance
