package compute

import (
	"fmt"
	"regexp"
	"strings"
)

// Where a server's hostname must be the only one of its kind.
const (
	UniqueInProject  = "project"
	UniqueEverywhere = "global"
)

// conversions match the directives of a name template: of the server's number, or of the name in
// parentheses.
var conversions = regexp.MustCompile(`%(?:\((\w+)\))?([-0 +]*\d*)([a-zA-Z%])`)

// InstanceName returns what hypervisors call a server.
func (s *Service) InstanceName(row ServerRow) string {
	values := map[string]any{
		"": row.Number, "id": row.Number, "uuid": row.ID, "hostname": row.Hostname, "display_name": row.Name,
		"project_id": row.Project, "user_id": row.User,
	}
	return conversions.ReplaceAllStringFunc(s.rules.Settings.NameTemplate, func(text string) string {
		parts := conversions.FindStringSubmatch(text)
		field, width, verb := parts[1], parts[2], parts[3]
		switch verb {
		case "%":
			return "%"
		case "s":
			verb = "v"
		}
		return fmt.Sprintf("%"+width+verb, values[field])
	})
}

// checkHostnames refuses hostnames of new servers of a project, or a new one of a server, that another server
// has, whatever its case, where the settings forbid that. Fault: InstanceExists.
func (c *change) checkHostnames(project string, hostnames ...string) error {
	if c.Settings.UniqueNames == "" {
		return nil
	}
	for i, name := range hostnames {
		hostnames[i] = strings.ToLower(name)
	}
	where := []Match{Where(ByHostname, hostnames...)}
	if c.Settings.UniqueNames == UniqueInProject {
		where = append(where, Where(ByProject, project))
	}
	rows, err := Rows[ServerSummary](c, where...)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, row := range rows {
		taken[row.LowerHostname()] = true
	}
	for _, name := range hostnames {
		if taken[name] {
			return conflict("InstanceExists", "Instance %s already exists.", name)
		}
		taken[name] = true
	}
	return nil
}
