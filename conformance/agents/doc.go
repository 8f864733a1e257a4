// Package agents lets many host agents report to the network service at once and
// looks at what comes of it in placement: that the trees are complete, that nothing is
// asked or written in vain, and that neither a killed service nor a killed placement
// leaves something behind. It has no real agents: it knows their heartbeats.
package agents
