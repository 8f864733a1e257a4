package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	f := figures{{"cpu / canned", 1.5, ratio}, {"rate", 1000, perSecond}, {"lost", 0, count}}
	for _, c := range []struct {
		name    string
		bars    []bar
		err     error
		want    outcome
		reasons []string
	}{
		{"AllHold", []bar{atMost("cpu / canned", 2), atLeast("rate", 500), exactly("lost", 0)}, nil, reached, nil},
		{"OnTheBar", []bar{atMost("cpu / canned", 1.5), atLeast("rate", 1000)}, nil, reached, nil},
		{
			"TooMuch",
			[]bar{atMost("cpu / canned", 1.4)},
			nil, short,
			[]string{"cpu / canned 1.50x, want cpu / canned at most 1.40x"},
		},
		{"TooLittle", []bar{atLeast("rate", 2000)}, nil, short, []string{"rate 1,000/s, want rate at least 2,000/s"}},
		{"NotExact", []bar{exactly("lost", 1)}, nil, broken, []string{"lost 0, want lost has to be 1"}},
		{
			"OneOfTwo",
			[]bar{atMost("cpu / canned", 2), atLeast("rate", 2000)},
			nil, short,
			[]string{"rate 1,000/s, want rate at least 2,000/s"},
		},
		{
			"NotExactAndTooLittle",
			[]bar{exactly("lost", 1), atLeast("rate", 2000)},
			nil, broken,
			[]string{"lost 0, want lost has to be 1", "rate 1,000/s, want rate at least 2,000/s"},
		},
		{"NotMeasured", []bar{atLeast("rate / upstream", 500)}, nil, reached, []string{"rate / upstream was not measured"}},
		{
			"NothingMeasured",
			[]bar{atMost("cpu / canned", 1)},
			fmt.Errorf("MariaDB: %w", notRunError("not installed")), notRun,
			[]string{"not installed"},
		},
		{"Failed", []bar{atMost("cpu / canned", 2)}, errors.New("no answer"), broken, []string{"no answer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, reasons := evaluate(c.bars, f, c.err)
			if v != c.want {
				t.Errorf("got %s, want %s", v, c.want)
			}
			if diff := cmp.Diff(c.reasons, reasons); diff != "" {
				t.Errorf("reasons (-want +got)\n%s", diff)
			}
		})
	}
}
