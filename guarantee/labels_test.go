package guarantee_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/guarantee"
)

// thePort is the port of the scenarios.
var thePort = guarantee.UUID{15: 1}

// groupOf returns the id of the group that rules make for thePort when they are listed
// in this order: "r1:r2".
func groupOf(t *testing.T, rules string) guarantee.UUID {
	t.Helper()
	var list []guarantee.Rule
	for id := range strings.SplitSeq(rules, ":") {
		list = append(list, guarantee.Rule{ID: id, Type: guarantee.MinimumBandwidth, Direction: guarantee.Egress})
	}
	ids := guarantee.GroupIDs(thePort, guarantee.MinimumBandwidth, list)
	switch {
	case slices.IsSortedFunc(list, func(a, b guarantee.Rule) int { return strings.Compare(a.ID, b.ID) }):
		return ids[0]
	case len(ids) == 2:
		return ids[1]
	}
	t.Fatalf("the group %q has more orders than two", rules)
	return guarantee.UUID{}
}

// providerOf returns the UUID of a provider that scenarios call by a short name.
func providerOf(name string) guarantee.UUID {
	return guarantee.Name{Driver: sriov, Hypervisor: name}.UUID()
}

// labels gives UUIDs the names that the scenarios have for them.
type labels map[guarantee.UUID]string

func (l labels) of(id guarantee.UUID) string {
	if name, ok := l[id]; ok {
		return name
	}
	return id.String()
}

// in replaces the UUIDs in a text by their names.
func (l labels) in(text string) string {
	for id, name := range l {
		text = strings.ReplaceAll(text, id.String(), name)
	}
	return text
}

// group makes the name of a group that rules of a type make known.
func (l labels) group(t guarantee.RuleType, rules []guarantee.Rule) {
	var ids []string
	for _, r := range rules {
		if r.Type == t && r.Class() != "" {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		l[guarantee.GroupID(thePort, t, rules)] = strings.Join(ids, ":")
	}
}

// rule reads "minimum_bandwidth egress 1000 r1".
func rule(t *testing.T, words []string) guarantee.Rule {
	t.Helper()
	if len(words) != 4 {
		t.Fatalf("a rule is its type, direction, amount and id, not %q", words)
	}
	n, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return guarantee.Rule{Type: guarantee.RuleType(words[0]), Direction: words[1], Amount: n, ID: words[3]}
}

func resources(amounts map[string]int64, format string) []string {
	var all []string
	for class, n := range amounts {
		all = append(all, fmt.Sprintf(format, class, n))
	}
	slices.Sort(all)
	return all
}
