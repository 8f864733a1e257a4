package differential

import (
	"regexp"
	"strings"
)

// route replaces the variable parts of a path by what they are.
func route(path string) string {
	seg := strings.Split(path, "/")
	names := map[string]string{
		"resource_providers": "{uuid}", "allocations": "{consumer}", "traits": "{name}",
		"resource_classes": "{name}", "inventories": "{class}",
	}
	for i := 2; i < len(seg); i++ {
		if name, ok := names[seg[i-1]]; ok && seg[i] != "" {
			seg[i] = name
		}
	}
	return strings.Join(seg, "/")
}

// What varies from one failure to the next of the same kind.
var varying = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}`), "UUID"},
	{regexp.MustCompile(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b`), "NAME"},
	{regexp.MustCompile(`\d+`), "N"},
}

const blurred = 160

// blur returns the gist of what one side answered.
func blur(s string) string {
	if _, own, found := strings.Cut(s, "\n\n"); found {
		s = strings.TrimSpace(own) // what precedes is the same for all errors of a status
	}
	s, _, _ = strings.Cut(s, dumpStart)
	for _, v := range varying {
		s = v.re.ReplaceAllString(s, v.to)
	}
	if len(s) > blurred {
		s = s[:blurred]
	}
	return strings.ToValidUTF8(s, "")
}
