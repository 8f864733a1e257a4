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

// conversions are what a template of names has of the server: of its number, or of what stands
// in parentheses.
var conversions = regexp.MustCompile(`%(?:\((\w+)\))?([-0 +]*\d*)([a-zA-Z%])`)

// InstanceName returns what hypervisors call a server.
func (s *Service) InstanceName(row ServerRow) string {
	values := map[string]any{
		"": row.Number, "id": row.Number, "uuid": row.ID, "hostname": row.Hostname, "display_name": row.Name,
		"project_id": row.Project, "user_id": row.User,
	}
	return conversions.ReplaceAllStringFunc(s.settings.NameTemplate, func(text string) string {
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

// oneOfItsKind refuses a server whose hostname another one has, whatever the case, if the
// operator wants that. Fault: InstanceExists.
func (c *change) oneOfItsKind(row *ServerRow) error {
	var where []Match
	switch c.settings.UniqueNames {
	case "":
		return nil
	case UniqueInProject:
		where = append(where, Where(ByProject, row.Project))
	}
	all, err := Rows[ServerRow](c, where...)
	if err != nil {
		return err
	}
	name := strings.ToLower(row.Hostname)
	for _, other := range all {
		if strings.ToLower(other.Hostname) == name {
			return conflict("InstanceExists", "Instance %s already exists.", name)
		}
	}
	return nil
}
