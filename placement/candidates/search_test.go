package candidates_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// wide is one host with children that offer a unit of PGPU each.
func wide(children int) *placementtest.Builder {
	b := placementtest.NewBuilder()
	b.Provider("cn").Inventory("VCPU", 64)
	for i := range children {
		b.Provider(fmt.Sprintf("cn/gpu%d", i)).Inventory("PGPU", 1)
	}
	return b
}

// pieces requests so many groups of so much of a class.
func pieces(groups int, class string, amount int64) placement.Query {
	var q placement.Query
	for i := range groups {
		q.Groups = append(q.Groups, placement.RequestGroup{
			Suffix:    fmt.Sprintf("_%d", i),
			Resources: []placement.ClassAmount{{Class: class, Amount: amount}},
		})
	}
	return q
}

func search(t testing.TB, w *snapshot.Snapshot, q placement.Query) *candidates.Result {
	t.Helper()
	r, err := candidates.Search(w, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func count(r *candidates.Result) int {
	n := 0
	for range r.All() {
		n++
	}
	return n
}

func TestFaultsAreInvalid(t *testing.T) {
	w := wide(1).Snapshot()
	for _, q := range []placement.Query{
		pieces(1, "BANANA", 1),
		{RootRequired: []string{"CUSTOM_PONY"}},
	} {
		_, err := candidates.Search(w, q)
		if kind, _ := fault.Of(err); kind != fault.Invalid {
			t.Errorf("Search(%+v): fault of kind %v, want Invalid (%v)", q, kind, err)
		}
		if _, explained := candidates.Count(t.Context(), w, q); explained == nil || explained.Error() != err.Error() {
			t.Errorf("Count(%+v) gives %v, Search %v", q, explained, err)
		}
	}
}

func TestQueryWithoutGroupsHasNoCandidates(t *testing.T) {
	for _, q := range []placement.Query{{}, {Groups: []placement.RequestGroup{{}}}} {
		if n := count(search(t, wide(1).Snapshot(), q)); n != 0 {
			t.Errorf("Search(%+v) has %d candidates", q, n)
		}
	}
}

func TestEightOverEight(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		q := pieces(8, "PGPU", 1)
		q.Isolate = isolate
		if n := count(search(t, wide(8).Snapshot(), q)); n != 40320 {
			t.Errorf("isolate=%v: %d candidates, want 8!", isolate, n)
		}
	}
}

// The searches below have no answer and a space that could never be gone
// through; they end because the search sees that the requests cannot be matched.
func TestHopelessSearchesEnd(t *testing.T) {
	plenty := placementtest.NewBuilder()
	plenty.Provider("cn")
	for i := range 15 {
		plenty.Provider(fmt.Sprintf("cn/nic%d", i)).Inventory("CUSTOM_NET", 1000)
	}
	halves := placementtest.NewBuilder()
	halves.Provider("cn")
	for i := range 15 {
		halves.Provider(fmt.Sprintf("cn/gpu%d", i)).Inventory("PGPU", 3)
	}
	choosy := isolated(pieces(16, "CUSTOM_NET", 1))
	for i := range choosy.Groups[8:] {
		choosy.Groups[8+i].Required = [][]string{{"CUSTOM_RARE"}}
	}
	rare := plenty.Clone()
	rare.Provider("cn/rare").Inventory("CUSTOM_NET", 1).Traits("CUSTOM_RARE")
	nodes := placementtest.NewBuilder()
	nodes.Provider("cn")
	for i := range 2 {
		numa := fmt.Sprintf("cn/numa%d", i)
		nodes.Provider(numa).Traits("CUSTOM_NUMA")
		for j := range 14 {
			nodes.Provider(fmt.Sprintf("%s/gpu%d", numa, j)).Inventory("PGPU", 1)
		}
	}
	nearby := pieces(15, "PGPU", 1)
	nearby.Groups = append(nearby.Groups, placement.RequestGroup{Suffix: "_N", Required: [][]string{{"CUSTOM_NUMA"}}})
	nearby.SameSubtrees = [][]string{{}}
	for _, g := range nearby.Groups {
		nearby.SameSubtrees[0] = append(nearby.SameSubtrees[0], g.Suffix)
	}
	scissors := placementtest.NewBuilder()
	scissors.Provider("cn")
	for i := range 14 {
		scissors.Provider(fmt.Sprintf("cn/nic%d", i)).Inventory("VCPU", int64(1+15*(i%2))).Inventory("PGPU",
			int64(16-15*(i%2)))
	}
	both := pieces(15, "VCPU", 1)
	for i := range both.Groups {
		both.Groups[i].Resources = append(both.Groups[i].Resources, placement.ClassAmount{Class: "PGPU", Amount: 1})
	}
	for name, c := range map[string]struct {
		b *placementtest.Builder
		q placement.Query
	}{
		"EnoughOfEachButNotOfBoth":    {scissors, both},
		"MoreGroupsThanInASubtree":    {nodes, nearby},
		"MoreUnitsThanThereAre":       {wide(15), pieces(16, "PGPU", 1)},
		"MoreGroupsThanProviders":     {plenty, isolated(pieces(16, "CUSTOM_NET", 1))},
		"PiecesThatLeaveUselessParts": {halves, pieces(16, "PGPU", 2)},
		"ManyGroupsForOneProvider":    {rare, choosy},
	} {
		t.Run(name, func(t *testing.T) {
			if n := count(search(t, c.b.Snapshot(), c.q)); n != 0 {
				t.Errorf("%d candidates, want none", n)
			}
		})
	}
}

// Breadth first, no tree may be two candidates ahead of one that still has some.
func TestBreadthFirstIsBalanced(t *testing.T) {
	b := placementtest.NewBuilder()
	sizes := []int{3, 1, 0, 2, 5}
	for i, size := range sizes {
		cn := fmt.Sprintf("cn%d", i)
		b.Provider(cn)
		for j := range size {
			b.Provider(fmt.Sprintf("%s/gpu%d", cn, j)).Inventory("PGPU", 1)
		}
	}
	w, q := b.Snapshot(), pieces(1, "PGPU", 1)
	q.BreadthFirst = true
	for n := 1; n <= 11; n++ {
		q.Limit, q.Max = n, 0
		if n%2 == 0 {
			q.Limit, q.Max = 0, n
		}
		got := make([]int, len(sizes))
		for c := range search(t, w, q).All() {
			got[c.Anchor.Index()]++
		}
		for i, size := range sizes {
			if got[i] < size && got[i]+1 < slices.Max(got) {
				t.Errorf("the first %d are taken %v times from trees that have %v", n, got, sizes)
			}
		}
	}
}

func TestStoppingEarlyIsCheap(t *testing.T) {
	q := pieces(20, "PGPU", 1)
	n := 0
	for range search(t, wide(20).Snapshot(), q).All() {
		if n++; n == 10 {
			break
		}
	}
	q.Limit = 10
	if n := count(search(t, wide(20).Snapshot(), q)); n != 10 {
		t.Errorf("%d candidates with limit 10", n)
	}
}

func TestResultCanBeRangedOverAgainAndAtOnce(t *testing.T) {
	b := wide(4)
	w := b.Snapshot()
	q := pieces(3, "PGPU", 1)
	r := search(t, w, q)
	want := allKeys(w, r)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if diff := cmp.Diff(want, allKeys(w, r)); diff != "" {
				t.Errorf("again (-first +again):\n%s", diff)
			}
		})
	}
	wg.Wait()
}

