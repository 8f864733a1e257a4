// Package migration tests the way from upstream's Placement to Berth and back on
// the databases of clouds: who takes over what the other wrote answers as the
// other did, both may work on one database at once, and a database or a setting
// that cannot be used is refused with a sentence that says what to do. It has
// tests only and is imported by nobody.
package migration
