// Package races lets many clients fight over the same few things through
// HTTP and checks what they were told: that the histories are linearizable,
// that nothing is overcommitted, that one generation has one winner. It is not
// a load test: the loads are small and the runs are bounded.
package races
