package networkapi

// The bounds of one request. Neutron has no such bounds; what it bounds by settings, such as the
// host routes of a subnet, is bounded by those too. [berth] max_body_size bounds a whole body, the
// size of headers bounds a query string.
const (
	maxBulk     = 1000     // objects that a POST makes
	maxItems    = 1000     // items of a list that is an attribute, where it does not say otherwise
	maxFixedIPs = 100      // of a port; see network.MaxAddresses for all of a request
	maxSubports = 4094     // of a trunk: one for each VLAN
	maxTags     = 1000     // of an object
	maxUnmade   = 64 << 10 // bytes of the body of a request that cannot succeed
	maxMessage  = 16 << 10 // bytes of the message of an error, which quotes what is wrong
)

// tooMany refuses a list before its items are read.
func tooMany(name string, n, most int) error {
	return badRequest("Invalid input for %s. Reason: %d items are more than the %d that are taken.", name, n, most)
}
