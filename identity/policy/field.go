package policy

import (
	"regexp"
	"strings"
)

// Neutron's policies extend the language by a check
//
//	field:KIND:NAME=VALUE
//
// that compares the target's value NAME with VALUE; and by tenant_id as another name of the
// caller's project. A VALUE that begins with a tilde is a regular expression, which the target's
// value has to match from its beginning, though not to its end (re.match in neutron/policy.py).

// field evaluates such a check. One that is not of the form refuses. KIND is not examined. An
// expression that Go cannot compile refuses.
func (ev *evaluation) field(text string) bool {
	_, comparison, ok := strings.Cut(text, ":")
	name, want, match := strings.Cut(comparison, "=")
	value, known := ev.of(name)
	if !ok || !match || !known {
		return false
	}
	if pattern, ok := strings.CutPrefix(want, "~"); ok {
		matched, err := regexp.MatchString(`\A(?:`+pattern+`)`, value)
		return err == nil && matched
	}
	return value == want
}

// neutral returns the name of a credential without Neutron's older names.
func neutral(name string) string {
	if name == "tenant_id" {
		return "project_id"
	}
	return name
}
