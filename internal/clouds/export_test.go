package clouds

// Options returns the store's options of a URL.
var Options = options
