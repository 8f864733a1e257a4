// Package sqlstore keeps placement's rows in an SQL database: the statements for upstream's tables, and the
// [Store] that placement works on. Rules, and the snapshot that reads are answered from, belong to package
// placement; connections, transactions and the change log to package engine.
//
// There is one set of statements. What databases disagree on is a dialect value (package sqlconn).
//
// What rows a transaction relies on it locks, or compares and swaps; so do upstream's programs with what they
// change.
package sqlstore
