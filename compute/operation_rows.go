package compute

import (
	"bytes"
	"encoding/json"

	"github.com/berthcloud/berth/compute/selection"
)

// ClaimHost is the host of the operation's claim, "" while it has none. It is read from the body of
// any operation, as a HostClaim has it, for a column by which operations are searched for.
func (o *OperationRow) ClaimHost() string {
	var body struct {
		Claim struct{ Host string } `json:"claim"`
	}
	if json.Unmarshal(o.Body, &body) != nil {
		return ""
	}
	return body.Claim.Host
}

// ChosenDevices are the PCI devices that were chosen for ports, by port, as the JSON object in the
// body; "" for none. Like ClaimHost it is for a column.
func (o *OperationRow) ChosenDevices() string {
	if !bytes.Contains(o.Body, []byte(`"devices"`)) {
		return "" // most bodies have none, and each is written several times
	}
	var body struct {
		Devices map[ID]Device `json:"devices"`
	}
	if json.Unmarshal(o.Body, &body) != nil || len(body.Devices) == 0 {
		return ""
	}
	text, err := json.Marshal(body.Devices)
	if err != nil {
		panic("compute: " + err.Error()) // texts only
	}
	return string(text)
}

// A HostClaim is what was chosen for a server, or for a port of it.
type HostClaim struct {
	Claim *selection.Claim `json:"claim,omitempty"`
	// Devices are the PCI devices of ports, by port.
	Devices map[ID]Device `json:"devices,omitempty"`
	// Assignment is what the server gets of the host of its own, nil for nothing.
	Assignment *Assignment `json:"assignment,omitempty"`
}

// StoredAssignment is the assignment as a HostedRow has it.
func (h *HostClaim) StoredAssignment() ([]byte, error) {
	if h.Assignment == nil {
		return nil, nil
	}
	return json.Marshal(h.Assignment)
}
