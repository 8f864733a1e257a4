package scenarios

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// A question is a line that requests candidates, in the words of the API.
type question struct {
	params  []string // encoded, in the order of the line: that of the groups counts
	groups  []*group
	flat    bool
	part    bool // the answer is a part of all candidates: a limit, a maximum, or both
	limit   int  // 0 for none
	maximum bool
	summary bool
}

// A group is what a question requests for one group.
type group struct {
	suffix    string
	resources []string
	traits    []string // required or forbidden one by one
	params    []string // the others, encoded
}

// read reads the words of a question.
func (cl *cloud) read(t testing.TB, words []string) question {
	t.Helper()
	q, policy := question{}, "none"
	var rest []string
	for _, word := range words {
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case name == "explain" || name == "breadth" || name == "sample":
		case name == "summary":
			q.summary = true
		case name == "isolate":
			policy = "isolate"
		case name == "flat":
			q.flat = true
		case name == "limit":
			q.part, q.limit = true, number(t, value)
		case name == "max":
			q.part, q.maximum = true, true
		case name == "same_subtree":
			rest = append(rest, param(name, value))
		case name == "root":
			rest = append(rest, param("root_required", cl.traitList(value)))
		case assigned:
			q.group(name).read(cl, value)
		default:
			q.group("").read(cl, word)
		}
	}
	for _, g := range q.groups {
		q.params = append(q.params, g.encoded()...)
	}
	if slices.ContainsFunc(q.groups, func(g *group) bool { return g.suffix != "" }) {
		q.params = append(q.params, param("group_policy", policy))
	}
	q.params = append(q.params, rest...)
	return q
}

func param(key, value string) string { return key + "=" + url.QueryEscape(value) }

// group returns the group with a suffix, which it adds when it is new.
func (q *question) group(suffix string) *group {
	for _, g := range q.groups {
		if g.suffix == suffix {
			return g
		}
	}
	g := &group{suffix: suffix}
	q.groups = append(q.groups, g)
	return g
}

// traitList translates a list of traits, some with an exclamation mark.
func (cl *cloud) traitList(list string) string {
	names := strings.Split(list, ",")
	for i, name := range names {
		if forbidden, ok := strings.CutPrefix(name, "!"); ok {
			names[i] = "!" + cl.wire(forbidden)
		} else {
			names[i] = cl.wire(name)
		}
	}
	return strings.Join(names, ",")
}

// read reads what stands between commas in a group.
func (g *group) read(cl *cloud, text string) {
	for item := range strings.SplitSeq(text, ",") {
		class, amount, resource := strings.Cut(item, ":")
		switch {
		case resource:
			g.resources = append(g.resources, cl.wire(class)+":"+amount)
		case item[0] == '^':
			g.params = append(g.params, param("in_tree"+g.suffix, uuid("provider ", item[1:])))
		case strings.HasPrefix(item, "!@"):
			g.params = append(g.params, param("member_of"+g.suffix, "!"+aggregates(item[2:])))
		case item[0] == '@':
			g.params = append(g.params, param("member_of"+g.suffix, aggregates(item[1:])))
		case strings.Contains(item, "|"):
			g.params = append(g.params, param("required"+g.suffix, "in:"+cl.traitList(strings.ReplaceAll(item, "|", ","))))
		default:
			g.traits = append(g.traits, cl.traitList(item))
		}
	}
}

// encoded returns the parameters of a group.
func (g *group) encoded() (params []string) {
	if len(g.resources) > 0 {
		params = append(params, param("resources"+g.suffix, strings.Join(g.resources, ",")))
	}
	if len(g.traits) > 0 {
		params = append(params, param("required"+g.suffix, strings.Join(g.traits, ",")))
	}
	return append(params, g.params...)
}

// aggregates translates names of aggregates, one of which is enough.
func aggregates(names string) string {
	list := strings.Split(names, "|")
	for i, name := range list {
		list[i] = uuid("aggregate ", name)
	}
	if len(list) == 1 {
		return list[0]
	}
	return "in:" + strings.Join(list, ",")
}
