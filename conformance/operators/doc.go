// Package operators tests the tools for operators, "berth audit" and its like, as a black box on
// real services: on Debian's Keystone, Placement, Neutron and Nova, and on "berth up". What the
// tools read is compared with what the openstack client prints and with placement's database; then
// faults are planted into the services one by one, and audit has to find each, by its code, and
// nothing else. The commands that its findings print are run as they are, and repair them. The
// rules themselves are tested in ops/audit.
package operators
