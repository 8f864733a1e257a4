package selection_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/network/guarantee"
)

// A calculation is a question about amounts:
//
//	held cn1 VCPU:1 MEMORY_MB:512      what is allocated to a server
//	other cn2 VCPU:1                   and what comes or goes
//	plus                               what is asked: plus, minus, doubled
//
// or about mappings:
//
//	group g1 NET:1000 CUSTOM_A         what a port asks for
//	traits cn1/br0 CUSTOM_A CUSTOM_B   of a provider
type calculation struct {
	held, other guarantee.Amounts
	groups      []request.Group
	traits      map[string][]string
	verb        string
}

func newCalculation(t *testing.T, question []string) *calculation {
	b := &calculation{held: guarantee.Amounts{}, other: guarantee.Amounts{}, traits: map[string][]string{}, verb: "match"}
	c := &cloud{t: t}
	amounts := func(words []string) (m map[string]int64, rest []string) {
		m = map[string]int64{}
		for _, w := range words {
			if class, n, ok := strings.Cut(w, ":"); ok {
				m[class] = c.number(n)
			} else {
				rest = append(rest, w)
			}
		}
		return m, rest
	}
	for _, line := range question {
		words := strings.Fields(line)
		switch words[0] {
		case "held":
			b.held[words[1]], _ = amounts(words[2:])
		case "other":
			b.other[words[1]], _ = amounts(words[2:])
		case "group":
			g := request.Group{ID: words[1]}
			g.Resources, g.Required = amounts(words[2:])
			if i := slices.IndexFunc(g.Required, func(t string) bool { return strings.Contains(t, "|") }); i >= 0 {
				g.AnyOf = strings.Split(g.Required[i], "|")
				g.Required = slices.Delete(g.Required, i, i+1)
			}
			b.groups = append(b.groups, g)
		case "traits":
			b.traits[words[1]] = words[2:]
		default:
			b.verb = words[0]
		}
	}
	return b
}

// The answer is what is allocated to the server then, or which provider serves which group.
func TestAmountScenarios(t *testing.T) {
	for _, file := range []string{"testdata/claims.txt", "testdata/mappings.txt"} {
		runScenarios(t, file, func(t *testing.T, question []string) []string {
			b := newCalculation(t, question)
			before := newCalculation(t, question)
			lines := b.ask()
			if diff := cmp.Diff([]any{before.held, before.other}, []any{b.held, b.other}); diff != "" {
				t.Errorf("%q changes what it was given:\n%s", question, diff)
			}
			return lines
		})
	}
}

func (b *calculation) ask() []string {
	var sum guarantee.Amounts
	var err error
	switch b.verb {
	case "plus":
		sum = selection.Plus(b.held, b.other)
	case "minus":
		sum, err = selection.Minus(b.held, b.other)
	case "doubled":
		sum = selection.Doubled(b.held, selection.Candidate{Amounts: b.other})
	default:
		return b.match()
	}
	switch {
	case err != nil:
		return []string{"error " + err.Error()}
	case len(sum) == 0:
		return []string{"nothing"}
	}
	return strings.Split(selection.Candidate{Amounts: sum}.String(), " | ")
}

func (b *calculation) match() []string {
	mappings, ok := selection.Match(b.groups, b.held, b.traits)
	if !ok {
		return []string{"none"}
	}
	var lines []string
	for _, g := range b.groups {
		line := g.ID
		for _, p := range mappings[g.ID] {
			line += " " + string(p)
		}
		lines = append(lines, line)
	}
	return lines
}
