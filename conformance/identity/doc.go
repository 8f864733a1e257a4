// Package identity runs Berth with a real Keystone, as in production, and the distribution's
// Placement beside it: every persona tries every operation, and both services must return the same.
// It has tests only. The effects of the operations are tested in the packages beside it.
package identity
