// Package clients tests that the clients of Placement work with Berth as they do with upstream's
// service: every command of the openstack client's placement plug-in, every call of gophercloud's
// placement packages, and requests recorded from OpenStack's services; and that gophercloud's
// packages for compute and networks work with the services of "berth up". Package conformance
// compares answers in detail.
//
// The commands of the openstack client are scripts in testdata/openstack: a command, a line of
// dashes, the client's output. A line "version 1.14" starts a new client with that microversion.
// The expected output was recorded from upstream's service: go test -run OpenStack/Upstream
// -update.
package clients
