package servers

import (
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
)

// checkHostnames refuses hostnames of new servers of a project, or a new one of a server, that
// another server has, whatever its case, where the settings forbid that. Fault: InstanceExists.
func checkHostnames(c *lifecycle.Change, project string, hostnames ...string) error {
	if c.Settings.UniqueNames == "" {
		return nil
	}
	for i, name := range hostnames {
		hostnames[i] = strings.ToLower(name)
	}
	where := []compute.Match{compute.Where(compute.ByHostname, hostnames...)}
	if c.Settings.UniqueNames == compute.UniqueInProject {
		where = append(where, compute.Where(compute.ByProject, project))
	}
	rows, err := compute.Rows[compute.ServerSummary](c, where...)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, row := range rows {
		taken[row.LowerHostname()] = true
	}
	for _, name := range hostnames {
		if taken[name] {
			return compute.Conflict("InstanceExists", "Instance %s already exists.", name)
		}
		taken[name] = true
	}
	return nil
}

// InstanceName returns what hypervisors call a server.
func (s *Service) InstanceName(row compute.ServerRow) string { return s.rules.InstanceName(row) }
