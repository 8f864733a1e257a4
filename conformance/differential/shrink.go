package differential

import "time"

// Shrink looks for a shorter sequence that fails in the same way and returns
// the shortest it found within the budget, the failure itself at worst.
// Generations need no care: the tracker fills them in anew.
func (p *Pair) Shrink(f *Failure, budget time.Duration) (*Failure, error) {
	end := time.Now().Add(budget)
	group := f.Group()
	for size := len(f.Sequence) / 2; size > 0; {
		smaller, err := p.without(f, size, group, end)
		if err != nil {
			return f, err
		}
		switch {
		case smaller != nil:
			f = smaller
			size = min(size, max(len(f.Sequence)/2, 1))
		case time.Now().After(end):
			return f, nil
		default:
			size /= 2
		}
	}
	return f, nil
}

// without tries to leave out each run of size requests before the last one. It
// returns nil when none can be spared.
func (p *Pair) without(f *Failure, size int, group string, end time.Time) (*Failure, error) {
	last := len(f.Sequence) - 1
	for i := last - size; ; i -= size {
		from := max(i, 0)
		if time.Now().After(end) || last == 0 {
			return nil, nil
		}
		shorter := append(append([]Request{}, f.Sequence[:from]...), f.Sequence[from+min(size, last-from):]...)
		got, err := p.Play(shorter)
		if err != nil {
			return nil, err
		}
		if got != nil && got.Group() == group && len(got.Sequence) < len(f.Sequence) {
			return got, nil
		}
		if from == 0 {
			return nil, nil
		}
	}
}
