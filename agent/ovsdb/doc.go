// Package ovsdb is a client of OVSDB, the database protocol of Open vSwitch and of
// OVN: RFC 7047 with the extension monitor_cond_since (Open vSwitch 2.12 and
// later). It knows no particular schema, and is not for writing a server.
//
// A [Client] speaks with one database at one of several remotes:
//
//	         ┌────── no remote answers: wait, longer each time ──────┐
//	         ▼                                                       │
//	dial a remote ─► is it the leader? ─► schema, monitor ─► in use ─┤
//	         ▲         (when asked for)    (when asked for)          │
//	         └────── lost, silent, or no leader any more ────────────┘
//
// Its Run does all of that until its context ends. Meanwhile, Transact changes and
// reads the database, and Next tells what changed in the tables that are watched,
// across lost connections too.
package ovsdb
