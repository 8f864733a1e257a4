// Package catalogapi is the wire of what servers are made from and counted against: flavors and who
// may use them, key pairs, server groups, quotas, limits and usage, a file per noun.
package catalogapi
