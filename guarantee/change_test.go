package guarantee_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/golden"
)

// A question is a change of a bound port's policy:
//
//	old minimum_bandwidth egress 1000 r1         a rule of the former policy
//	new minimum_bandwidth egress 2000 r2         one of the policy that it comes to
//	serves r1 eth0                               the profile: group, provider
//	serves-old eth0                              the profile in the old format
//	holds eth0 NET_BW_EGR_KILOBIT_PER_SEC=1000   what the server holds
//
// Groups are named after their rules in the order in which they were hashed. The
// answer has the plan, and what the server holds after it.
func TestChangeScenarios(t *testing.T) {
	golden.Answer(t, "testdata/change.txt", func(t *testing.T, question []string) []string {
		c := changing{
			change: guarantee.PolicyChange{Port: thePort}, holds: allocations.Amounts{}, names: labels{thePort: "port"},
		}
		for _, line := range question {
			c.line(t, strings.Fields(line))
		}
		for _, rules := range [][]guarantee.Rule{c.change.Old, c.change.New} {
			c.names.group(guarantee.MinimumBandwidth, rules)
			c.names.group(guarantee.MinimumPacketRate, rules)
		}
		return c.answer()
	})
}

type changing struct {
	change guarantee.PolicyChange
	holds  allocations.Amounts
	names  labels
}

func (c *changing) line(t *testing.T, words []string) {
	switch words[0] {
	case "old":
		c.change.Old = append(c.change.Old, rule(t, words[1:]))
	case "new":
		c.change.New = append(c.change.New, rule(t, words[1:]))
	case "serves":
		if c.change.Allocation.Groups == nil {
			c.change.Allocation.Groups = map[guarantee.UUID]guarantee.UUID{}
		}
		group := groupOf(t, words[1])
		c.names[group] = words[1]
		c.change.Allocation.Groups[group] = c.provider(words[2])
	case "serves-old":
		c.change.Allocation.Old = c.provider(words[1])
	case "holds":
		allocated := map[string]int64{}
		for _, w := range words[2:] {
			class, n, _ := strings.Cut(w, "=")
			allocated[class], _ = strconv.ParseInt(n, 10, 64)
		}
		c.holds[c.provider(words[1]).String()] = allocated
	default:
		t.Fatalf("unknown line %q", words)
	}
}

func (c *changing) provider(name string) guarantee.UUID {
	id := providerOf(name)
	c.names[id] = name
	return id
}

func (c *changing) answer() []string {
	plan, err := c.change.Plan()
	if err != nil {
		return []string{"error " + c.names.in(err.Error())}
	}
	lines := c.amounts("differ ", plan.Differences, "%s=%+d")
	for _, group := range slices.SortedFunc(maps.Keys(plan.Allocation.Groups), func(a, b guarantee.UUID) int {
		return strings.Compare(c.names.of(a), c.names.of(b))
	}) {
		lines = append(lines, "serves "+c.names.of(group)+" "+c.names.of(plan.Allocation.Groups[group]))
	}
	if plan.Allocation.Old != (guarantee.UUID{}) {
		lines = append(lines, "serves-old "+c.names.of(plan.Allocation.Old))
	}
	if plan.Allocation.Empty() {
		lines = append(lines, "serves nothing")
	}
	if !plan.Rewrite {
		lines = append(lines, "the profile is left alone")
	}
	for _, w := range plan.Warnings {
		lines = append(lines, "warning "+c.names.in(w))
	}
	return append(lines, c.after(plan.Differences)...)
}

func (c *changing) after(differences allocations.Amounts) []string {
	if len(differences) == 0 {
		return nil
	}
	allocated, err := c.holds.Add(differences)
	if err != nil {
		return []string{"then error " + c.names.in(err.Error())}
	}
	return c.amounts("then holds ", allocated, "%s=%d")
}

func (c *changing) amounts(word string, a allocations.Amounts, format string) []string {
	var lines []string
	for provider, allocated := range a {
		lines = append(lines, word+c.names.in(provider)+" "+strings.Join(resources(allocated, format), " "))
	}
	slices.Sort(lines)
	return lines
}

func TestPlanErrors(t *testing.T) {
	rate := func(direction, id string) []guarantee.Rule {
		return []guarantee.Rule{{ID: id, Type: guarantee.MinimumPacketRate, Direction: direction, Amount: 1}}
	}
	serving := guarantee.ProfileAllocation{Groups: map[guarantee.UUID]guarantee.UUID{groupOf(t, "p1"): providerOf("cn1")}}
	c := guarantee.PolicyChange{
		Port: thePort, Old: rate(guarantee.AnyDirection, "p1"), New: rate(guarantee.Egress, "p2"), Allocation: serving,
	}
	if _, err := c.Plan(); !errors.Is(err, guarantee.ErrDirection) {
		t.Errorf("Plan from any to egress = %v; want ErrDirection", err)
	}
	c.Old = rate(guarantee.Egress, "p3")
	_, err := c.Plan()
	want := &guarantee.UnknownGroup{
		Port: thePort, Types: []guarantee.RuleType{guarantee.MinimumPacketRate},
		Providers: []guarantee.UUID{providerOf("cn1")},
	}
	if got, ok := errors.AsType[*guarantee.UnknownGroup](err); !ok || !cmp.Equal(got, want) {
		t.Errorf("Plan with another group = %v; want %v", err, want)
	}
}
