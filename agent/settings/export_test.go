package settings

// Ignored are the options without effect of an agent of one kind.
var Ignored = ignored

// Canonical is canonical, for tests.
var Canonical = canonical
