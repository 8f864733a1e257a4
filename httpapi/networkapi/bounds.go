package networkapi

// The bounds of one request. Neutron has no such bounds; what it bounds by settings, such as the
// host routes of a subnet, is bounded by those too. [berth] max_body_size bounds a whole body, the
// size of headers bounds a query string.
const (
	maxFixedIPs = 100      // of a port; see network.MaxAddresses for all of a request
	maxSubports = 4094     // of a trunk: one for each VLAN
	maxMessage  = 16 << 10 // bytes of the message of an error, which quotes what is wrong
)
