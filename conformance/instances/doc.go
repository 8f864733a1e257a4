// Package instances tests the guarantees of several instances of Berth on one database: that each
// returns what any of them has acknowledged, that their claims are linearizable, and that both
// survive failures of the database, the network and the instances. It uses HTTP and the servers
// below, independent of the implementation; the guarantees of a single instance are tested
// elsewhere.
//
// BERTH_INSTANCES_TIME multiplies the durations: 10 makes a run ten times as long, and finds rare
// errors.
package instances