func allKeys(w *snapshot.Snapshot, r *candidates.Result) (list []string) {
	for c := range r.All() {
		list = append(list, placementtest.Key(w, r, c))
	}
	return list
}

func TestResultNamesGroupsAndClasses(t *testing.T) {
	b := wide(1)
	q := placement.Query{Groups: []placement.RequestGroup{
		{Suffix: "_B", Resources: []placement.ClassAmount{{Class: "PGPU", Amount: 1}}},
		{Resources: []placement.ClassAmount{{Class: "PGPU", Amount: 1}, {Class: "VCPU", Amount: 1}}},
	}}
	r := search(t, b.Snapshot(), q)
	if diff := cmp.Diff([]string{"_B", ""}, r.Groups()); diff != "" {
		t.Errorf("groups:\n%s", diff)
	}
	if diff := cmp.Diff([]placement.ClassID{b.Class("VCPU"), b.Class("PGPU")}, r.Classes()); diff != "" {
		t.Errorf("classes:\n%s", diff)
	}
}

func TestCount(t *testing.T) {
	b := wide(2)
	b.Provider("other").Inventory("VCPU", 1)
	q := pieces(3, "PGPU", 1)
	q.Isolate = true
	got, err := candidates.Count(t.Context(), b.Snapshot(), q)
	if err != nil {
		t.Fatal(err)
	}
	request := candidates.RequestCounts{
		Drops:     []candidates.DropCount{{Kind: candidates.NoInventory, Class: "PGPU", Amount: 1, Providers: 2, Trees: 1}},
		Providers: 2, Trees: 1,
	}
	want := candidates.Counts{Providers: 4, Trees: 2, ServeEach: 1}
	for _, g := range q.Groups {
		request.Suffix = g.Suffix
		want.Requests = append(want.Requests, request)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Count (-want +got):\n%s", diff)
	}
}

