package request_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
)

// params are the parameters that Nova would send for a query, sorted; group_policy
// where there is something for it to decide.
func params(q placement.Query) []string {
	var all []string
	add := func(name, value string) { all = append(all, name+"="+value) }
	suffixed := 0
	for _, g := range q.Groups {
		if g.Suffix != "" {
			suffixed++
		}
		groupParams(g, add)
	}
	if suffixed > 1 {
		add("group_policy", map[bool]string{true: "isolate", false: "none"}[q.Isolate])
	}
	if q.Limit > 0 {
		add("limit", fmt.Sprint(q.Limit))
	}
	if root := slices.Concat(q.RootRequired, not(q.RootForbidden)); len(root) > 0 {
		add("root_required", strings.Join(root, ","))
	}
	for _, s := range q.SameSubtrees {
		add("same_subtree", strings.Join(s, ","))
	}
	slices.Sort(all)
	return all
}

func groupParams(g placement.RequestGroup, add func(name, value string)) {
	var resources, required []string
	for _, r := range g.Resources {
		resources = append(resources, fmt.Sprintf("%s:%d", r.Class, r.Amount))
	}
	if len(resources) > 0 {
		add("resources"+g.Suffix, strings.Join(resources, ","))
	}
	for _, anyOf := range g.Required {
		if len(anyOf) > 1 {
			add("required"+g.Suffix, "in:"+strings.Join(anyOf, ","))
		} else {
			required = append(required, anyOf[0])
		}
	}
	if required = append(required, not(g.Forbidden)...); len(required) > 0 {
		add("required"+g.Suffix, strings.Join(required, ","))
	}
	for _, in := range g.MemberOf {
		add("member_of"+g.Suffix, "in:"+joined(in))
	}
	if len(g.NotMemberOf) > 0 {
		add("member_of"+g.Suffix, "!in:"+joined(g.NotMemberOf))
	}
	if g.InTree != "" {
		add("in_tree"+g.Suffix, string(g.InTree))
	}
}

func not(traits []string) []string {
	words := make([]string, len(traits))
	for i, t := range traits {
		words[i] = "!" + t
	}
	return words
}

func joined(ids []placement.UUID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	return strings.Join(words, ",")
}
