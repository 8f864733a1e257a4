package network

import (
	"slices"
	"strings"
)

// ofNetwork reports whether a port is the network's own, as those of DHCP servers and
// routers are: it is trusted, and not filtered.
func ofNetwork(owner string) bool { return strings.HasPrefix(owner, "network:") }

// choseGroups returns the security groups of a new port: the requested ones, or the default group
// of its project when none are requested.
func (c *change) choseGroups(spec PortSpec) ([]ID, error) {
	id, err := c.defaultGroup(spec.Project)
	switch {
	case err != nil:
		return nil, err
	case ofNetwork(spec.DeviceOwner):
		return nil, nil
	case !spec.AnyGroups:
		return sorted(spec.SecurityGroups), c.groupsFit(spec)
	case !spec.PortSecurity:
		return nil, nil
	}
	return []ID{id}, nil
}

// groupsFit refuses groups that are not there, or that the port may not be in, and a
// mixture of those that track connections and those that do not.
func (c *change) groupsFit(spec PortSpec) error {
	if len(spec.SecurityGroups) == 0 {
		return nil
	}
	rows, err := Rows[SecurityGroupRow](c, Where(ByID, spec.SecurityGroups...))
	if err != nil {
		return err
	}
	found := make(map[ID]bool, len(rows))
	for _, g := range rows {
		found[g.ID] = spec.GroupsOf == "" || g.Project == spec.GroupsOf
	}
	var missing []string
	for _, id := range sorted(spec.SecurityGroups) {
		if !found[id] {
			missing = append(missing, string(id))
		}
	}
	if len(missing) > 0 {
		return NotFound("security_group", ID(strings.Join(missing, ", ")))
	}
	if slices.ContainsFunc(rows, func(g SecurityGroupRow) bool { return g.Stateful != rows[0].Stateful }) {
		return conflict("SecurityGroupConflict", "Error Cannot apply both stateful and stateless security groups on the same port "+
			"at the same time while attempting the operation.")
	}
	return nil
}

// changeGroups changes the security groups of a port, if that is requested.
func (c *change) changeGroups(p Port, spec PortSpec) error {
	groups := sorted(spec.SecurityGroups)
	if slices.Equal(groups, p.SecurityGroups) {
		return nil
	}
	if err := c.groupsFit(spec); err != nil {
		return err
	}
	if _, err := c.Remove(&PortGroupRow{}, Where(ByPort, p.ID)); err != nil {
		return err
	}
	return c.joinGroups(p.ID, groups)
}

// joinGroups puts a port that is in no group into some.
func (c *change) joinGroups(port ID, groups []ID) error {
	for _, id := range groups {
		if err := c.Insert(&PortGroupRow{Port: port, Group: id}); err != nil {
			return err
		}
	}
	return nil
}

// groupsByPort returns the groups that ports are in, sorted.
func groupsByPort(r Reader, ports []ID) (map[ID][]ID, error) {
	rows, err := Rows[PortGroupRow](r, Where(ByPort, ports...))
	by := make(map[ID][]ID, len(ports))
	for _, row := range rows {
		by[row.Port] = append(by[row.Port], row.Group)
	}
	return by, err
}
