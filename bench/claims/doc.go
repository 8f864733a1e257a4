// Package claims is a client that behaves as a scheduler: it requests candidates, claims one of
// them, and later releases it. It is for measurements, with as little work of its own as possible,
// and no general client of placement.
package claims
