package ovs

// What programs say is read by these.
var (
	ParseFlows   = parseFlows
	ParseMeters  = parseMeters
	ParseClasses = parseClasses
)
