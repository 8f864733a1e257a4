package scenarios

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// query answers a question and returns the whole answer, as the files have it.
func (cl *cloud) query(t testing.TB, q question) *answer {
	t.Helper()
	c := cl.c
	if q.flat {
		c = c.At("1.28")
	}
	res, err := c.Do("GET", "/allocation_candidates?"+strings.Join(q.params, "&"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Status >= http.StatusInternalServerError {
		return &answer{fails: true}
	}
	if res.Status != http.StatusOK {
		return &answer{fault: detail(t, res.Body)}
	}
	var body struct {
		Requests []struct {
			Allocations map[string]struct{ Resources map[string]int64 }
			Mappings    map[string][]string
		} `json:"allocation_requests"`
		Summaries map[string]any `json:"provider_summaries"`
	}
	if err := json.Unmarshal(res.Body, &body); err != nil {
		t.Fatal(err)
	}
	a := &answer{}
	for _, r := range body.Requests {
		gives, suffixes := map[string]string{}, map[string][]string{}
		for id, part := range r.Allocations {
			var amounts []string
			for class, amount := range part.Resources {
				amounts = append(amounts, fmt.Sprintf("%s:%d", cl.plain(class), amount))
			}
			slices.Sort(amounts)
			gives[cl.names[id]] = " " + strings.Join(amounts, ",")
			suffixes[cl.names[id]] = nil
		}
		for suffix, ids := range r.Mappings {
			for _, id := range ids {
				suffixes[cl.names[id]] = append(suffixes[cl.names[id]], suffix)
			}
		}
		var pieces []string
		for name, list := range suffixes {
			pieces = append(pieces, name+gives[name]+groupsOf(list))
		}
		slices.Sort(pieces)
		a.candidates = append(a.candidates, strings.Join(pieces, " | "))
	}
	slices.Sort(a.candidates)
	described := map[string]bool{}
	for id := range body.Summaries {
		described[cl.names[id]] = true
	}
	a.summary = cl.inOrder(described)
	return a
}

// groupsOf returns the end of what a candidate says of a provider: the groups that it serves.
func groupsOf(suffixes []string) string {
	slices.Sort(suffixes)
	if len(suffixes) == 0 || len(suffixes) == 1 && suffixes[0] == "" {
		return ""
	}
	if suffixes[0] == "" {
		suffixes[0] = "and"
	}
	return " (" + strings.Join(suffixes, " ") + ")"
}

// detail returns the text of an error in one line.
func detail(t testing.TB, body []byte) string {
	t.Helper()
	var e struct{ Errors []struct{ Detail string } }
	if err := json.Unmarshal(body, &e); err != nil || len(e.Errors) == 0 {
		t.Fatalf("no error in the API's form: %v, %s", err, body)
	}
	text := strings.Join(strings.Fields(e.Errors[0].Detail), " ")
	return strings.TrimPrefix(text,
		"The server could not comply with the request since it is either malformed or otherwise incorrect. ")
}

// suffixed matches the suffixes in a candidate.
var suffixed = regexp.MustCompile(` \([^)]*\)`)

// like returns a candidate as an answer to q can say it: before 1.34 without its groups.
func (q question) like(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		if q.flat {
			list[i] = suffixed.ReplaceAllString(list[i], "")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// without returns the candidates of a list that are not in another.
func without(list, other []string) (rest []string) {
	for _, c := range list {
		if !slices.Contains(other, c) {
			rest = append(rest, c)
		}
	}
	return rest
}
