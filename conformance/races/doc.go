// Package races has many clients compete for the same few objects through HTTP and checks their
// answers: that the histories are linearizable, that nothing is overcommitted, that one generation
// has one winner. It is not a load test: the loads are small and the runs are bounded.
package races
