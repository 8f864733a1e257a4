// Package tctest helps to test what enforces guarantees on the wire: a kernel's
// traffic control in memory and an SR-IOV card, both of which a test can make
// misbehave. It is imported by tests only, and is not the place for tests of its
// own users.
package tctest
