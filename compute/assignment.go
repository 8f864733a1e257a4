package compute

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/placement"
)

// An Assignment is what of a host a server has of its own: chosen with its claim, stored with the
// operation until the host is to build the server, and with the server on the host from then on.
// No two servers of a host have the same.
type Assignment = hostlist.Assignment

// The parts of an Assignment.
type (
	Cell           = hostlist.Cell
	PCIDevice      = hostlist.PCIDevice
	MediatedDevice = hostlist.MediatedDevice
)

// An Assignable is what servers can be assigned of a host, as it has reported it.
type Assignable struct {
	// Devices are the devices with addresses or a type of mediated devices.
	Devices []inventory.Device `json:"devices,omitempty"`
	// Providers are the UUIDs of devices' providers that do not follow from the names: see
	// inventory.Synced.
	Providers map[string]placement.UUID `json:"providers,omitempty"`
}

// ReadAssignable reads it as rows have it.
func (n *NodeRow) ReadAssignable() (all Assignable, err error) {
	if len(n.Assignable) > 0 {
		if err = json.Unmarshal(n.Assignable, &all); err != nil {
			err = fmt.Errorf("reading what servers can be assigned of %s: %w", n.Name, err)
		}
	}
	return all, err
}

// SetAssignable stores what servers can be assigned of an inventory.
func (n *NodeRow) SetAssignable(has *inventory.Host) error {
	all, err := n.ReadAssignable()
	if err != nil {
		return err
	}
	all.Devices = nil
	for _, d := range has.Devices {
		if len(d.Addresses) > 0 || d.MdevType != "" {
			all.Devices = append(all.Devices, d)
		}
	}
	return n.storeAssignable(all)
}

// SetProviders stores the UUIDs of devices' providers, and reports whether others were stored.
func (n *NodeRow) SetProviders(providers map[string]placement.UUID) (changed bool, err error) {
	all, err := n.ReadAssignable()
	if err != nil || maps.Equal(all.Providers, providers) {
		return false, err
	}
	all.Providers = providers
	return true, n.storeAssignable(all)
}

func (n *NodeRow) storeAssignable(all Assignable) (err error) {
	if n.Assignable = nil; len(all.Devices)+len(all.Providers) > 0 {
		n.Assignable, err = json.Marshal(all)
	}
	return err
}

// Units are the units of devices in an assignment, by device and class; none of nil.
func Units(a *Assignment) (all []inventory.Unit) {
	if a == nil {
		return nil
	}
	add := func(device, class string, addresses ...string) {
		for i := range all {
			if all[i].Device == device && all[i].Class == class {
				all[i].Count++
				all[i].Addresses = append(all[i].Addresses, addresses...)
				return
			}
		}
		all = append(all, inventory.Unit{Device: device, Class: class, Count: 1, Addresses: addresses})
	}
	for _, d := range a.PCIDevices {
		add(d.Provider, d.Class, d.Address)
	}
	for _, d := range a.Mdevs {
		add(d.Provider, d.Class)
	}
	return all
}

// ReadAssignment reads an assignment as rows have it, nil for none.
func ReadAssignment(text []byte) (*Assignment, error) {
	if len(text) == 0 {
		return nil, nil
	}
	a := &Assignment{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("reading an assignment: %w", err)
	}
	return a, nil
}

// ChosenAssignment is the assignment in the operation's body as it is there, "" for none. Like
// ClaimHost it is for a column.
func (o *OperationRow) ChosenAssignment() string {
	if !bytes.Contains(o.Body, []byte(`"assignment"`)) {
		return ""
	}
	var body struct {
		Assignment *Assignment `json:"assignment"`
	}
	if json.Unmarshal(o.Body, &body) != nil || body.Assignment == nil {
		return ""
	}
	text, err := json.Marshal(body.Assignment)
	if err != nil {
		panic("compute: " + err.Error()) // numbers and texts only
	}
	return string(text)
}

// Assignments are what a server that is resized on its host is assigned there for the way back, and
// for the way that it goes: both are taken until the migration is over.
func (m *MigrationRow) Assignments() (all []Assignment, err error) {
	if !bytes.Contains(m.Former, []byte(`"assignment"`)) && !bytes.Contains(m.Former, []byte(`"resized"`)) {
		return nil, nil
	}
	var former struct {
		Assignment *Assignment `json:"assignment"`
		Resized    *Assignment `json:"resized"`
	}
	if err := json.Unmarshal(m.Former, &former); err != nil {
		return nil, fmt.Errorf("reading the assignments of migration %s: %w", m.ID, err)
	}
	for _, a := range []*Assignment{former.Assignment, former.Resized} {
		if a != nil {
			all = append(all, *a)
		}
	}
	return all, nil
}

// A HostAssignment is an assignment of a host that a server has, will have or may come back to, or
// that the host may not have taken back yet.
type HostAssignment struct {
	Server ID
	// Operation says that it is in the server's operation: the host is not to build the server so far.
	Operation bool
	Assignment
}

// AssignmentsOn returns the assignments of a host. A server that moves or is resized has several.
func AssignmentsOn(r Reader, host string) (all []HostAssignment, err error) {
	add := func(server ID, operation bool, text []byte) error {
		a, err := ReadAssignment(text)
		if err != nil {
			return fmt.Errorf("server %s on %s: %w", server, host, err)
		}
		if a != nil {
			all = append(all, HostAssignment{server, operation, *a})
		}
		return nil
	}
	hosted, err := Rows[HostedRow](r, Where(ByHost, host))
	if err != nil {
		return nil, err
	}
	ids := make([]ID, len(hosted))
	for i, row := range hosted {
		ids[i] = row.Server
		if err := add(row.Server, false, row.Assignment); err != nil {
			return nil, err
		}
	}
	operations, err := Rows[OperationSummary](r, Where(ByHost, host))
	if err != nil {
		return nil, err
	}
	for _, op := range operations {
		if err := add(op.Server, true, op.Assignment); err != nil {
			return nil, err
		}
	}
	resized, err := resizesOn(r, host, ids)
	return append(all, resized...), err
}

// resizesOn are the assignments of those servers that are being resized on their host.
func resizesOn(r Reader, host string, servers []ID) (all []HostAssignment, err error) {
	entries, err := Rows[MigrationEntry](r, Where(ByServer, servers...))
	if err != nil {
		return nil, err
	}
	var ids []ID
	for _, m := range entries {
		if m.Source == host && m.Dest == host && !m.Over() {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := Rows[MigrationRow](r, Where(ByID, ids...))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		both, err := row.Assignments()
		if err != nil {
			return nil, err
		}
		for _, a := range both {
			all = append(all, HostAssignment{row.Server, false, a})
		}
	}
	return all, nil
}
