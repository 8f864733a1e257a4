package settings

// Canonical is canonical, for tests.
var Canonical = canonical
