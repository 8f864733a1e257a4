// Package sqlstore keeps placement's rows in an SQL database: the statements for upstream's tables,
// and the [Store] that placement works on. Rules, and the snapshot that reads are answered from,
// belong to package placement; connections, transactions and the change log to package engine.
//
// There is one set of statements. What databases disagree on is a dialect value (package sqlconn).
//
// placement.go has the Store: it opens the engine, and makes a reader of each View and a writer of
// each Update. The methods of both are in a file for each noun (providers.go, inventories.go,
// traits.go and so on); claims.go writes many claims in few statements, with the ids of projects,
// users and types from owners.go. treerows.go reads what a snapshot is made of, checksums.go sums
// of the same rows. changes.go is the body of an entry in the change log, locks.go the order in
// which rows are locked, and schema.go brings a database to upstream's revision.
//
// What rows a transaction relies on it locks, or compares and swaps; so do upstream's programs with
// what they change.
package sqlstore
