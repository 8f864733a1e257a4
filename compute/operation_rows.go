package compute

import (
	"encoding/json"

	"github.com/berthcloud/berth/compute/selection"
)

// claimed is what ClaimHost and ChosenDevices read of any operation: it is in columns of its own,
// by which it is searched for.
func (o *OperationRow) claimed() (c HostClaim) {
	if json.Unmarshal(o.Body, &c) != nil {
		return HostClaim{}
	}
	return c
}

// ClaimHost is the host of the operation's claim, "" while it has none.
func (o *OperationRow) ClaimHost() string {
	if c := o.claimed(); c.Claim != nil {
		return c.Claim.Host
	}
	return ""
}

// ChosenDevices are the PCI devices that were chosen for ports, by port, as the JSON object in the
// body; "" for none.
func (o *OperationRow) ChosenDevices() string {
	c := o.claimed()
	if len(c.Devices) == 0 {
		return ""
	}
	text, err := json.Marshal(c.Devices)
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
}
