package network

// A TrunkRow makes a port the parent of others that share its wire.
type TrunkRow struct {
	Common
	Port         ID // the parent; of one trunk only
	AdminStateUp bool
	Status       string
}

// A SubportRow is a port on a trunk. A port is on one trunk only, and so is a
// segmentation id of a type.
type SubportRow struct {
	Trunk            ID
	Port             ID
	SegmentationType string
	SegmentationID   int
}

// The statuses of trunks. Neutron has BUILD too, while an agent plugs the subports in; here they
// are bound in the transaction that makes the parent ACTIVE.
const (
	TrunkDown     = "DOWN"     // the parent is not plugged in, or was not since the subports changed
	TrunkActive   = "ACTIVE"   // all subports are plugged in
	TrunkDegraded = "DEGRADED" // some subports are not
	TrunkError    = "ERROR"    // a subport cannot be bound on the host of the parent
)
