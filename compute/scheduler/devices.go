package scheduler

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
)

// deviceVNICs are the types of ports that are a device of the host, and whether it is a
// whole one.
var deviceVNICs = map[string]bool{"direct": false, "macvtap": false, "direct-physical": true}

// ChooseDevice returns the PCI device of the host of a server for a port that is attached to it, if
// the port is one. It is a *HostRefused when none is free, or none near enough to its NUMA cells.
func ChooseDevice(
	tx *compute.Tx, server compute.ServerRow, port compute.Port, m request.Mappings,
) (map[compute.ID]compute.Device, error) {
	if _, device := deviceVNICs[port.VNIC]; !device {
		return nil, nil
	}
	host, err := assignableOf(tx, server.Node)
	if err != nil {
		return nil, err
	}
	var near affinity
	if near.Topology, err = host.topology(); err != nil {
		return nil, err
	}
	hosted, _, err := compute.Hosted(tx, server.ID, server.Host)
	if err != nil {
		return nil, err
	}
	has, err := compute.ReadAssignment(hosted.Assignment)
	if err != nil {
		return nil, fmt.Errorf("server %s on %s: %w", server.ID, server.Host, err)
	}
	if has != nil {
		near.cells = has.Cells
	}
	flavor, err := server.StoredFlavor()
	if err != nil {
		return nil, err
	}
	near.policy = pciPolicy(flavor, extraspecs.Image{Properties: server.ImageProperties()})
	return chooseDevices(tx, server.ID, []compute.Port{port}, m, server.Host, server.Node, near)
}

// chooseDevices returns PCI devices of a hypervisor for the ports of a server, by port: free ones,
// on the interface whose bandwidth was chosen for the port if it requests bandwidth, and near to
// the server's NUMA cells. It is a *HostRefused when there are not enough.
func chooseDevices(
	tx *compute.Tx, server compute.ID, ports []compute.Port, m request.Mappings, host, node string, near affinity,
) (map[compute.ID]compute.Device, error) {
	if !slices.ContainsFunc(ports, func(p compute.Port) bool { _, device := deviceVNICs[p.VNIC]; return device }) {
		return nil, nil
	}
	all, err := DevicesOf(tx, node)
	if err != nil {
		return nil, err
	}
	taken, err := takenDevices(tx, host, server)
	if err != nil {
		return nil, err
	}
	chosen := map[compute.ID]compute.Device{}
	for _, p := range ports {
		whole, device := deviceVNICs[p.VNIC]
		if !device {
			continue
		}
		policy := cmp.Or(p.ResourceRequest.NUMAPolicy, near.policy)
		i := near.nearest(policy, len(all), func(i int) (string, bool) {
			d := all[i]
			return d.Slot, d.Whole == whole && d.PhysicalNetwork == p.PhysicalNetwork && serves(d, p, m, node) &&
				isFree(d, all, taken)
		})
		if i < 0 {
			return nil, &HostRefused{Why: noDevice(p, m, all, taken) + near.why(policy)}
		}
		if all[i].Slot != "" {
			chosen[p.ID], taken[all[i].Slot] = all[i], true
		}
	}
	return chosen, nil
}

// noDevice says why a port gets none of a host's devices. A virtual function whose host does not
// say which interface it is one of has no bandwidth of any: Nova refuses it a port with a guarantee
// too.
func noDevice(p compute.Port, m request.Mappings, all []compute.Device, taken map[string]bool) string {
	why := fmt.Sprintf("no device is free for port %s, of type %s", p.ID, p.VNIC)
	_, requested := p.ResourceRequest.Device(m)
	i := slices.IndexFunc(all, func(d compute.Device) bool {
		return d.Parent == "" && d.Slot != "" && d.Whole == deviceVNICs[p.VNIC] && d.PhysicalNetwork == p.PhysicalNetwork &&
			isFree(d, all, taken)
	})
	if requested && i >= 0 {
		why += fmt.Sprintf(": the host does not report which interface %s is a function of, and the bandwidth of none "+
			"can be guaranteed to it", all[i].Slot)
	}
	return why
}

// DevicesOf returns the PCI devices of a hypervisor. A host that lists none, or does not exist, can
// give none.
func DevicesOf(tx *compute.Tx, node string) (all []compute.Device, err error) {
	row, err := compute.One[compute.NodeRow](tx, compute.Where(compute.ByName, node))
	if errors.Is(err, compute.ErrNoRow) {
		return nil, nil // it was renamed, or its service was deleted
	}
	if err == nil && len(row.Devices) > 0 {
		if err = json.Unmarshal(row.Devices, &all); err != nil {
			err = fmt.Errorf("reading the devices of %s: %w", node, err)
		}
	}
	return all, err
}

// isFree reports whether a device, what it is part of, and all its parts are unused.
func isFree(d compute.Device, all []compute.Device, taken map[string]bool) bool {
	return !slices.ContainsFunc(all, func(other compute.Device) bool {
		same := other.Slot == d.Slot || d.Parent != "" && other.Parent == d.Parent && other.Whole != d.Whole
		return same && taken[other.Slot]
	})
}

// serves reports whether a device is a function of the interface whose bandwidth serves a
// port. Placement's provider of an interface is called after it.
func serves(d compute.Device, p compute.Port, m request.Mappings, node string) bool {
	provider, requested := p.ResourceRequest.Device(m)
	if !requested {
		return true
	}
	name := guarantee.Name{Driver: guarantee.SRIOV, Hypervisor: node, Device: d.Parent}
	return d.Parent != "" && name.UUID().String() == string(provider)
}

// takenDevices are the slots of a host that servers have or will have, or that the host may not
// have taken back yet. The choice of the server's own operation does not count: it is made again.
func takenDevices(tx *compute.Tx, host string, server compute.ID) (map[string]bool, error) {
	summaries, err := compute.Rows[compute.ServerSummary](tx, compute.Where(compute.ByHost, host))
	if err != nil {
		return nil, err
	}
	rows, ids := make([]compute.ServerRow, len(summaries)), make([]compute.ID, len(summaries))
	for i, one := range summaries {
		rows[i], ids[i] = one.ServerRow, one.ID
	}
	ports, err := compute.PortsOf(tx, rows)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, row := range rows {
		for _, p := range ports[row.ID] {
			if p.Shown.Host == host && p.Shown.Slot != "" {
				taken[p.Shown.Slot] = true
			}
		}
	}
	former, err := compute.Rows[compute.HostedRow](tx, compute.Where(compute.ByHost, host))
	if err != nil {
		return nil, err
	}
	for _, row := range former {
		for _, slot := range row.Slots {
			taken[slot] = true
		}
	}
	// A server that moves is not there yet: its operation has claimed the host.
	for _, where := range []compute.Match{compute.Where(compute.ByHost, host), compute.Where(compute.ByServer, ids...)} {
		operations, err := compute.Rows[compute.OperationSummary](tx, where)
		if err != nil {
			return nil, err
		}
		for _, op := range operations {
			if op.Server == server || len(op.Devices) == 0 {
				continue
			}
			var chosen map[compute.ID]compute.Device
			if err := json.Unmarshal(op.Devices, &chosen); err != nil {
				return nil, fmt.Errorf("reading the devices of operation %s: %w", op.ID, err)
			}
			for _, d := range chosen {
				taken[d.Slot] = true
			}
		}
	}
	return taken, nil
}
