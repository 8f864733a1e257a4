package selection_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/network/guarantee"
)

// A calculation is a question about amounts:
//
//	held cn1 VCPU:1 MEMORY_MB:512      what is allocated to a server
//	other cn2 VCPU:1                   and what comes or goes
//	plus                               what is asked: plus, minus
type calculation struct {
	held, other guarantee.Amounts
	verb        string
}

func newCalculation(t *testing.T, question []string) *calculation {
	b := &calculation{held: guarantee.Amounts{}, other: guarantee.Amounts{}}
	c := &cloud{t: t}
	amounts := func(words []string) map[string]int64 {
		m := map[string]int64{}
		for _, w := range words {
			class, n, _ := strings.Cut(w, ":")
			m[class] = c.number(n)
		}
		return m
	}
	for _, line := range question {
		words := strings.Fields(line)
		switch words[0] {
		case "held":
			b.held[words[1]] = amounts(words[2:])
		case "other":
			b.other[words[1]] = amounts(words[2:])
		default:
			b.verb = words[0]
		}
	}
	return b
}

// The answer is what is allocated to the server then.
func TestAmountScenarios(t *testing.T) {
	runScenarios(t, "testdata/claims.txt", func(t *testing.T, question []string) []string {
		b := newCalculation(t, question)
		before := newCalculation(t, question)
		lines := b.ask(t)
		if diff := cmp.Diff([]any{before.held, before.other}, []any{b.held, b.other}); diff != "" {
			t.Errorf("%q changes what it was given:\n%s", question, diff)
		}
		return lines
	})
}

func (b *calculation) ask(t *testing.T) []string {
	var sum guarantee.Amounts
	var err error
	switch b.verb {
	case "plus":
		sum = selection.Plus(b.held, b.other)
	case "minus":
		sum, err = selection.Minus(b.held, b.other)
	default:
		t.Fatalf("unknown question %q", b.verb)
	}
	switch {
	case err != nil:
		return []string{"error " + err.Error()}
	case len(sum) == 0:
		return []string{"nothing"}
	}
	return strings.Split(selection.Candidate{Amounts: sum}.String(), " | ")
}
