// Package serversapi is the wire of servers: creating, showing, listing and changing them, their
// actions and moves, ports, tags and metadata, and what other services report of them.
package serversapi
