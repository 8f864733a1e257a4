// Package identity runs Berth with a real Keystone, as in production, and the distribution's
// Placement with the same Keystone: every persona tries every operation, and both services must
// return the same. It has tests only. The effects of the operations are tested in the packages next
// to it.
package identity
