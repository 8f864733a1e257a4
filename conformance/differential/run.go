package differential

import "time"

// A Campaign plays random sequences on a pair for a while.
type Campaign struct {
	Pair      *Pair
	Length    int           // requests in a sequence
	KeepGoing bool          // collect failures instead of stopping at the first
	Shrink    time.Duration // bound of the time for shortening a failure
	Origins   bool          // browsers call too

	Coverage  Coverage
	Sequences int            // played so far
	Failures  []*Failure     // one of each group, in the order of detection
	Count     map[string]int // how often each group failed
	Log       func(s string) // called for each new failure; may be nil
}

// Run plays sequences with consecutive seeds until the given time or, unless KeepGoing, the first
// failure. The error is about the services, not their answers.
func (c *Campaign) Run(seed uint64, until time.Time) error {
	if c.Count == nil {
		c.Count, c.Coverage = map[string]int{}, Coverage{}
	}
	for ; time.Now().Before(until); seed++ {
		if err := c.sequence(seed, until); err != nil {
			return err
		}
		c.Sequences++
		if len(c.Failures) > 0 && !c.KeepGoing {
			return nil
		}
	}
	return nil
}

// sequence generates requests one by one, since each depends on the answers to earlier ones.
func (c *Campaign) sequence(seed uint64, until time.Time) error {
	if err := c.Pair.Reset(); err != nil {
		return err
	}
	t := NewTracker()
	g := NewGenerator(seed, t)
	if c.Origins {
		g.WithOrigins()
	}
	var sent []Request
	var changed []bool
	for len(sent) < c.Length && time.Now().Before(until) {
		r := g.Next()
		sent = append(sent, r)
		s := c.Pair.Do(t, r)
		changed = append(changed, s.changed())
		c.Coverage.note(s)
		if s.Failed() {
			f := &Failure{Seed: seed, Sequence: append([]Request{}, sent...), Step: s, changed: append([]bool{}, changed...)}
			again, err := c.note(f)
			if err != nil || !again {
				return err
			}
		}
		if s.Diverged() {
			return nil
		}
	}
	return nil
}

// note records a failure if it is the first of its group, in its shortest form. It reports whether
// the sequence may continue: after shrinking, the services have other data.
func (c *Campaign) note(f *Failure) (bool, error) {
	group := f.Group()
	c.Count[group]++
	if c.Count[group] > 1 {
		return true, nil
	}
	short, err := c.Pair.Shrink(f, c.Shrink)
	if err != nil {
		return false, err
	}
	short.Seed = f.Seed
	c.Failures = append(c.Failures, short)
	if c.Log != nil {
		c.Log(short.String())
	}
	return false, nil
}
