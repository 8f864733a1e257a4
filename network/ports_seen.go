package network

import "slices"

// subnetsSeen refuses addresses of a subnet that the project of a spec does not see, as if
// there were no such subnet: what else is wrong with it would say that it exists.
func (s *PortSpec) subnetsSeen(r Reader) error {
	if s.GroupsOf == "" || s.AnyIPs {
		return nil
	}
	var named []ID
	for _, f := range s.FixedIPs {
		if f.Subnet != "" {
			named = append(named, f.Subnet)
		}
	}
	if len(named) == 0 {
		return nil
	}
	rows, err := Rows[SubnetRow](r, Where(ByID, named...))
	rows = slices.DeleteFunc(rows, func(row SubnetRow) bool { return row.Network == s.PortRow.Network || row.Project == s.GroupsOf })
	if err != nil || len(rows) == 0 {
		return err
	}
	nets, err := Rows[NetworkRow](r, Where(ByID, ids(rows, func(row *SubnetRow) ID { return row.Network })...))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !slices.ContainsFunc(nets, func(n NetworkRow) bool {
			return n.ID == row.Network && (n.Shared || n.Project == s.GroupsOf)
		}) {
			return NotFound("subnet", row.ID)
		}
	}
	return nil
}
