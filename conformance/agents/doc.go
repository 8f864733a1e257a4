// Package agents has many host agents report to the network service at once and checks the result
// in placement: that the trees are complete, that there are no needless requests or writes, and
// that neither a killed service nor a killed placement leaves something behind. It has no real
// agents: it sends their heartbeats.
package agents
