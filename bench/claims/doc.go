// Package claims is a client that does what a scheduler does: ask for candidates,
// claim one of them, later release it. It is for measuring, with as little work of
// its own as that takes, and no general client of placement.
package claims
