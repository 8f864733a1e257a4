package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// normalize makes the output of a command comparable: UUIDs that no command named become crosses,
// blank lines are dropped, and a JSON list becomes one row a line, sorted.
func (s *script) normalize(out string) string {
	out = requestID.ReplaceAllString(out, "req-x")
	out = schemaText.ReplaceAllString(out, "$1 …  On instance")
	out = uuids.ReplaceAllStringFunc(out, func(u string) string {
		if s.known[u] {
			return u
		}
		return strings.Map(cross, u)
	})
	if rows, ok := jsonRows(out); ok {
		return strings.Join(rows, "\n")
	}
	var lines []string
	for line := range strings.Lines(out) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

var requestID = regexp.MustCompile(`req-[0-9a-f-]{36}`)

// schemaText is the rule that a validation error quotes: its keys are in an
// order that depends on the release of Python's jsonschema.
var schemaText = regexp.MustCompile(`(in schema\S*:).*  On instance`)

func cross(r rune) rune {
	if r == '-' {
		return r
	}
	return 'x'
}

// jsonRows renders a JSON list of objects. Its second result is false if out
// is something else.
func jsonRows(out string) ([]string, bool) {
	if !strings.HasPrefix(out, "[") {
		return nil, false
	}
	var list []map[string]any
	if json.Unmarshal([]byte(out), &list) != nil {
		return nil, false
	}
	if len(list) == 0 {
		return []string{"[]"}, true
	}
	if _, numbered := list[0]["#"]; numbered {
		return candidates(list), true
	}
	return sortedRows(list), true
}

// candidates renders the rows of allocation candidates: those of one candidate stay together, and
// the numbers, which depend on the order of the answer, are dropped.
func candidates(list []map[string]any) []string {
	byNumber := map[string][]map[string]any{}
	for _, row := range list {
		n := fmt.Sprint(row["#"])
		delete(row, "#")
		byNumber[n] = append(byNumber[n], row)
	}
	var all []string
	for _, rows := range byNumber {
		all = append(all, "candidate\n"+strings.Join(sortedRows(rows), "\n"))
	}
	slices.Sort(all)
	return all
}

func sortedRows(list []map[string]any) []string {
	var rows []string
	for _, row := range list {
		for k, v := range row {
			row[k] = sortedParts(v)
		}
		rows = append(rows, compact(row))
	}
	slices.Sort(rows)
	return rows
}

// sortedParts orders what the client joined with commas.
func sortedParts(v any) any {
	s, ok := v.(string)
	if !ok || strings.Contains(s, " ") {
		return v
	}
	parts := strings.Split(s, ",")
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// compact renders a value as JSON with its keys in order.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}
