package request_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/explain"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A question has a fixture as well:
//
//	provider cn1/br0 NET=1000 +CUSTOM_PHYSNET_0 @a1
//
// Its answer is why there is no candidate, as queries with fewer constraints say it, and how many
// they were; and then as an explanation says it: for all hosts, or with a line "leaves cn1" for the
// others.
func TestReasonScenarios(t *testing.T) {
	golden.Answer(t, "testdata/reasons.txt", func(t *testing.T, question []string) []string {
		w, rest := providers(question)
		leaves := ""
		rest = slices.DeleteFunc(rest, func(line string) bool {
			host, found := strings.CutPrefix(line, "leaves ")
			if found {
				leaves = host
			}
			return found
		})
		a := parse(t, rest)
		r, err := a.request()
		if err != nil {
			return failure(err)
		}
		requested := 0
		lines, err := r.Reasons(func(q placement.Query) (bool, error) {
			requested++
			return found(w, q)
		})
		if err != nil {
			return failure(err)
		}
		answer := a.named(lines)
		if leaves != "" {
			answer = nil // the queries know no host to leave
		} else {
			answer = append(answer, strconv.Itoa(requested)+" questions")
		}
		explained := func(q placement.Query) *explain.Explanation {
			e, err := explain.Explain(t.Context(), w, q, explain.Options{Host: leaves})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		for _, line := range a.named(r.Explained(explained(r.Query), explained)) {
			answer = append(answer, "explained: "+line)
		}
		return answer
	})
}

// providers makes a snapshot of the providers in a question, and returns the other lines.
func providers(question []string) (w *snapshot.Snapshot, rest []string) {
	b := placementtest.NewBuilder()
	for _, trait := range []string{
		"COMPUTE_STATUS_DISABLED", request.TraitNUMARoot, request.TraitPageSize + "SMALL", request.TraitPageSize + "LARGE",
	} {
		b.Trait(trait)
	}
	for _, line := range question {
		if words := strings.Fields(line); words[0] == "provider" {
			addProvider(b, words[1], words[2:])
		} else {
			rest = append(rest, line)
		}
	}
	return b.Snapshot(), rest
}

func addProvider(b *placementtest.Builder, name string, words []string) {
	p := b.Provider(name)
	for _, w := range words {
		class, n, _ := strings.Cut(w, "=")
		switch {
		case w[0] == '+':
			p.Traits(w[1:])
		case w[0] == '@':
			p.Aggregates(w[1:])
		default:
			total, _ := strconv.ParseInt(n, 10, 64)
			p.Inventory(class, total)
		}
	}
}

func found(w *snapshot.Snapshot, q placement.Query) (bool, error) {
	r, err := candidates.Search(w, q)
	if err != nil {
		return false, err
	}
	for range r.All() {
		return true, nil
	}
	return false, nil
}

func TestReasonsReturnsWhatFails(t *testing.T) {
	r, err := request.New(request.Spec{Flavor: extraspecs.Flavor{VCPUs: 1}}, request.DefaultSettings(), nil)
	if err != nil {
		t.Fatal(err)
	}
	away := errors.New("placement is away")
	if _, err := r.Reasons(func(placement.Query) (bool, error) { return false, away }); !errors.Is(err, away) {
		t.Errorf("Reasons() = %v, want %v", err, away)
	}
}

// FuzzExtraSpecs holds that any extra spec makes a query to
// placement, or an error: no amount that is not positive, no group twice, no group that
// requests nothing, and no trait of a group that is none of its own.
func FuzzExtraSpecs(f *testing.F) {
	for _, w := range someSpecs {
		name, v, _ := strings.Cut(w, "=")
		f.Add(name, v, "group_policy", "none")
		f.Add(name, v, "hw:numa_nodes", "2")
		f.Add(name, v, "hw:cpu_policy", "dedicated")
	}
	f.Fuzz(func(t *testing.T, name, value, other, its string) {
		s := request.Spec{Flavor: extraspecs.Flavor{
			Name: "m1", VCPUs: 2, MemoryMB: 256, RootGB: 1, Specs: map[string]string{name: value, other: its},
		}}
		numa := request.DefaultSettings()
		numa.NUMA, numa.NonNUMA = true, true
		for _, settings := range []request.Settings{request.DefaultSettings(), numa} {
			r, err := request.New(s, settings, nil)
			if err != nil {
				continue
			}
			for _, q := range append([]placement.Query{r.Query}, r.Fallbacks()...) {
				seen := map[string]bool{}
				for _, g := range q.Groups {
					if seen[g.Suffix] || len(g.Resources)+len(g.Required)+len(g.Forbidden) == 0 {
						t.Errorf("%q: group %q comes twice or requests nothing", s.Flavor.Specs, g.Suffix)
					}
					seen[g.Suffix] = true
					for _, a := range g.Resources {
						if a.Amount <= 0 {
							t.Errorf("%q: group %q requests %+v", s.Flavor.Specs, g.Suffix, a)
						}
					}
				}
			}
		}
	})
}
