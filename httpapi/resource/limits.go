package resource

// The bounds of one request, which Neutron does not have: they keep one request from taking the
// service's memory or time.
const (
	maxBulk        = 1000     // objects that a POST makes
	maxItems       = 1000     // items of a list that is an attribute, where it does not say otherwise
	maxTags        = 1000     // of an object
	MaxIgnoredBody = 64 << 10 // bytes of the body of a request that cannot succeed
)

// TooMany refuses a list before its items are read.
func TooMany(name string, n, most int) error {
	return BadRequest("Invalid input for %s. Reason: %d items are more than the %d that are taken.", name, n, most)
}
