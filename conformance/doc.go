// Package conformance tests Berth from the outside, over HTTP, as its clients
// see it: scenario files, the real clients, and the same random requests sent
// to Berth and to the Placement service of the distribution. It imports
// nothing of Berth and is not for testing rules that a unit test can reach.
package conformance
