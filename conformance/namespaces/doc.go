// Package namespaces runs "berth up" with servers that are network namespaces, boots some with
// Debian's openstack client, and measures the bandwidth of their ports. It has tests only.
package namespaces
