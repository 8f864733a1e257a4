package ports

import (
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ipam"
	"github.com/berthcloud/berth/network/topology"
)

// MaxAddresses bounds the addresses that one request names or needs, of all its ports together:
// other writers wait while they are assigned.
const MaxAddresses = 2000

// assignNew gives a new port its addresses, or records why it has none.
func assignNew(tx *network.Tx, row *network.PortRow, spec Spec) error {
	deferred, err := topology.AssignAddresses(tx, *row, ipam.Request{
		Network: string(row.Network), Owner: row.DeviceOwner, Host: spec.Host,
		Fixed: fixed(spec.FixedIPs), Any: spec.AnyIPs,
	})
	switch {
	case err != nil:
		return err
	case !spec.AnyIPs && len(spec.FixedIPs) == 0:
		row.IPAllocation = network.AllocationNone
	case deferred:
		row.IPAllocation = network.AllocationDeferred
	default:
		return nil
	}
	return tx.Replace(row)
}

// fixed returns requested addresses as package ipam has them.
func fixed(requested []FixedIP) []ipam.Fixed {
	all := make([]ipam.Fixed, len(requested))
	for i, f := range requested {
		all[i] = ipam.Fixed{Subnet: string(f.Subnet), IP: f.IP}
	}
	return all
}

// updateAddresses changes the addresses of a port to the requested ones; addresses in both sets
// stay as they are. A port with deferred addresses gets them when it gets a host. A port with
// addresses is refused on a host that is not connected to their segment.
func updateAddresses(tx *network.Tx, row network.PortRow, p network.Port, spec Spec) error {
	newHost := spec.Host != "" && spec.Host != p.Binding.Host
	r := ipam.Request{Network: string(p.Network.ID), Owner: p.DeviceOwner, Host: spec.Host}
	switch {
	case !spec.AnyIPs || row.MAC != p.MAC:
		return topology.ChangeAddresses(tx, row, p, fixed(spec.FixedIPs), r)
	case !newHost:
		return nil
	case len(p.Addresses) > 0:
		return topology.CheckHost(tx, p, r)
	case p.Binding.Host == "" && p.IPAllocation == network.AllocationDeferred:
		r.Owner, r.Any = row.DeviceOwner, true
		_, err := topology.AssignAddresses(tx, row, r)
		return err
	}
	return nil
}
