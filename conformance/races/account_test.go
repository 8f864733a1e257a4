package races

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// An account is the state of one provider with a single resource class.
type account struct {
	used       int
	generation int
}

// An entry is an operation on an account.
type entry struct {
	provider string
	kind     entryKind
	amount   int
}

type entryKind int

const (
	claim entryKind = iota
	release
	look
)

// An effect is the client's result of an entry; used and generation are those of a read.
type effect struct {
	verdict    verdict
	used       int
	generation int
}

// accounts is the sequential model of claims on providers of the given capacity: a claim that fits
// is accepted and increments the generation, one that does not is refused and changes nothing, a
// release frees the amount and leaves the generation unchanged, a read returns both. The two halves
// of a claim over two providers are entries of two accounts.
func accounts(capacity int, start account) porcupine.Model {
	return porcupine.Model{
		Partition: byProvider,
		Init:      func() any { return start },
		Step: func(state, in, out any) (bool, any) {
			return step(capacity, state.(account), in.(entry), out.(effect))
		},
	}
}

func step(capacity int, a account, e entry, f effect) (bool, account) {
	fits := a.used+e.amount <= capacity
	switch {
	case e.kind == look:
		return f.used == a.used && f.generation == a.generation, a
	case f.verdict == crossed:
		return true, a
	case f.verdict == full:
		return !fits, a
	case e.kind == release:
		return f.verdict == accepted, account{a.used - e.amount, a.generation}
	}
	return f.verdict == accepted && fits, account{a.used + e.amount, a.generation + 1}
}

func byProvider(ops []porcupine.Operation) [][]porcupine.Operation {
	m := map[string][]porcupine.Operation{}
	for _, op := range ops {
		p := op.Input.(entry).provider
		m[p] = append(m[p], op)
	}
	var parts [][]porcupine.Operation
	for _, part := range m {
		parts = append(parts, part)
	}
	return parts
}

// A register is a value that a client replaces with its current generation.
type register struct {
	generation int
	value      int
}

// A change is an attempt to replace a register's value, or a read of it.
type change struct {
	name  string
	read  bool
	known register // the generation that was sent and the value to set
}

// A change's result is the register that a read found, or a verdict.
type changed struct {
	verdict verdict
	found   register
}

// registers is the sequential meaning of compare-and-swap: a write with the
// present generation is accepted and moves it by one, any other is stale.
func registers(start register) porcupine.Model {
	return porcupine.Model{
		Partition: byName,
		Init:      func() any { return start },
		Step: func(state, in, out any) (bool, any) {
			s, c, r := state.(register), in.(change), out.(changed)
			switch {
			case c.read:
				return r.found == s, s
			case r.verdict == crossed:
				return true, s
			case r.verdict == stale:
				return c.known.generation != s.generation, s
			}
			ok := r.verdict == accepted && c.known.generation == s.generation
			return ok, register{s.generation + 1, c.known.value}
		},
	}
}

func byName(ops []porcupine.Operation) [][]porcupine.Operation {
	m := map[string][]porcupine.Operation{}
	for _, op := range ops {
		n := op.Input.(change).name
		m[n] = append(m[n], op)
	}
	var parts [][]porcupine.Operation
	for _, part := range m {
		parts = append(parts, part)
	}
	return parts
}

// TestAccountsCanFail plants one error of each kind into a history that is
// correct without it.
func TestAccountsCanFail(t *testing.T) {
	yes, no := effect{verdict: accepted}, effect{verdict: full}
	sees := func(used, generation int) effect { return effect{used: used, generation: generation} }
	type done struct {
		e entry
		f effect
	}
	for _, c := range []struct {
		name string
		want bool
		ops  []done
	}{
		{"Correct", true, []done{
			{entry{kind: claim, amount: 2}, yes},
			{entry{kind: claim, amount: 2}, no},
			{entry{kind: look}, sees(2, 1)},
			{entry{kind: release, amount: 2}, yes},
			{entry{kind: claim, amount: 3}, yes},
			{entry{kind: look}, sees(3, 2)},
		}},
		{"Overcommit", false, []done{{entry{kind: claim, amount: 2}, yes}, {entry{kind: claim, amount: 2}, yes}}},
		{"RefusedThoughFree", false, []done{{entry{kind: claim, amount: 2}, no}}},
		{"LostClaim", false, []done{{entry{kind: claim, amount: 2}, yes}, {entry{kind: look}, sees(0, 0)}}},
		{"LostRelease", false, []done{
			{entry{kind: claim, amount: 3}, yes}, {entry{kind: release, amount: 3}, yes}, {entry{kind: claim, amount: 1}, no},
		}},
		{"GenerationStands", false, []done{{entry{kind: claim, amount: 2}, yes}, {entry{kind: look}, sees(2, 0)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h history
			for _, d := range c.ops {
				h.add(0, h.now(), d.e, d.f)
			}
			if got := porcupine.CheckOperations(accounts(3, account{}), h.ops); got != c.want {
				t.Errorf("linearizable = %v, want %v", got, c.want)
			}
		})
	}
}

// TestRegistersCanFail shows that two winners of one generation, a refusal without a reason and a
// stale read are detected.
func TestRegistersCanFail(t *testing.T) {
	won, lost := changed{verdict: accepted}, changed{verdict: stale}
	type done struct {
		c change
		r changed
	}
	for _, c := range []struct {
		name string
		want bool
		ops  []done
	}{
		{"Correct", true, []done{
			{change{known: register{0, 7}}, won},
			{change{known: register{0, 8}}, lost},
			{change{read: true}, changed{found: register{1, 7}}},
		}},
		{"TwoWinners", false, []done{{change{known: register{0, 7}}, won}, {change{known: register{0, 8}}, won}}},
		{"NoWinner", false, []done{{change{known: register{0, 7}}, lost}}},
		{"StaleRead", false, []done{{change{known: register{0, 7}}, won}, {change{read: true}, changed{}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h history
			for _, d := range c.ops {
				h.add(0, h.now(), d.c, d.r)
			}
			if got := porcupine.CheckOperations(registers(register{}), h.ops); got != c.want {
				t.Errorf("linearizable = %v, want %v", got, c.want)
			}
		})
	}
}
