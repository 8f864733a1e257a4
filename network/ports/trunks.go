package ports

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/quotas"
	"github.com/berthcloud/berth/network/reallocation"
	"github.com/berthcloud/berth/network/topology"
)

// ownerSubport is the device owner of ports whose trunk has been plugged in.
const ownerSubport = "trunk:subport"

// followParent brings the subports of a trunk to the host where its parent is plugged in, as
// Neutron's agents do: bound there, with a device owner, and ACTIVE until the host's agent reports
// that it has no interface of the subport. They follow when the parent has been plugged in, not
// when it is bound: until then a server that is migrated runs on the host where they are. While the
// parent is not plugged in they are DOWN, and keep their bindings.
func followParent(tx *network.Tx, from, to network.Port) error {
	if to.Trunk == nil {
		return nil
	}
	trunk := to.Trunk.TrunkRow
	subports, err := portsOfTrunk(tx, trunk.ID)
	if err != nil {
		return err
	}
	for _, p := range subports {
		if to.Up() {
			err = bindSubport(tx, p, to.Binding.Host)
		} else {
			err = setStatus(tx, p.ID, network.PortDown)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case to.Up():
		return setTrunkStatus(tx, trunk)
	case from.Binding.VIF == to.Binding.VIF || to.Binding.VIF != network.VIFUnbound:
		return nil // it is being moved
	}
	trunk.Status = network.TrunkDown
	tx.Touch(&trunk.Common)
	return tx.Replace(&trunk)
}

// portsOfTrunk returns the subports of a trunk.
func portsOfTrunk(tx *network.Tx, trunk network.ID) ([]network.Port, error) {
	rows, err := network.Rows[network.SubportRow](tx, network.Where(network.ByTrunk, trunk))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return network.Ports(tx,
		network.Where(network.ByID, network.IDs(rows, func(s *network.SubportRow) network.ID { return s.Port })...))
}

// bindSubport binds a subport to the host of its parent. One that cannot be bound there, or whose
// addresses are of another segment, stays DOWN: the status of its trunk shows it.
func bindSubport(tx *network.Tx, p network.Port, host string) error {
	if p.Binding.Host != host || !p.Binding.Bound() || p.DeviceOwner != ownerSubport {
		spec := specOf(&p)
		spec.Host, spec.DeviceOwner = host, ownerSubport
		next, err := updatePort(tx, draft{p, spec}, reallocation.Change{Port: p})
		if kind, _ := fault.Of(err); kind == fault.Conflict || kind == fault.Invalid {
			tx.Warn("a subport cannot be moved to the host of its trunk", "port", p.ID, "host", host, "reason", err)
			return nil
		}
		if err != nil || !next.Binding.Bound() {
			return err
		}
	}
	return setStatus(tx, p.ID, network.PortActive)
}

// setStatus changes the status of a port.
func setStatus(tx *network.Tx, id network.ID, status string) error {
	row, err := network.Find[network.PortRow](tx, "port", id)
	if err != nil || row.Status == status {
		return err
	}
	row.Status = status
	tx.Touch(&row.Common)
	return tx.Replace(&row)
}

// setTrunkStatus derives the status of a trunk whose parent is plugged in from its subports.
func setTrunkStatus(tx *network.Tx, row network.TrunkRow) error {
	subports, err := portsOfTrunk(tx, row.ID)
	if err != nil {
		return err
	}
	status := network.TrunkActive
	for _, p := range subports {
		switch {
		case p.Binding.VIF == network.VIFFailed:
			status = network.TrunkError
		case !p.Up() && status != network.TrunkError:
			status = network.TrunkDegraded
		}
	}
	if row.Status == status {
		return nil
	}
	row.Status = status
	tx.Touch(&row.Common)
	return tx.Replace(&row)
}

// subportsReported updates the status of trunks some of whose subports an agent has reported.
func subportsReported(tx *network.Tx, subports []network.ID) error {
	if len(subports) == 0 {
		return nil
	}
	on, err := network.Rows[network.SubportRow](tx, network.Where(network.ByPort, subports...))
	if err != nil || len(on) == 0 {
		return err
	}
	trunks, err := network.Rows[network.TrunkRow](tx,
		network.Where(network.ByID, network.IDs(on, func(s *network.SubportRow) network.ID { return s.Trunk })...))
	if err != nil {
		return err
	}
	for _, row := range trunks {
		parent, err := network.Find[network.PortRow](tx, "port", row.Port)
		if err == nil && parent.Status == network.PortActive {
			err = setTrunkStatus(tx, row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkNotOnTrunk refuses to remove the parent or a subport of a trunk.
func checkNotOnTrunk(tx *network.Tx, port network.ID) error {
	trunks, err := network.Rows[network.TrunkRow](tx, network.Where(network.ByPort, port))
	if err != nil {
		return err
	}
	if len(trunks) > 0 {
		return network.Conflict("PortInUseAsTrunkParent", "Port %s is currently a parent port for trunk %s.", port,
			trunks[0].ID)
	}
	subports, err := network.Rows[network.SubportRow](tx, network.Where(network.ByPort, port))
	if err != nil {
		return err
	}
	if len(subports) > 0 {
		return network.Conflict("PortInUseAsSubPort", "Port %s is currently a subport for trunk %s.", port,
			subports[0].Trunk)
	}
	return nil
}

// A TrunkSpec is a request for a trunk.
type TrunkSpec struct {
	network.TrunkRow
	Subports []SubportSpec // at creation
	// PortsOf is the project that its ports must be of, or on a network of; "" for
	// any.
	PortsOf string
}

// A SubportSpec is a request for a port on a trunk. The segmentation "inherit"
// takes that of the port's network; "" is none requested.
type SubportSpec struct {
	Port             network.ID
	SegmentationType string
	SegmentationID   int
}

// Trunks returns the trunks that match, with what is on them.
func (s *Service) Trunks(ctx context.Context, where ...network.Match) (all []network.Trunk, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		rows, err := network.Rows[network.TrunkRow](r, where...)
		if err != nil || len(rows) == 0 {
			return err
		}
		all, err = network.WithSubports(r, rows)
		return err
	})
	return all, err
}

// CreateTrunks makes all of the trunks or none. Faults: PortNotFound,
// ParentPortInUse for a parent that is bound, TrunkPortInUse for a port on another
// trunk, and what AddSubports has.
func (s *Service) CreateTrunks(ctx context.Context, specs []TrunkSpec) (trunks []network.Trunk, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if err := quotas.WithinEach(tx, "trunk", specs, func(s *TrunkSpec) string { return s.Project }); err != nil {
			return err
		}
		trunks = make([]network.Trunk, len(specs))
		for i := range specs {
			if trunks[i], err = createTrunk(tx, specs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return trunks, err
}

func createTrunk(tx *network.Tx, spec TrunkSpec) (network.Trunk, error) {
	row := spec.TrunkRow
	parent, err := portWithoutTrunk(tx, row.Port, spec.PortsOf)
	if err != nil {
		return network.Trunk{}, err
	}
	if parent.Binding.Host != "" {
		return network.Trunk{}, parentInUse(row.Port)
	}
	tx.Fresh(&row.Common)
	row.Status = network.TrunkDown
	if err := tx.Insert(&row); err != nil {
		return network.Trunk{}, err
	}
	if err := addSubports(tx, row, parent, spec.Subports, spec.PortsOf); err != nil {
		return network.Trunk{}, err
	}
	return readTrunk(tx, row.ID)
}

func parentInUse(id network.ID) error {
	return network.Conflict("ParentPortInUse",
		"Port %s is currently in use and is not eligible for use as a parent port.", id)
}

// portWithoutTrunk returns a port that is on no trunk, if the project sees it.
func portWithoutTrunk(tx *network.Tx, id network.ID, project string) (network.Port, error) {
	found, err := readTrunkPorts(tx, []network.ID{id})
	if err != nil {
		return network.Port{}, err
	}
	return found.withoutTrunk(id, project)
}

// portsOnTrunks are ports by their id, and which of them are on a trunk.
type portsOnTrunks struct {
	ports   map[network.ID]network.Port
	onTrunk map[network.ID]bool
}

// readTrunkPorts reads ports, in a fixed number of reads.
func readTrunkPorts(tx *network.Tx, these []network.ID) (found portsOnTrunks, err error) {
	all, err := network.Ports(tx, network.Where(network.ByID, these...))
	if err != nil {
		return found, err
	}
	subports, err := network.Rows[network.SubportRow](tx, network.Where(network.ByPort, these...))
	found = portsOnTrunks{make(map[network.ID]network.Port, len(all)), make(map[network.ID]bool, len(subports))}
	for _, p := range all {
		found.ports[p.ID] = p
	}
	for _, s := range subports {
		found.onTrunk[s.Port] = true
	}
	return found, err
}

// withoutTrunk is portWithoutTrunk for ports that are read already.
func (l portsOnTrunks) withoutTrunk(id network.ID, project string) (network.Port, error) {
	p, exists := l.ports[id]
	switch {
	case !exists || !visibleTo(&p, project): // any other fault would disclose that the port exists
		return network.Port{}, network.NotFound("port", id)
	case l.onTrunk[id]:
		return network.Port{}, network.Conflict("TrunkPortInUse", "Port %s is in use by another trunk.", id)
	case p.Trunk != nil:
		return network.Port{}, parentInUse(id)
	}
	return p, nil
}

// visibleTo reports whether a project sees the port: its own, and those on its networks;
// "" sees all.
func visibleTo(p *network.Port, project string) bool {
	return project == "" || p.Project == project || p.Network.Project == project
}

// readTrunk returns a trunk with what is on it.
func readTrunk(tx *network.Tx, id network.ID) (network.Trunk, error) {
	row, err := network.Find[network.TrunkRow](tx, "trunk", id)
	if err != nil {
		return network.Trunk{}, err
	}
	all, err := network.WithSubports(tx, []network.TrunkRow{row})
	if err != nil {
		return network.Trunk{}, err
	}
	return all[0], nil
}

// addSubports adds ports to a trunk, without plugging them in.
func addSubports(tx *network.Tx, row network.TrunkRow, parent network.Port, specs []SubportSpec, project string) error {
	these := make([]network.ID, len(specs))
	for i := range specs {
		these[i] = specs[i].Port
	}
	found, err := readTrunkPorts(tx, these)
	if err != nil {
		return err
	}
	for _, spec := range specs {
		if spec.Port == row.Port {
			return parentInUse(spec.Port)
		}
		if err := cmp.Or(checkSubport(row, parent, found.ports, &spec, project),
			found.withoutDevice(spec.Port, project)); err != nil {
			return err
		}
		found.onTrunk[spec.Port] = true
		err := tx.Insert(&network.SubportRow{
			Trunk: row.ID, Port: spec.Port, SegmentationType: spec.SegmentationType,
			SegmentationID: spec.SegmentationID,
		})
		if errors.Is(err, network.ErrTaken) {
			return network.Conflict("DuplicateSubPort",
				"segmentation_type %s and segmentation_id %d already in use on trunk %s.",
				spec.SegmentationType, spec.SegmentationID, row.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutDevice refuses a port that is not to be found, that is on a trunk, or that a device
// has.
func (l portsOnTrunks) withoutDevice(id network.ID, project string) error {
	p, err := l.withoutTrunk(id, project)
	if err == nil && p.DeviceID != "" {
		err = network.Conflict("PortInUse",
			"Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
			p.ID, p.Network.ID, p.DeviceID)
	}
	return err
}

// checkSubport refuses a port whose network or segmentation does not fit, and inherits the
// segmentation of its network where that is requested.
func checkSubport(
	row network.TrunkRow, parent network.Port, all map[network.ID]network.Port, spec *SubportSpec, project string,
) error {
	if p, exists := all[spec.Port]; exists && visibleTo(&p, project) {
		if p.Network.MTU > parent.Network.MTU {
			return network.Conflict("SubPortMtuGreaterThanTrunkPortMtu",
				"MTU %d of subport %s cannot be greater than MTU %d of trunk %s.",
				p.Network.MTU, p.ID, parent.Network.MTU, row.Port)
		}
		if spec.SegmentationType == "inherit" && len(p.Network.Segments) > 0 {
			spec.SegmentationType, spec.SegmentationID = p.Network.Segments[0].Type, p.Network.Segments[0].SegmentationID
		}
	}
	switch {
	case spec.SegmentationType == "":
		return network.InvalidInput("Invalid subport details '{'port_id': '%s'}': missing segmentation information. "+
			"Must specify both segmentation_id and segmentation_type", spec.Port)
	case spec.SegmentationType != network.VLAN:
		return network.InvalidInput("Unknown segmentation_type '%s'", spec.SegmentationType)
	case spec.SegmentationID < topology.MinVLAN || spec.SegmentationID > topology.MaxVLAN:
		return network.InvalidInput("Segmentation ID '%d' is not in range", spec.SegmentationID)
	}
	return nil
}

// AddSubports puts ports of a project, or of any when that is "", on a trunk: all or none. They are
// plugged in at once where the parent is. Faults: TrunkNotFound, TrunkDisabled, TrunkInErrorState,
// PortNotFound, PortInUse, TrunkPortInUse, DuplicateSubPort, SubPortMtuGreaterThanTrunkPortMtu,
// InvalidInput.
func (s *Service) AddSubports(
	ctx context.Context, id network.ID, specs []SubportSpec, project string, only ...network.Condition,
) (network.Trunk, error) {
	return s.changeTrunk(ctx, id, only, func(tx *network.Tx, t network.Trunk) error {
		all, err := network.Ports(tx, network.Where(network.ByID, t.Port))
		if err != nil {
			return err
		}
		if err := addSubports(tx, t.TrunkRow, all[0], specs, project); err != nil || t.Status != network.TrunkError {
			return err
		}
		return network.Conflict("TrunkInErrorState",
			"Trunk %s is in error state. Attempt to resolve the error condition before proceeding.", id)
	})
}

// RemoveSubports takes ports off a trunk: all or none. They are DOWN, and keep their bindings and
// device owner, as in Neutron with Open vSwitch. Faults: TrunkNotFound, TrunkDisabled,
// SubPortNotFound.
func (s *Service) RemoveSubports(
	ctx context.Context, id network.ID, portIDs []network.ID, only ...network.Condition,
) (network.Trunk, error) {
	return s.changeTrunk(ctx, id, only, func(tx *network.Tx, t network.Trunk) error {
		for _, port := range portIDs {
			n, err := tx.Remove(&network.SubportRow{}, network.Where(network.ByTrunk, id),
				network.Where(network.ByPort, port))
			if err == nil && n == 0 {
				err = fault.New(fault.NotFound, "SubPortNotFound", "SubPort %s on trunk %s could not be found.",
					string(port), string(id))
			}
			if err == nil {
				err = setStatus(tx, port, network.PortDown)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// changeTrunk changes what is on a trunk that is up.
func (s *Service) changeTrunk(
	ctx context.Context, id network.ID, only []network.Condition, fn func(*network.Tx, network.Trunk) error,
) (t network.Trunk, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if t, err = readTrunk(tx, id); err != nil {
			return err
		}
		if !t.AdminStateUp {
			return network.Conflict("TrunkDisabled", "Trunk %s is currently disabled.", id)
		}
		if err := cmp.Or(fn(tx, t), network.CheckConditions(only, &t.Common)); err != nil {
			return err
		}
		t.Status = network.TrunkDown
		tx.Touch(&t.Common)
		if err := tx.Replace(&t.TrunkRow); err != nil {
			return err
		}
		parents, err := network.Ports(tx, network.Where(network.ByID, t.Port))
		if err != nil {
			return err
		}
		for _, parent := range parents {
			if !parent.Up() {
				continue
			}
			if err := followParent(tx, parent, parent); err != nil {
				return err
			}
		}
		t, err = readTrunk(tx, id)
		return err
	})
	return t, err
}

// UpdateTrunk changes a trunk, not what is on it. Fault: TrunkNotFound.
func (s *Service) UpdateTrunk(
	ctx context.Context, id network.ID, fn func(*TrunkSpec) error,
) (t network.Trunk, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if t, err = readTrunk(tx, id); err != nil {
			return err
		}
		spec := TrunkSpec{TrunkRow: t.TrunkRow}
		if err := fn(&spec); err != nil {
			return err
		}
		t.TrunkRow = spec.TrunkRow
		tx.Touch(&t.Common)
		return tx.Replace(&t.TrunkRow)
	})
	return t, err
}

// DeleteTrunk removes a trunk; its ports stay. Faults: TrunkNotFound, TrunkDisabled,
// TrunkInUse while its parent is bound.
func (s *Service) DeleteTrunk(ctx context.Context, id network.ID, only ...network.Condition) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		t, err := readTrunk(tx, id)
		if err != nil {
			return err
		}
		if !t.AdminStateUp {
			return network.Conflict("TrunkDisabled", "Trunk %s is currently disabled.", id)
		}
		bound, err := network.Rows[network.BindingRow](tx, network.Where(network.ByPort, t.Port))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(bound, func(b network.BindingRow) bool { return b.Host != "" }) {
			return network.Conflict("TrunkInUse", "Trunk %s is currently in use.", id)
		}
		if err := network.CheckConditions(only, &t.Common); err != nil {
			return err
		}
		_, subports := tx.Remove(&network.SubportRow{}, network.Where(network.ByTrunk, id))
		_, trunk := tx.Remove(&network.TrunkRow{}, network.Where(network.ByID, id))
		return cmp.Or(subports, trunk)
	})
}
