// Package namespaces runs "berth up" with servers that are network namespaces, boots some
// with Debian's openstack client, and measures what their ports get. It has tests only.
package namespaces
