package neutron

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// width is the greatest length of a line of an answer, if its content can be divided.
const width = 116

// layOut formats JSON for reading: short values in one line, the members of longer ones filled into
// lines, keys in order.
func layOut(v any) string { return layOutAt(v, "") }

func layOutAt(v any, indent string) string {
	flat := flatten(v)
	if len(indent)+len(flat) <= width {
		return flat
	}
	switch v := v.(type) {
	case map[string]any:
		members := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			members = append(members, flatten(key)+": "+layOutAt(v[key], indent+"  "))
		}
		return fill("{", "}", members, indent)
	case []any:
		members := make([]string, 0, len(v))
		for _, member := range v {
			members = append(members, layOutAt(member, indent+"  "))
		}
		return fill("[", "]", members, indent)
	}
	return flat
}

// fill writes members into lines. One that has several lines begins a new one.
func fill(open, end string, members []string, indent string) string {
	if len(members) == 1 {
		return open + strings.ReplaceAll(members[0], "\n  ", "\n") + end
	}
	lines := []string{""}
	for i, m := range members {
		if i < len(members)-1 {
			m += ","
		}
		last := lines[len(lines)-1]
		if last == "" || len(indent)+2+len(last)+1+len(m) > width || strings.Contains(m, "\n") ||
			strings.Contains(last, "\n") {
			lines = append(lines, m)
		} else {
			lines[len(lines)-1] = last + " " + m
		}
	}
	return open + "\n" + indent + "  " + strings.Join(lines[1:], "\n"+indent+"  ") + end
}

// flatten writes JSON in one line.
func flatten(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return spaced(strings.TrimSuffix(b.String(), "\n"))
}

// spaced adds a space after the commas and colons that are not in a string.
func spaced(text string) string {
	var b strings.Builder
	inString, escaped := false, false
	for _, c := range text {
		b.WriteRune(c)
		switch {
		case escaped:
			escaped = false
		case c == '\\' && inString:
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}
