package capacity

import (
	"math"
	"slices"

	"github.com/berthcloud/berth/placement/snapshot"
)

// A packing is the question how often to take each of some ways so that the inventories suffice,
// and its answer.
type packing struct {
	ways []way
	// amounts[j] are what way j takes of each inventory, free what there is of each: only what is
	// of use, a multiple of the greatest common divisor of all amounts.
	amounts [][]int64
	free    []int64

	counts []int64 // of the ways: the best that was found
	Range          // of their sum
	prices []float64
}

// maxNodes bounds the search for a better packing than the one that was found first.
const maxNodes = 10_000

// pack finds how often the ways can be taken from what the ledger has left.
func pack(l *ledger, ways []way) packing {
	p := packing{ways: ways, counts: make([]int64, len(ways))}
	p.collect(l)
	// 1. What each way can be taken alone. Where no inventory is in two ways, that is the answer.
	var sum int64
	for j := range ways {
		p.counts[j] = p.most(j, p.free)
		sum = saturated(sum, p.counts[j])
	}
	if p.apart() {
		p.Range = Range{sum, sum}
		return p
	}
	// 2. The linear program bounds the sum, and its solution rounded down is a packing, which the
	// greedy order completes. So does the greedy order alone, which may be better.
	x, prices := p.relax()
	p.prices = prices
	p.Most = min(sum, p.bound(0, p.free))
	rounded := make([]int64, len(ways))
	for j := range x {
		rounded[j] = int64(max(x[j], 0))
	}
	p.counts = nil
	for _, start := range [][]int64{rounded, make([]int64, len(ways))} {
		if n := p.complete(start); n > p.Least || p.counts == nil {
			p.Least, p.counts = n, start
		}
	}
	// 3. When they differ and there are few claims, all packings are examined; then the best is
	// known.
	if p.Least < p.Most {
		s := packingSearch{packing: &p, counts: make([]int64, len(ways)), nodes: maxNodes}
		s.from(0, 0, slices.Clone(p.free))
		if s.nodes > 0 {
			p.Most = p.Least
		}
	}
	return p
}

// collect numbers the inventories of the ways.
func (p *packing) collect(l *ledger) {
	index := map[snapshot.InventoryKey]int{}
	var divisors []int64
	for _, w := range p.ways {
		for _, u := range w {
			i, ok := index[u.key]
			if !ok {
				i = len(index)
				index[u.key] = i
				p.free, divisors = append(p.free, max(l.free(u.inventory), 0)), append(divisors, 0)
			}
			divisors[i] = gcd(divisors[i], u.amount)
		}
	}
	for i, d := range divisors {
		p.free[i] -= p.free[i] % d
	}
	p.amounts = make([][]int64, len(p.ways))
	for j, w := range p.ways {
		p.amounts[j] = make([]int64, len(p.free))
		for _, u := range w {
			p.amounts[j][index[u.key]] = u.amount
		}
	}
}

// most is how often way j can be taken from what is free.
func (p *packing) most(j int, free []int64) int64 {
	n := int64(math.MaxInt64)
	for i, amount := range p.amounts[j] {
		if amount > 0 {
			n = min(n, free[i]/amount)
		}
	}
	return n
}

// apart reports whether no inventory is in two ways.
func (p *packing) apart() bool {
	for i := range p.free {
		users := 0
		for j := range p.ways {
			if p.amounts[j][i] > 0 {
				users++
			}
		}
		if users > 1 {
			return false
		}
	}
	return true
}

// complete takes more of the ways, on top of counts, until none fits, and returns the sum. It takes
// the way that could be taken most often, at most half as often as that before it reads again; of
// equal ones the first. Counts that are too many for the inventories are set to zero first.
func (p *packing) complete(counts []int64) (sum int64) {
	free := slices.Clone(p.free)
	take := func(j int, n int64) {
		for i, amount := range p.amounts[j] {
			free[i] -= n * amount
		}
		sum = saturated(sum, n)
	}
	for j := range counts {
		counts[j] = min(counts[j], p.most(j, free))
		take(j, counts[j])
	}
	for {
		best, often := 0, int64(0)
		for j := range p.ways {
			if n := p.most(j, free); n > often {
				best, often = j, n
			}
		}
		if often == 0 {
			return sum
		}
		n := max(often/int64(2*len(p.ways)), 1)
		counts[best] += n
		take(best, n)
	}
}

