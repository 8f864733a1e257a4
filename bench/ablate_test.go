package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProgramsFlag(t *testing.T) {
	var p programs
	if err := p.Set("base=/tmp/a,changed=/tmp/b"); err != nil || p.String() != "base=/tmp/a,changed=/tmp/b" {
		t.Errorf("%v, %v", p.String(), err)
	}
	for _, wrong := range []string{"", "/tmp/a", "=x", "x=", "a=/tmp/a,"} {
		if err := new(programs).Set(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestAblationTable(t *testing.T) {
	p := programs{{"base", "/a"}, {"changed", "/b"}, {"broken", "/c"}}
	got := p.table("mixed", map[string][]float64{"base": {2, 1, 3}, "changed": {1.5, 2.5, 4}})
	const want = `mixed
  base                     least 1.000 ms, median 2.000 ms of 3
  changed                  least 1.500 ms, median 2.500 ms of 3; +50 %, +25 %
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAblate compares programs that cannot be started: each row says so, and the whole fails.
func TestAblate(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a cloud")
	}
	o := options{short: true, runs: 1, programs: programs{{"one", "/nowhere/one"}, {"two", "/nowhere/two"}}}
	o.rows.Regexp = regexp.MustCompile("^none-trait$")
	var out bytes.Buffer
	ok, err := o.do(context.Background(), &out, io.Discard)
	if ok || err != nil || bytes.Count(out.Bytes(), []byte("none-trait")) != 2 {
		t.Errorf("%v, %v\n%s", ok, err, out.String())
	}
}
