// Package instances proves what several instances of Berth on one database
// promise: that each answers with what any of them acknowledged, that their claims
// are as if one had made them, and that all of this survives bad days of the
// database, the network and the instances. It knows HTTP and the servers below,
// and nothing of how Berth does it; what a single instance promises has tests
// elsewhere.
//
// BERTH_INSTANCES_TIME stretches the parts that are a matter of time: 10 makes a
// run ten times as long, and finds what is rare.
package instances
