package network

import (
	"github.com/berthcloud/berth/fault"
)

// The code of a fault of this package is what Neutron calls the type of the error,
// and its text is for the caller. Clients match on both.

// Invalid returns a fault of the kind fault.Invalid.
func Invalid(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Invalid, code, format, args...)
}

// Conflict returns a fault of the kind fault.Conflict.
func Conflict(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Conflict, code, format, args...)
}

// InvalidInput returns Neutron's InvalidInput: a value that makes no sense here.
func InvalidInput(format string, args ...any) error {
	return Invalid("InvalidInput", "Invalid input for operation: "+format+".", args...)
}

// notFounds are the errors of what does not exist, by kind of object.
var notFounds = map[string]struct {
	code fault.Code
	text string
}{
	"network":             {"NetworkNotFound", "Network %s could not be found."},
	"subnet":              {"SubnetNotFound", "Subnet %s could not be found."},
	"port":                {"PortNotFound", "Port %s could not be found."},
	"policy":              {"QosPolicyNotFound", "QoS policy %s could not be found."},
	"agent":               {"AgentNotFound", "Agent %s could not be found."},
	"segment":             {"SegmentNotFound", "Segment %s could not be found."},
	"trunk":               {"TrunkNotFound", "Trunk %s could not be found."},
	"security_group":      {"SecurityGroupNotFound", "Security group %s does not exist"},
	"security_group_rule": {"SecurityGroupRuleNotFound", "Security group rule %s does not exist"},
}

// NotFound returns the fault of an object that does not exist, or that the caller
// may not see. The kind is its name in the API, "network" or "port".
func NotFound(kind string, id ID) error {
	e := notFounds[kind]
	return fault.New(fault.NotFound, e.code, e.text, string(id))
}

// A RequestChanged says that the request groups of an allocation are not those of the port: its
// policy changed between scheduling and binding.
type RequestChanged struct{ Port ID }

// Error says what to do.
func (e *RequestChanged) Error() string {
	return "Port " + string(e.Port) + " was scheduled with another QoS policy than it has now. " +
		"Please schedule its server again."
}

// Fault is a conflict.
func (e *RequestChanged) Fault() (fault.Kind, fault.Code) {
	return fault.Conflict, "ResourceRequestChanged"
}
