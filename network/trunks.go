package network

import (
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// subportOwner is the device_owner of a port on a trunk.
const subportOwner = "trunk:subport"

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

// notOnTrunk refuses to remove a port that a trunk is made of.
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
	Subports []SubportSpec // when it is made
}

// A SubportSpec is what may be said of a port on a trunk. The segmentation "inherit"
// takes that of the port's network.
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
	parent, err := c.lone(row.Port)
	if err != nil {
		return Trunk{}, err
	}
	if parent.Binding.Host != "" {
		return Trunk{}, parentInUse(row.Port)
	}
	c.fresh(&row.Common)
	row.Status = PortDown
	if err := c.Insert(&row); err != nil {
		return Trunk{}, err
	}
	if err := c.addSubports(row, parent, spec.Subports); err != nil {
		return Trunk{}, err
	}
	return c.trunk(row.ID)
}

func parentInUse(id ID) error {
	return conflict("ParentPortInUse", "Port %s is currently in use and is not eligible for use as a parent port.", id)
}

// lone returns a port that is on no trunk.
func (c *change) lone(id ID) (Port, error) {
	all, err := ports(c, Where(ByID, id))
	if err != nil {
		return Port{}, err
	}
	if len(all) == 0 {
		return Port{}, NotFound("port", id)
	}
	subports, err := Rows[SubportRow](c, Where(ByPort, id))
	switch {
	case err != nil:
		return Port{}, err
	case len(subports) > 0:
		return Port{}, conflict("TrunkPortInUse", "Port %s is in use by another trunk.", id)
	case all[0].Trunk != nil:
		return Port{}, parentInUse(id)
	}
	return all[0], nil
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

// addSubports puts ports on a trunk and makes them its.
func (c *change) addSubports(row TrunkRow, parent Port, specs []SubportSpec) error {
	for _, spec := range specs {
		if spec.Port == row.Port {
			return parentInUse(spec.Port)
		}
		p, err := c.lone(spec.Port)
		if err != nil {
			return err
		}
		if err := c.fitsTrunk(row, parent, p, &spec); err != nil {
			return err
		}
		err = c.Insert(&SubportRow{Trunk: row.ID, Port: spec.Port, SegmentationType: spec.SegmentationType, SegmentationID: spec.SegmentationID})
		if errors.Is(err, ErrTaken) {
			return conflict("DuplicateSubPort", "segmentation_type %s and segmentation_id %d already in use on trunk %s.",
				spec.SegmentationType, spec.SegmentationID, row.ID)
		}
		if err != nil {
			return err
		}
		p.DeviceOwner = subportOwner
		c.touch(&p.Common)
		if err := c.Replace(&p.PortRow); err != nil {
			return err
		}
	}
	return nil
}

// fitsTrunk refuses a port that cannot be on a trunk, and takes the segmentation of
// its network where that is asked for.
func (c *change) fitsTrunk(row TrunkRow, parent, p Port, spec *SubportSpec) error {
	if p.DeviceID != "" {
		return conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
			p.ID, p.Network.ID, p.DeviceID)
	}
	if p.Network.MTU > parent.Network.MTU {
		return conflict("SubPortMtuGreaterThanTrunkPortMtu", "MTU %d of subport %s cannot be greater than MTU %d of trunk %s.",
			p.Network.MTU, p.ID, parent.Network.MTU, row.Port)
	}
	if spec.SegmentationType == "inherit" && len(p.Network.Segments) > 0 {
		spec.SegmentationType, spec.SegmentationID = p.Network.Segments[0].Type, p.Network.Segments[0].SegmentationID
	}
	switch {
	case spec.SegmentationType != VLAN:
		return invalidInput("Unknown segmentation_type '%s'", spec.SegmentationType)
	case spec.SegmentationID < minVLAN || spec.SegmentationID > maxVLAN:
		return invalidInput("Segmentation ID '%d' is not in range", spec.SegmentationID)
	}
	return nil
}

// AddSubports puts ports on a trunk: all or none. Faults: TrunkNotFound,
// TrunkDisabled, PortNotFound, PortInUse, TrunkPortInUse, DuplicateSubPort,
// SubPortMtuGreaterThanTrunkPortMtu, InvalidInput.
func (s *Service) AddSubports(ctx context.Context, id ID, specs []SubportSpec) (Trunk, error) {
	return s.changeTrunk(ctx, id, func(c *change, t Trunk) error {
		all, err := ports(c, Where(ByID, t.Port))
		if err != nil {
			return err
		}
		return c.addSubports(t.TrunkRow, all[0], specs)
	})
}

// RemoveSubports takes ports off a trunk: all or none. Faults: TrunkNotFound,
// TrunkDisabled, SubPortNotFound.
func (s *Service) RemoveSubports(ctx context.Context, id ID, portIDs []ID) (Trunk, error) {
	return s.changeTrunk(ctx, id, func(c *change, t Trunk) error {
		for _, port := range portIDs {
			n, err := c.Remove(&SubportRow{}, Where(ByTrunk, id), Where(ByPort, port))
			if err == nil && n == 0 {
				err = fault.New(fault.NotFound, "SubPortNotFound", "SubPort %s on trunk %s could not be found.", string(port), string(id))
			}
			if err := firstError(err, c.ownerless(port)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ownerless takes the mark of a subport off a port.
func (c *change) ownerless(id ID) error {
	rows, err := Rows[PortRow](c, Where(ByID, id))
	if err != nil || len(rows) == 0 || rows[0].DeviceOwner != subportOwner {
		return err
	}
	rows[0].DeviceOwner = ""
	c.touch(&rows[0].Common)
	return c.Replace(&rows[0])
}

// changeTrunk changes what is on a trunk that is up.
func (s *Service) changeTrunk(ctx context.Context, id ID, fn func(*change, Trunk) error) (t Trunk, err error) {
	err = s.update(ctx, func(c *change) error {
		if t, err = c.trunk(id); err != nil {
			return err
		}
		if !t.AdminStateUp {
			return conflict("TrunkDisabled", "Trunk %s is currently disabled.", id)
		}
		if err := fn(c, t); err != nil {
			return err
		}
		t.Status = PortDown
		c.touch(&t.Common)
		if err := c.Replace(&t.TrunkRow); err != nil {
			return err
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
func (s *Service) DeleteTrunk(ctx context.Context, id ID) error {
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
		for _, sub := range t.Subports {
			if err := c.ownerless(sub.Port); err != nil {
				return err
			}
		}
		_, subports := c.Remove(&SubportRow{}, Where(ByTrunk, id))
		_, trunk := c.Remove(&TrunkRow{}, Where(ByID, id))
		return firstError(subports, trunk)
	})
}
