// Package durability ends Berth in the middle of its work, in the ways that machines and operators
// do, and checks the data after a restart: all acknowledged changes, no refused ones, no partial
// ones. It also checks the behaviour with a database that Berth must not use. Databases with a
// server are tested elsewhere.
package durability