// A sample of k of n candidates must hold each of them equally often. The bound
// is that of chi-square with n-1 degrees of freedom at 0.999; the seeds are
// fixed, so that the test does not fail by chance.
func TestSampleIsUniform(t *testing.T) {
	const n, k, rounds = 24, 5, 6000
	w, q := wide(4).Snapshot(), pieces(4, "PGPU", 1)
	q.Limit = k
	seen, firsts := make(map[string]int), make(map[string]int)
	for seed := range uint64(rounds) {
		q.Sample = &placement.Sample{Seed: seed}
		list := allKeys(w, search(t, w, q))
		firsts[list[0]]++
		for _, c := range list {
			seen[c]++
		}
	}
	for name, c := range map[string]struct {
		counts map[string]int
		draws  float64
		// A candidate is drawn at most once a round, which makes the sum
		// smaller than that of independent draws.
		scale float64
	}{
		"in the sample": {seen, rounds * k, (n - 1.0) / (n - k)},
		"first":         {firsts, rounds, 1},
	} {
		chi := 0.0
		for _, times := range c.counts {
			chi += math.Pow(float64(times)-c.draws/n, 2) / (c.draws / n)
		}
		if chi *= c.scale; len(c.counts) != n || chi > 49.73 {
			t.Errorf("%s: %d of %d candidates, chi-square %.1f", name, len(c.counts), n, chi)
		}
	}
}

func TestShuffleHoldsAllCandidates(t *testing.T) {
	w, q := wide(5).Snapshot(), pieces(5, "PGPU", 1)
	ordered := allKeys(w, search(t, w, q))
	q.Sample = &placement.Sample{Seed: 3}
	shuffled := allKeys(w, search(t, w, q))
	if slices.Equal(ordered, shuffled) {
		t.Error("the shuffle has the order of the search")
	}
	if diff := cmp.Diff(sorted(ordered), sorted(shuffled)); diff != "" {
		t.Errorf("the shuffle has other candidates:\n%s", diff)
	}
}

// There are more candidates than a shuffle holds at a time, so that it takes
// several stretches; none may be lost or come twice, and a limit beyond what can
// be held still holds.
func TestLongShuffleHoldsAllCandidates(t *testing.T) {
	racetest.Skip(t)
	w, q := wide(9).Snapshot(), pieces(9, "PGPU", 1)
	q.Sample = &placement.Sample{Seed: 3}
	for limit, want := range map[int]int{0: 362880, 200_000: 200_000} {
		q.Limit = limit
		seen := make(map[[9]int8]bool, want)
		for c := range search(t, w, q).All() {
			var at [9]int8
			for i, providers := range c.Mappings {
				at[i] = int8(providers[0].Index)
			}
			seen[at] = true
		}
		if len(seen) != want {
			t.Errorf("limit %d: %d different candidates, want %d", limit, len(seen), want)
		}
	}
}

// Clients of the versions before trees see the providers described that
// candidates beyond the limit use, if others of their trees are in the answer.
func TestFlatSummaryIsNotCutByTheLimit(t *testing.T) {
	b := placementtest.NewBuilder()
	for _, name := range []string{"cn1", "cn1/numa0", "cn2"} {
		b.Provider(name).Inventory("VCPU", 8)
	}
	q := pieces(1, "VCPU", 1)
	q.Flat, q.Limit = true, 1
	r := search(t, b.Snapshot(), q)
	s := r.Summary()
	for c := range r.All() {
		s.Add(c)
	}
	var names []string
	for _, p := range s.Providers() {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"cn1", "cn1/numa0"}, names); diff != "" {
		t.Errorf("providers described (-want +got):\n%s", diff)
	}
}
