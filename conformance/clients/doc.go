// Package clients tests that the programs and libraries people use with
// Placement work with Berth as they do with upstream's service: every command
// of the openstack client's placement plug-in, every call of gophercloud's
// placement packages, and the requests that OpenStack's services were seen to
// send; and that gophercloud's packages for computing and networks work with what "berth
// up" runs. It is not for comparing answers in detail: that is the business of
// package conformance.
//
// The commands of the openstack client are scripts in testdata/openstack: a
// command, a line of dashes, what the client prints. A line "version 1.14"
// starts a new client that asks for that microversion. What is expected was
// recorded from upstream's service: go test -run OpenStack/Upstream -update.
package clients
