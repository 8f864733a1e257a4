package fuzzing

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A route is a method of a path of an API, and the templates of its requests.
type route struct {
	api, method, path string

	bodies  []bodyTemplate
	queries [][]param
}

func (r *route) String() string { return r.api + " " + r.method + " " + r.path }

// A bodyTemplate is the template of a body, at some minor versions. One without a tree is no body.
type bodyTemplate struct {
	since, until int // until 0 is any
	tree         *node
}

// A param is a name of a query and the template of its value. One that begins with "$" is a word
// for several.
type param struct{ name, value string }

//go:embed testdata/api.txt
var apiText string

// readTable takes the table of the routes apart.
func readTable(text string) (all []*route, err error) {
	var api, path string
	for i, line := range strings.Split(text, "\n") {
		rest := strings.TrimSpace(line)
		switch {
		case rest == "" || rest[0] == '#':
		case line[0] == '/':
			path = rest
		case line[0] != ' ':
			api, path = rest, ""
		default:
			if all, err = addLine(all, api, path, rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	return all, nil
}

var versionsBefore = regexp.MustCompile(`^@([0-9]+)-([0-9]+) *`)

// addLine adds the methods of a path in a line.
func addLine(all []*route, api, path, line string) ([]*route, error) {
	end := strings.IndexAny(line, "?@{[")
	if end < 0 {
		end = len(line)
	}
	methods, rest := strings.Fields(line[:end]), line[end:]
	body := bodyTemplate{}
	if m := versionsBefore.FindStringSubmatch(rest); m != nil {
		body.since, _ = strconv.Atoi(m[1])
		body.until, _ = strconv.Atoi(m[2])
		rest = rest[len(m[0]):]
	}
	var query []param
	if text, cur := strings.CutPrefix(rest, "?"); cur {
		for one := range strings.FieldsSeq(text) {
			name, value, _ := strings.Cut(one, "=")
			query = append(query, param{name, strings.ReplaceAll(value, "@", " ")})
		}
	} else if rest != "" {
		var err error
		if body.tree, err = parse(rest); err != nil {
			return nil, err
		}
	}
	for _, method := range methods {
		i := slices.IndexFunc(all, func(r *route) bool { return r.api == api && r.path == path && r.method == method })
		if i < 0 {
			i = len(all)
			all = append(all, &route{api: api, method: method, path: path})
		}
		if query != nil {
			all[i].queries = append(all[i].queries, query)
		}
		if body != (bodyTemplate{}) {
			all[i].bodies = append(all[i].bodies, body)
		}
	}
	return all, nil
}
