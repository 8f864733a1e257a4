// Package namespaces runs "berth up" with servers that are network namespaces, boots some with
// Debian's openstack client, moves some between hosts, and measures the bandwidth of their ports.
// It has tests only.
package namespaces
