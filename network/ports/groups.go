package ports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/security"
)

// ownedByNetwork reports whether a port is the network's own, as those of DHCP servers and
// routers are: it is trusted, and not filtered.
func ownedByNetwork(owner string) bool { return strings.HasPrefix(owner, "network:") }

// groupsOfNewPort returns the security groups of a new port: the requested ones, or the default
// group of its project when none are requested.
func groupsOfNewPort(tx *network.Tx, spec Spec) ([]network.ID, error) {
	id, err := security.DefaultGroupID(tx, spec.Project)
	switch {
	case err != nil:
		return nil, err
	case ownedByNetwork(spec.DeviceOwner):
		return nil, nil
	case !spec.AnyGroups:
		return sorted(spec.SecurityGroups), checkGroups(tx, spec)
	case !spec.PortSecurity:
		return nil, nil
	}
	return []network.ID{id}, nil
}

// checkGroups refuses groups that are not there, or that the port may not be in, and a
// mixture of those that track connections and those that do not.
func checkGroups(tx *network.Tx, spec Spec) error {
	if len(spec.SecurityGroups) == 0 {
		return nil
	}
	rows, err := network.Rows[network.SecurityGroupRow](tx, network.Where(network.ByID, spec.SecurityGroups...))
	if err != nil {
		return err
	}
	found := make(map[network.ID]bool, len(rows))
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
		return network.NotFound("security_group", network.ID(strings.Join(missing, ", ")))
	}
	if slices.ContainsFunc(rows, func(g network.SecurityGroupRow) bool { return g.Stateful != rows[0].Stateful }) {
		return network.Conflict("SecurityGroupConflict",
			"Error Cannot apply both stateful and stateless security groups on the same port "+
				"at the same time while attempting the operation.")
	}
	return nil
}

// changeGroups changes the security groups of a port, if that is requested.
func changeGroups(tx *network.Tx, p network.Port, spec Spec) error {
	groups := sorted(spec.SecurityGroups)
	if slices.Equal(groups, p.SecurityGroups) {
		return nil
	}
	if err := checkGroups(tx, spec); err != nil {
		return err
	}
	if _, err := tx.Remove(&network.PortGroupRow{}, network.Where(network.ByPort, p.ID)); err != nil {
		return err
	}
	return joinGroups(tx, p.ID, groups)
}

// joinGroups puts a port that is in no group into some.
func joinGroups(tx *network.Tx, port network.ID, groups []network.ID) error {
	for _, id := range groups {
		if err := tx.Insert(&network.PortGroupRow{Port: port, Group: id}); err != nil {
			return err
		}
	}
	return nil
}

// sorted returns values in their order.
func sorted[V cmp.Ordered](values []V) []V { return slices.Sorted(slices.Values(values)) }