// bound is how often ways can be taken from what is free at most, by the prices: when each way
// costs at least 1, no more ways than all that is free costs. Any prices give a bound that holds.
func (p *packing) bound(from int, free []int64) int64 {
	cheapest, all := math.Inf(1), 0.0
	for j := from; j < len(p.ways); j++ {
		cost := 0.0
		for i, amount := range p.amounts[j] {
			cost += p.prices[i] * float64(amount)
		}
		cheapest = min(cheapest, cost)
	}
	for i, n := range free {
		all += p.prices[i] * float64(n)
	}
	most := math.Floor(all/cheapest*(1+1e-12) + 1e-9)
	if !(most < 1<<62) { // also when it is no number
		return 1 << 62
	}
	return int64(most)
}

// A packingSearch reads all packings, those with many of the first ways first.
type packingSearch struct {
	*packing
	counts []int64
	nodes  int // that may still be examined
}

// from goes on at way j, with so many taken already. It changes free and restores it.
func (s *packingSearch) from(j int, taken int64, free []int64) {
	if s.nodes--; s.nodes <= 0 || s.Least == s.Most {
		return
	}
	if j == len(s.ways) {
		if taken > s.Least {
			s.Least = taken
			s.packing.counts = slices.Clone(s.counts)
		}
		return
	}
	if taken+s.bound(j, free) <= s.Least {
		return
	}
	most := s.most(j, free)
	least := int64(0)
	if j == len(s.ways)-1 {
		least = most
	}
	for n := most; n >= least && s.nodes > 0; n-- {
		for i, amount := range s.amounts[j] {
			free[i] -= n * amount
		}
		s.counts[j] = n
		s.from(j+1, taken+n, free)
		for i, amount := range s.amounts[j] {
			free[i] += n * amount
		}
	}
	s.counts[j] = 0
}

// relax solves the problem in fractions with the simplex method (Bland's rule), and returns how
// often each way is taken and the price of each inventory: the solution of the dual program. It
// stops after a bounded number of steps.
func (p *packing) relax() (x, prices []float64) {
	const precision = 1e-9
	n, m := len(p.ways), len(p.free)
	// A row for each inventory, in units of its greatest amount: the ways, a slack, and what is
	// free. The last row is the objective.
	table, scale, basis := make([][]float64, m+1), make([]float64, m), make([]int, m)
	for i := range table {
		table[i] = make([]float64, n+m+1)
	}
	for i := range m {
		for j := range n {
			scale[i] = max(scale[i], float64(p.amounts[j][i]))
		}
		for j := range n {
			table[i][j] = float64(p.amounts[j][i]) / scale[i]
		}
		table[i][n+i], table[i][n+m], basis[i] = 1, float64(p.free[i])/scale[i], n+i
	}
	for j := range n {
		table[m][j] = -1
	}
	for range 50 * (n + m) {
		enter := slices.IndexFunc(table[m][:n+m], func(v float64) bool { return v < -precision })
		if enter < 0 {
			break
		}
		leave := -1
		for i := range m {
			if table[i][enter] <= precision {
				continue
			}
			ratio := table[i][n+m] / table[i][enter]
			if leave < 0 || ratio < table[leave][n+m]/table[leave][enter] ||
				ratio == table[leave][n+m]/table[leave][enter] && basis[i] < basis[leave] {
				leave = i
			}
		}
		if leave < 0 {
			break // only by rounding: each way takes from some inventory
		}
		pivot := table[leave][enter]
		for k := range table[leave] {
			table[leave][k] /= pivot
		}
		for i := range table {
			factor := table[i][enter]
			if i == leave || factor == 0 {
				continue
			}
			for k := range table[i] {
				table[i][k] -= factor * table[leave][k]
			}
		}
		basis[leave] = enter
	}
	x, prices = make([]float64, n), make([]float64, m)
	for i, j := range basis {
		if j < n {
			x[j] = math.Floor(table[i][n+m] + precision)
		}
	}
	for i := range m {
		prices[i] = max(table[m][n+i], 0) / scale[i]
	}
	return x, prices
}

// saturated adds numbers that are not negative.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
