// Package identity runs Berth with a real Keystone, as its users do, and puts the
// distribution's Placement beside it: everybody tries everything, and both have
// to say the same. It has tests only. It is not for what the operations do, which
// the packages beside it test.
package identity
