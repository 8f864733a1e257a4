package allocations_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/internal/golden"
)

// A calculation is a question about amounts:
//
//	held cn1 VCPU:1 MEMORY_MB:512      what a consumer has
//	other cn2 VCPU:1                   and what comes or goes
//	plus                               the question: plus, minus, add, with, lacking, concerned
type calculation struct {
	allocated, other allocations.Amounts
	verb             string
}

func newCalculation(t *testing.T, question []string) *calculation {
	t.Helper()
	b := &calculation{allocated: allocations.Amounts{}, other: allocations.Amounts{}}
	amounts := func(words []string) map[string]int64 {
		m := map[string]int64{}
		for _, w := range words {
			class, text, _ := strings.Cut(w, ":")
			var n int64
			if _, err := fmt.Sscan(text, &n); err != nil {
				t.Fatalf("%q: %v", w, err)
			}
			m[class] = n
		}
		return m
	}
	for _, line := range question {
		words := strings.Fields(line)
		switch words[0] {
		case "held":
			b.allocated[words[1]] = amounts(words[2:])
		case "other":
			b.other[words[1]] = amounts(words[2:])
		default:
			b.verb = words[0]
		}
	}
	return b
}

// TestAmountScenarios compares the answers with those in the file, and checks that no method
// modifies its arguments.
func TestAmountScenarios(t *testing.T) {
	golden.Answer(t, "testdata/amounts.txt", func(t *testing.T, question []string) []string {
		b, before := newCalculation(t, question), newCalculation(t, question)
		lines := b.answer(t)
		if diff := cmp.Diff([]any{before.allocated, before.other}, []any{b.allocated, b.other}); diff != "" {
			t.Errorf("%q changes what it was given:\n%s", question, diff)
		}
		return lines
	})
}

func (b *calculation) answer(t *testing.T) []string {
	t.Helper()
	var sum allocations.Amounts
	var err error
	switch b.verb {
	case "plus":
		sum = b.allocated.Plus(b.other)
	case "minus":
		sum, err = b.allocated.Minus(b.other)
	case "add":
		sum, err = b.allocated.Add(b.other)
	case "with":
		sum = b.allocated.With(b.other)
	case "lacking":
		sum = b.allocated.Lacking(b.other)
	case "concerned":
		sum = b.allocated.Concerned(b.other)
	default:
		t.Fatalf("unknown question %q", b.verb)
	}
	switch {
	case err != nil:
		return []string{"error " + err.Error()}
	case len(sum) == 0:
		return []string{"nothing"}
	}
	var lines []string
	for _, provider := range slices.Sorted(maps.Keys(sum)) {
		line := provider
		for _, class := range slices.Sorted(maps.Keys(sum[provider])) {
			line += fmt.Sprintf(" %s:%d", class, sum[provider][class])
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAddErrors(t *testing.T) {
	if _, err := (allocations.Amounts{}).Add(allocations.Amounts{"a": {"NET": 1}}); !errors.Is(
		err, allocations.ErrNotAllocated) {
		t.Errorf("Add to nothing = %v; want ErrNotAllocated", err)
	}
	_, err := allocations.Amounts{"a": {"NET": 1}}.Add(allocations.Amounts{"b": {"NET": 1}})
	if missing, ok := errors.AsType[*allocations.ProviderMissing](err); !ok || missing.Provider != "b" {
		t.Errorf("Add to a provider that is not there = %v; want ProviderMissing of b", err)
	}
}

// TestDifferencesCanBeTakenBack: a change and its inverse leave what there was, when nothing went
// away between, and the two parts of a difference are the whole.
func TestDifferencesCanBeTakenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allocated, diff := allocations.Amounts{}, allocations.Amounts{}
		for _, p := range []string{"p0", "p1"} {
			allocated[p], diff[p] = map[string]int64{}, map[string]int64{}
			for _, class := range []string{"A", "B"} {
				n := rapid.Int64Range(1, 9).Draw(t, "held")
				allocated[p][class], diff[p][class] = n, rapid.Int64Range(1-n, 9).Draw(t, "difference")
			}
		}
		existing, err := allocated.Add(diff)
		if err != nil {
			t.Fatal(err)
		}
		back, err := existing.Add(diff.Negated())
		if err != nil || !allocated.Equal(back) || allocated.Equal(existing) != diff.Equal(nil) {
			t.Errorf("%v plus %v = %v, and back %v, %v", allocated, diff, existing, back, err)
		}
		more, less := diff.Split()
		if !diff.Equal(more.Plus(less)) {
			t.Errorf("%v is split into %v and %v", diff, more, less)
		}
	})
}
