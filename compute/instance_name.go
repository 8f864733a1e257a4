package compute

import (
	"fmt"
	"regexp"
)

// InstanceName returns what hypervisors call a server.
func (rules Rules) InstanceName(row ServerRow) string {
	values := map[string]any{
		"": row.Number, "id": row.Number, "uuid": row.ID, "hostname": row.Hostname, "display_name": row.Name,
		"project_id": row.Project, "user_id": row.User,
	}
	return conversions.ReplaceAllStringFunc(rules.Settings.NameTemplate, func(text string) string {
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

// conversions match the directives of a name template: of the server's number, or of the name in
// parentheses.
var conversions = regexp.MustCompile(`%(?:\((\w+)\))?([-0 +]*\d*)([a-zA-Z%])`)
