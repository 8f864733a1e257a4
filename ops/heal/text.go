package heal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
)

// variables are the environment variables that have the URLs of services in the commands that
// [Curl] returns.
var variables = map[string]string{Placement: "PLACEMENT_URL", Compute: "COMPUTE_URL", Network: "NETWORK_URL"}

// Variable is the environment variable that has the URL of a service in commands.
func Variable(service string) string { return variables[service] }

// Curl returns the request as a command. The token is in OS_TOKEN, and the URL of the service in
// its variable.
func Curl(r cloud.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, `curl -X %s -H "X-Auth-Token: $OS_TOKEN"`, r.Method)
	if r.Microversion != "" {
		fmt.Fprintf(&b, " -H 'OpenStack-API-Version: %s %s'", r.Service, r.Microversion)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		fmt.Fprintf(&b, " -H %s", quote(name+": "+r.Headers[name]))
	}
	if r.Body != nil {
		fmt.Fprintf(&b, " -H 'Content-Type: application/json' -d %s", quote(string(r.Body)))
	}
	fmt.Fprintf(&b, ` "$%s%s"`, Variable(r.Service), r.Path)
	return b.String()
}

// quote quotes a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Describe returns the request for people: "PUT /allocations/… of placement (1.28)".
func Describe(r cloud.Request) string {
	text := fmt.Sprintf("%s %s of %s", r.Method, r.Path, r.Service)
	if r.Microversion != "" {
		text += " (" + r.Microversion + ")"
	}
	return text
}
