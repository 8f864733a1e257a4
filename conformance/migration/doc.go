// Package migration tests the way from upstream's Placement to Berth and back on the databases of
// clouds: each returns the same as the other from the other's data, both may use one database at
// once, and an unusable database or setting is refused with a message that says what to do. It has
// tests only; no package imports it.
package migration
