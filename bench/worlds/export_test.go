package worlds

// Options says where the database of a URL is.
var Options = options
