package network

import (
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// A TrunkRow makes a port the parent of others that share its wire.
type TrunkRow struct {
	Common
	Port         ID // the parent; of one trunk only
	AdminStateUp bool
	Status       string
}

// A Trunk is a trunk with what is on it.
type Trunk struct {
	TrunkRow
	Subports []Subport
}

// A Subport is a port on a trunk, with its MAC address.
type Subport struct {
	SubportRow
	MAC string
}

// A SubportRow is a port on a trunk. A port is on one trunk only, and so is a
// segmentation id of a type.
type SubportRow struct {
	Trunk            ID
	Port             ID
	SegmentationType string
	SegmentationID   int
}

// trunksOf returns the trunks that some ports are the parents of, by port.
func trunksOf(r Reader, portIDs []ID) (map[ID]Trunk, error) {
	rows, err := Rows[TrunkRow](r, Where(ByPort, portIDs...))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	all, err := withSubports(r, rows)
	by := make(map[ID]Trunk, len(all))
	for _, t := range all {
		by[t.Port] = t
	}
	return by, err
}

// withSubports adds what is on some trunks.
func withSubports(r Reader, rows []TrunkRow) ([]Trunk, error) {
	subports, err := Rows[SubportRow](r, Where(ByTrunk, ids(rows, func(t *TrunkRow) ID { return t.ID })...))
	if err != nil {
		return nil, err
	}
	ports, err := Rows[PortRow](r, Where(ByID, ids(subports, func(s *SubportRow) ID { return s.Port })...))
	if err != nil {
		return nil, err
	}
	macs := make(map[ID]string, len(ports))
	for _, p := range ports {
		macs[p.ID] = p.MAC
	}
	on := group(subports, func(s *SubportRow) ID { return s.Trunk })
	all := make([]Trunk, len(rows))
	for i, row := range rows {
		all[i].TrunkRow = row
		for _, s := range on[row.ID] {
			all[i].Subports = append(all[i].Subports, Subport{s, macs[s.Port]})
		}
	}
	return all, nil
}

// The statuses of trunks. Neutron has BUILD too, while an agent plugs the subports in; here they
// are bound in the transaction that makes the parent ACTIVE.
const (
	TrunkDown     = "DOWN"     // the parent is not plugged in, or was not since the subports changed
	TrunkActive   = "ACTIVE"   // all subports are plugged in
	TrunkDegraded = "DEGRADED" // some subports are not
	TrunkError    = "ERROR"    // a subport cannot be bound on the host of the parent
)

// ownerSubport is the device owner of ports whose trunk has been plugged in.
const ownerSubport = "trunk:subport"

// followParent brings the subports of a trunk to the host where its parent is plugged in, as
// Neutron's agents do: bound there, with a device owner, and ACTIVE until the host's agent reports
// that it has no interface of the subport. They follow when the parent has been plugged in, not when
// it is bound: until then a server that is migrated runs on the host where they are. While the parent
// is not plugged in they are DOWN, and keep their bindings.
func (c *change) followParent(from, to Port) error {
	if to.Trunk == nil {
		return nil
	}
	trunk := to.Trunk.TrunkRow
	subports, err := c.portsOfTrunk(trunk.ID)
	if err != nil {
		return err
	}
	for _, p := range subports {
		if to.wired() {
			err = c.plugSubport(p, to.Binding.Host)
		} else {
			err = c.setStatus(p.ID, PortDown)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case to.wired():
		return c.setTrunkStatus(trunk)
	case from.Binding.VIF == to.Binding.VIF || to.Binding.VIF != VIFUnbound:
		return nil // it is being moved
	}
	trunk.Status = TrunkDown
	c.touch(&trunk.Common)
	return c.Replace(&trunk)
}

// portsOfTrunk returns the subports of a trunk.
func (c *change) portsOfTrunk(trunk ID) ([]Port, error) {
	rows, err := Rows[SubportRow](c, Where(ByTrunk, trunk))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return ports(c, Where(ByID, ids(rows, func(s *SubportRow) ID { return s.Port })...))
}

// plugSubport binds a subport to the host of its parent. One that cannot be bound there, or whose
// addresses are of another segment, stays DOWN: the status of its trunk shows it.
func (c *change) plugSubport(p Port, host string) error {
	if p.Binding.Host != host || !p.Binding.bound() || p.DeviceOwner != ownerSubport {
		spec := p.spec()
		spec.Host, spec.DeviceOwner = host, ownerSubport
		next, err := c.updatePort(portDraft{p, spec}, allocationChange{port: p})
		if kind, _ := fault.Of(err); kind == fault.Conflict || kind == fault.Invalid {
			c.warn("a subport cannot be moved to the host of its trunk", "port", p.ID, "host", host, "reason", err)
			return nil
		}
		if err != nil || !next.Binding.bound() {
			return err
		}
	}
	return c.setStatus(p.ID, PortActive)
}

// setStatus changes the status of a port.
func (c *change) setStatus(id ID, status string) error {
	row, err := byID[PortRow](c, "port", id)
	if err != nil || row.Status == status {
		return err
	}
	row.Status = status
	c.touch(&row.Common)
	return c.Replace(&row)
}

// setTrunkStatus derives the status of a trunk whose parent is plugged in from its subports.
func (c *change) setTrunkStatus(row TrunkRow) error {
	subports, err := c.portsOfTrunk(row.ID)
	if err != nil {
		return err
	}
	status := TrunkActive
	for _, p := range subports {
		switch {
		case p.Binding.VIF == VIFFailed:
			status = TrunkError
		case !p.wired() && status != TrunkError:
			status = TrunkDegraded
		}
	}
	if row.Status == status {
		return nil
	}
	row.Status = status
	c.touch(&row.Common)
	return c.Replace(&row)
}

// subportsReported updates the status of trunks some of whose subports an agent has reported.
func (c *change) subportsReported(subports []ID) error {
	if len(subports) == 0 {
		return nil
	}
	on, err := Rows[SubportRow](c, Where(ByPort, subports...))
	if err != nil || len(on) == 0 {
		return err
	}
	trunks, err := Rows[TrunkRow](c, Where(ByID, ids(on, func(s *SubportRow) ID { return s.Trunk })...))
	if err != nil {
		return err
	}
	for _, row := range trunks {
		parent, err := byID[PortRow](c, "port", row.Port)
		if err == nil && parent.Status == PortActive {
			err = c.setTrunkStatus(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notOnTrunk refuses to remove the parent or a subport of a trunk.
func (c *change) notOnTrunk(port ID) error {
	trunks, err := Rows[TrunkRow](c, Where(ByPort, port))
	if err != nil {
		return err
	}
	if len(trunks) > 0 {
		return conflict("PortInUseAsTrunkParent", "Port %s is currently a parent port for trunk %s.", port, trunks[0].ID)
	}
	subports, err := Rows[SubportRow](c, Where(ByPort, port))
	if err != nil {
		return err
	}
	if len(subports) > 0 {
		return conflict("PortInUseAsSubPort", "Port %s is currently a subport for trunk %s.", port, subports[0].Trunk)
	}
	return nil
}

// A TrunkSpec is what may be said of a trunk.
type TrunkSpec struct {
	TrunkRow
	Subports []SubportSpec // at creation
	// PortsOf is the project that its ports must be of, or on a network of; "" for
	// any.
	PortsOf string
}

// A SubportSpec is what may be said of a port on a trunk. The segmentation "inherit"
// takes that of the port's network; "" says that nothing was said of it.
type SubportSpec struct {
	Port             ID
	SegmentationType string
	SegmentationID   int
}

// Trunks returns the trunks that match, with what is on them.
func (s *Service) Trunks(ctx context.Context, where ...Match) (all []Trunk, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[TrunkRow](r, where...)
		if err != nil || len(rows) == 0 {
			return err
		}
		all, err = withSubports(r, rows)
		return err
	})
	return all, err
}

// CreateTrunks makes all of the trunks or none. Faults: PortNotFound,
// ParentPortInUse for a parent that is bound, TrunkPortInUse for a port on another
// trunk, and what AddSubports has.
func (s *Service) CreateTrunks(ctx context.Context, specs []TrunkSpec) (made []Trunk, err error) {
	err = s.update(ctx, func(c *change) error {
		if err := withinEach(c, "trunk", specs, func(s *TrunkSpec) string { return s.Project }); err != nil {
			return err
		}
		made = make([]Trunk, len(specs))
		for i := range specs {
			if made[i], err = c.createTrunk(specs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

func (c *change) createTrunk(spec TrunkSpec) (Trunk, error) {
	row := spec.TrunkRow
	parent, err := c.untrunked(row.Port, spec.PortsOf)
	if err != nil {
		return Trunk{}, err
	}
	if parent.Binding.Host != "" {
		return Trunk{}, parentInUse(row.Port)
	}
	c.fresh(&row.Common)
	row.Status = TrunkDown
	if err := c.Insert(&row); err != nil {
		return Trunk{}, err
	}
	if err := c.addSubports(row, parent, spec.Subports, spec.PortsOf); err != nil {
		return Trunk{}, err
	}
	return c.trunk(row.ID)
}

func parentInUse(id ID) error {
	return conflict("ParentPortInUse", "Port %s is currently in use and is not eligible for use as a parent port.", id)
}

// untrunked returns a port that is on no trunk, if the project sees it.
func (c *change) untrunked(id ID, project string) (Port, error) {
	found, err := c.trunkPorts([]ID{id})
	if err != nil {
		return Port{}, err
	}
	return found.untrunked(id, project)
}

// trunkPorts are ports by their id, and which of them are on a trunk.
type trunkPorts struct {
	ports   map[ID]Port
	onTrunk map[ID]bool
}

// trunkPorts reads ports, in a fixed number of reads.
func (c *change) trunkPorts(these []ID) (found trunkPorts, err error) {
	all, err := ports(c, Where(ByID, these...))
	if err != nil {
		return found, err
	}
	subports, err := Rows[SubportRow](c, Where(ByPort, these...))
	found = trunkPorts{make(map[ID]Port, len(all)), make(map[ID]bool, len(subports))}
	for _, p := range all {
		found.ports[p.ID] = p
	}
	for _, s := range subports {
		found.onTrunk[s.Port] = true
	}
	return found, err
}

// untrunked is that of a change.
func (l trunkPorts) untrunked(id ID, project string) (Port, error) {
	p, there := l.ports[id]
	switch {
	case !there || !p.seenBy(project): // what else is wrong would say that there is such a port
		return Port{}, NotFound("port", id)
	case l.onTrunk[id]:
		return Port{}, conflict("TrunkPortInUse", "Port %s is in use by another trunk.", id)
	case p.Trunk != nil:
		return Port{}, parentInUse(id)
	}
	return p, nil
}

// seenBy reports whether a project sees the port: its own, and those on its networks;
// "" sees all.
func (p *Port) seenBy(project string) bool {
	return project == "" || p.Project == project || p.Network.Project == project
}

// trunk returns a trunk with what is on it.
func (c *change) trunk(id ID) (Trunk, error) {
	row, err := byID[TrunkRow](c, "trunk", id)
	if err != nil {
		return Trunk{}, err
	}
	all, err := withSubports(c, []TrunkRow{row})
	if err != nil {
		return Trunk{}, err
	}
	return all[0], nil
}

// addSubports adds ports to a trunk, without plugging them in.
func (c *change) addSubports(row TrunkRow, parent Port, specs []SubportSpec, project string) error {
	these := make([]ID, len(specs))
	for i := range specs {
		these[i] = specs[i].Port
	}
	found, err := c.trunkPorts(these)
	if err != nil {
		return err
	}
	for _, spec := range specs {
		if spec.Port == row.Port {
			return parentInUse(spec.Port)
		}
		if err := firstError(fitsTrunk(row, parent, found.ports, &spec, project), found.idle(spec.Port, project)); err != nil {
			return err
		}
		found.onTrunk[spec.Port] = true
		err := c.Insert(&SubportRow{Trunk: row.ID, Port: spec.Port, SegmentationType: spec.SegmentationType, SegmentationID: spec.SegmentationID})
		if errors.Is(err, ErrTaken) {
			return conflict("DuplicateSubPort", "segmentation_type %s and segmentation_id %d already in use on trunk %s.",
				spec.SegmentationType, spec.SegmentationID, row.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// idle refuses a port that is not to be found, that is on a trunk, or that a device
// has.
func (l trunkPorts) idle(id ID, project string) error {
	p, err := l.untrunked(id, project)
	if err == nil && p.DeviceID != "" {
		err = conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
			p.ID, p.Network.ID, p.DeviceID)
	}
	return err
}

// fitsTrunk refuses a port whose network or segmentation does not fit, and inherits the
// segmentation of its network where that is requested.
func fitsTrunk(row TrunkRow, parent Port, all map[ID]Port, spec *SubportSpec, project string) error {
	if p, there := all[spec.Port]; there && p.seenBy(project) {
		if p.Network.MTU > parent.Network.MTU {
			return conflict("SubPortMtuGreaterThanTrunkPortMtu", "MTU %d of subport %s cannot be greater than MTU %d of trunk %s.",
				p.Network.MTU, p.ID, parent.Network.MTU, row.Port)
		}
		if spec.SegmentationType == "inherit" && len(p.Network.Segments) > 0 {
			spec.SegmentationType, spec.SegmentationID = p.Network.Segments[0].Type, p.Network.Segments[0].SegmentationID
		}
	}
	switch {
	case spec.SegmentationType == "":
		return invalidInput("Invalid subport details '{'port_id': '%s'}': missing segmentation information. "+
			"Must specify both segmentation_id and segmentation_type", spec.Port)
	case spec.SegmentationType != VLAN:
		return invalidInput("Unknown segmentation_type '%s'", spec.SegmentationType)
	case spec.SegmentationID < minVLAN || spec.SegmentationID > maxVLAN:
		return invalidInput("Segmentation ID '%d' is not in range", spec.SegmentationID)
	}
	return nil
}

// AddSubports puts ports of a project, or of any when that is "", on a trunk: all or none. They are
// plugged in at once where the parent is. Faults: TrunkNotFound, TrunkDisabled, TrunkInErrorState,
// PortNotFound, PortInUse, TrunkPortInUse, DuplicateSubPort, SubPortMtuGreaterThanTrunkPortMtu,
// InvalidInput.
func (s *Service) AddSubports(ctx context.Context, id ID, specs []SubportSpec, project string, only ...Condition) (Trunk, error) {
	return s.changeTrunk(ctx, id, only, func(c *change, t Trunk) error {
		all, err := ports(c, Where(ByID, t.Port))
		if err != nil {
			return err
		}
		if err := c.addSubports(t.TrunkRow, all[0], specs, project); err != nil || t.Status != TrunkError {
			return err
		}
		return conflict("TrunkInErrorState", "Trunk %s is in error state. Attempt to resolve the error condition before proceeding.", id)
	})
}

// RemoveSubports takes ports off a trunk: all or none. They are DOWN, and keep their bindings and
// device owner, as in Neutron with Open vSwitch. Faults: TrunkNotFound, TrunkDisabled,
// SubPortNotFound.
func (s *Service) RemoveSubports(ctx context.Context, id ID, portIDs []ID, only ...Condition) (Trunk, error) {
	return s.changeTrunk(ctx, id, only, func(c *change, t Trunk) error {
		for _, port := range portIDs {
			n, err := c.Remove(&SubportRow{}, Where(ByTrunk, id), Where(ByPort, port))
			if err == nil && n == 0 {
				err = fault.New(fault.NotFound, "SubPortNotFound", "SubPort %s on trunk %s could not be found.", string(port), string(id))
			}
			if err == nil {
				err = c.setStatus(port, PortDown)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// changeTrunk changes what is on a trunk that is up.
func (s *Service) changeTrunk(ctx context.Context, id ID, only []Condition, fn func(*change, Trunk) error) (t Trunk, err error) {
	err = s.update(ctx, func(c *change) error {
		if t, err = c.trunk(id); err != nil {
			return err
		}
		if !t.AdminStateUp {
			return conflict("TrunkDisabled", "Trunk %s is currently disabled.", id)
		}
		if err := firstError(fn(c, t), met(only, &t.Common)); err != nil {
			return err
		}
		t.Status = TrunkDown
		c.touch(&t.Common)
		if err := c.Replace(&t.TrunkRow); err != nil {
			return err
		}
		parents, err := ports(c, Where(ByID, t.Port))
		if err != nil {
			return err
		}
		for _, parent := range parents {
			if !parent.wired() {
				continue
			}
			if err := c.followParent(parent, parent); err != nil {
				return err
			}
		}
		t, err = c.trunk(id)
		return err
	})
	return t, err
}

// UpdateTrunk changes a trunk, not what is on it. Fault: TrunkNotFound.
func (s *Service) UpdateTrunk(ctx context.Context, id ID, fn func(*TrunkSpec) error) (t Trunk, err error) {
	err = s.update(ctx, func(c *change) error {
		if t, err = c.trunk(id); err != nil {
			return err
		}
		spec := TrunkSpec{TrunkRow: t.TrunkRow}
		if err := fn(&spec); err != nil {
			return err
		}
		t.TrunkRow = spec.TrunkRow
		c.touch(&t.Common)
		return c.Replace(&t.TrunkRow)
	})
	return t, err
}

// DeleteTrunk removes a trunk; its ports stay. Faults: TrunkNotFound, TrunkDisabled,
// TrunkInUse while its parent is bound.
func (s *Service) DeleteTrunk(ctx context.Context, id ID, only ...Condition) error {
	return s.update(ctx, func(c *change) error {
		t, err := c.trunk(id)
		if err != nil {
			return err
		}
		if !t.AdminStateUp {
			return conflict("TrunkDisabled", "Trunk %s is currently disabled.", id)
		}
		bound, err := Rows[BindingRow](c, Where(ByPort, t.Port))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(bound, func(b BindingRow) bool { return b.Host != "" }) {
			return conflict("TrunkInUse", "Trunk %s is currently in use.", id)
		}
		if err := met(only, &t.Common); err != nil {
			return err
		}
		_, subports := c.Remove(&SubportRow{}, Where(ByTrunk, id))
		_, trunk := c.Remove(&TrunkRow{}, Where(ByID, id))
		return firstError(subports, trunk)
	})
}
