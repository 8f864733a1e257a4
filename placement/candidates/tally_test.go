package candidates_test

import "testing"

// Of so many cases and more it is reported whether enough tested something; the few of a short
// run may be empty by chance.
const enoughCases = 100

// mostHave is the share of the cases that has to have candidates. About 60 % have.
const mostHave = 0.3

// A tally counts the cases of a property test, and those that tested something: a case
// without candidates, or with a query that is a fault, passes whatever the search does.
type tally struct{ cases, tested int }

// add counts a case.
func (c *tally) add(tests bool) {
	c.cases++
	if tests {
		c.tested++
	}
}

// enough fails a test of which less than a share of the cases tested something. With -v
// it says how many did.
func (c *tally) enough(t testing.TB, least float64) {
	t.Helper()
	share := float64(c.tested) / float64(max(c.cases, 1))
	t.Logf("%d of %d cases tested something, %.0f %%", c.tested, c.cases, 100*share)
	if !t.Failed() && c.cases >= enoughCases && share < least {
		t.Errorf("only %.0f %% of the cases tested something, want %.0f %%", 100*share, 100*least)
	}
}

// A witness is a test that may fail.
type witness struct {
	testing.TB
	failed bool
}

func (w *witness) Errorf(string, ...any) { w.failed = true }
func (w *witness) Failed() bool          { return w.failed }

func TestEmptyCasesFail(t *testing.T) {
	for _, c := range []struct {
		tested, cases int
		want          bool
	}{{29, 100, true}, {30, 100, false}, {0, 99, false}, {0, 1000, true}} {
		w := &witness{TB: t}
		(&tally{cases: c.cases, tested: c.tested}).enough(w, mostHave)
		if w.failed != c.want {
			t.Errorf("of %d cases %d test something: failed %v, want %v", c.cases, c.tested, w.failed, c.want)
		}
	}
}
