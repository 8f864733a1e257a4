package keystone

import (
	"regexp"
	"strings"
)

// An accessRule allows one kind of request to the holder of a restricted application credential.
// Service is a type of the catalogue, such as "placement". Service and Method are compared with
// their case.
type accessRule struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

// permits refuses requests that a restricted token does not allow. Requests that a service forwards
// need not match: the rules are about the user's request to that service.
//
// The rules are those of keystonemiddleware's validate_allowed_request, but that the type of the
// service need not be in the token's catalogue, which is not requested. The error is a refusal.
func (t *token) permits(r Request, serviceType string) error {
	switch {
	case !t.restricted:
		return nil
	case serviceType == "":
		return refuse("the token has access rules, which need [keystone_authtoken] service_type")
	case r.ServiceToken != "":
		return nil
	}
	for _, rule := range t.rules {
		if rule.Service == serviceType && rule.Method == r.Method && pathPattern(rule.Path).MatchString(r.Path) {
			return nil
		}
	}
	return refuse("no access rule of the token of user %s allows %s %s", t.caller.UserID, r.Method, r.Path)
}

// wildcards are what is not literal in a rule's path.
var wildcards = regexp.MustCompile(`\{[^}]*\}|\*+`)

// pathPattern translates a rule's path: {name} and * match one part of a path, ** any number. The
// rest is literal. keystonemiddleware puts it into the expression as it is, so that a dot in a path
// matches any character there (_path_matches).
func pathPattern(path string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	i := 0
	for _, m := range wildcards.FindAllStringIndex(path, -1) {
		b.WriteString(regexp.QuoteMeta(path[i:m[0]]))
		if strings.HasPrefix(path[m[0]:m[1]], "**") {
			b.WriteString(".*")
		} else {
			b.WriteString("[^/]+")
		}
		i = m[1]
	}
	b.WriteString(regexp.QuoteMeta(path[i:]) + "$")
	return regexp.MustCompile(b.String())
}
