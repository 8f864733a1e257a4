// Package database has the commands below "berth db", on the database of a placement service. [New]
// returns them; what they do is in package dbtool. [Source] selects a database by flags, also for
// commands that only read one. The services open their databases in package daemon.
package database
