// Package ovsdb is a client of OVSDB, the database protocol of Open vSwitch and of OVN: RFC 7047
// with the extension monitor_cond_since (Open vSwitch 2.12 and later). It knows no particular
// schema, and is not for writing a server.
//
// A [Client] is connected to one database at one of several remotes:
//
//	         ┌────── no remote answers: wait, longer each time ──────┐
//	         ▼                                                       │
//	dial a remote ─► is it the leader? ─► schema, monitor ─► in use ─┤
//	         ▲        (if configured)      (if configured)           │
//	         └────── lost, silent, or not the leader any more ───────┘
//
// Its Run does all of that until its context ends. While it runs, Transact changes and reads the
// database, and Next returns the changes of the watched tables, across lost connections too.
package ovsdb
