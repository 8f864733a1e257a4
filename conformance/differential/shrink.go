package differential

import (
	"slices"
	"time"
)

// Shrink searches for a shorter sequence that fails in the same way and returns the shortest one
// within the budget, at worst the failure itself. Generations need no care: the tracker sets them
// again.
func (p *Pair) Shrink(f *Failure, budget time.Duration) (*Failure, error) {
	end := time.Now().Add(budget)
	f, err := p.essence(f)
	if err != nil {
		return f, err
	}
	for size := max(len(f.Sequence)/2, 1); ; {
		smaller, err := p.pass(f, size, end)
		if err != nil {
			return f, err
		}
		done := len(smaller.Sequence) == len(f.Sequence) && size == 1
		f = smaller
		if done || time.Now().After(end) {
			return f, nil
		}
		size = max(size/2, 1)
	}
}

// essence removes at once all requests that changed nothing on side A, if the failure does not need
// them.
func (p *Pair) essence(f *Failure) (*Failure, error) {
	var kept []Request
	for i, r := range f.Sequence {
		if i == len(f.Sequence)-1 || i < len(f.changed) && f.changed[i] {
			kept = append(kept, r)
		}
	}
	shorter, err := p.play(kept, f.Group())
	if err != nil || shorter == nil {
		return f, err
	}
	return shorter, nil
}

// pass tries to remove each run of size requests before the last one, from the end to the start.
func (p *Pair) pass(f *Failure, size int, end time.Time) (*Failure, error) {
	group := f.Group()
	for to := len(f.Sequence) - 1; to > 0 && time.Now().Before(end); {
		from := max(to-size, 0)
		shorter, err := p.play(slices.Delete(slices.Clone(f.Sequence), from, to), group)
		if err != nil {
			return f, err
		}
		if shorter != nil {
			f = shorter
		}
		to = min(from, len(f.Sequence)-1)
	}
	return f, nil
}
