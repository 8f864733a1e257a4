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

// hostnames are those that a new server of a project must not have, in lower case, nil when any will
// do.
func (c *change) hostnames(project string) (map[string]bool, error) {
	var where []Match
	switch c.Settings.UniqueNames {
	case "":
		return nil, nil
	case UniqueInProject:
		where = append(where, Where(ByProject, project))
	}
	all, err := Rows[ServerSummary](c, where...)
	taken := make(map[string]bool, len(all))
	for _, row := range all {
		taken[strings.ToLower(row.Hostname)] = true
	}
	return taken, err
}
