package instances

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// A deed is a client's operation on one provider; a claim on two is two deeds.
type deed struct {
	provider string
	kind     kind
	amount   int
}

type kind int

const (
	claims kind = iota
	releases
	looks
)

// A result is a client's result of an operation; used and generation are those of a read.
type result struct {
	outcome    outcome
	used       int
	generation int
}

type outcome int

const (
	done    outcome = iota
	refused         // there is not enough capacity
	nothing         // not done, for a reason that is unrelated to this provider
)

// A balance is a provider's state in a sequential model.
type balance struct{ used, generation int }

// model is the sequential model of operations: a claim that fits is granted and increments the
// generation once for any amount, one that does not fit changes nothing, a release frees the amount
// and leaves the generation unchanged, a read returns both.
func model() porcupine.Model {
	start := balance{used: 0, generation: 1} // after its inventory was set
	return porcupine.Model{
		Partition: byProvider,
		Init:      func() any { return start },
		Step: func(state, in, out any) (bool, any) {
			return step(state.(balance), in.(deed), out.(result))
		},
	}
}

func step(b balance, d deed, r result) (bool, balance) {
	fits := b.used+d.amount <= capacity
	switch {
	case d.kind == looks:
		return r.used == b.used && r.generation == b.generation, b
	case r.outcome == nothing:
		return true, b
	case r.outcome == refused:
		return !fits, b
	case d.kind == releases:
		return true, balance{b.used - d.amount, b.generation}
	}
	return fits, balance{b.used + d.amount, b.generation + 1}
}

func byProvider(ops []porcupine.Operation) (parts [][]porcupine.Operation) {
	m := map[string][]porcupine.Operation{}
	for _, op := range ops {
		p := op.Input.(deed).provider
		m[p] = append(m[p], op)
	}
	for _, part := range m {
		parts = append(parts, part)
	}
	return parts
}

// TestModelCanFail plants one error of each kind into a history that is valid without it.
func TestModelCanFail(t *testing.T) {
	type entry struct {
		d deed
		r result
	}
	most := deed{kind: claims, amount: 5}
	sees := func(used, generation int) entry { return entry{deed{kind: looks}, result{done, used, generation}} }
	for _, c := range []struct {
		name string
		want bool
		ops  []entry
	}{
		{"Right", true, []entry{
			{most, result{}},
			{most, result{outcome: refused}},
			sees(5, 2),
			{deed{kind: releases, amount: 5}, result{}},
			{most, result{}},
			sees(5, 3),
		}},
		{"Overcommit", false, []entry{{most, result{}}, {most, result{}}}},
		{"RefusedThoughFree", false, []entry{{most, result{outcome: refused}}}},
		{"LostClaim", false, []entry{{most, result{}}, sees(0, 1)}},
		{"LostRelease", false, []entry{{most, result{}}, {deed{kind: releases, amount: 5}, result{}}, sees(5, 2)}},
		{"GenerationStands", false, []entry{{most, result{}}, sees(5, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h history
			for _, e := range c.ops {
				h.add(0, h.now(), e.d, e.r)
			}
			if got := porcupine.CheckOperations(model(), h.ops); got != c.want {
				t.Errorf("linearizable = %v, want %v", got, c.want)
			}
		})
	}
}
