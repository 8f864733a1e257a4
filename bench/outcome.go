package main

import (
	"errors"
	"fmt"
)

// A bar is a limit for a figure: at most or at least, the unused one of which is 0. Zero itself is
// a limit when exact is set.
type bar struct {
	figure string
	most   float64
	least  float64
	exact  bool // it has to be most, no more and no less
}

func atMost(figure string, limit float64) bar  { return bar{figure: figure, most: limit} }
func atLeast(figure string, limit float64) bar { return bar{figure: figure, least: limit} }
func exactly(figure string, value float64) bar {
	return bar{figure: figure, most: value, exact: true}
}

// holds reports whether a value reaches the bar.
func (b bar) holds(v float64) bool {
	switch {
	case b.exact:
		return v == b.most
	case b.least > 0:
		return v >= b.least
	default:
		return v <= b.most
	}
}

func (b bar) text(unit string) string {
	switch {
	case b.exact:
		return fmt.Sprintf("%s has to be %s", b.figure, amount(b.most, unit))
	case b.least > 0:
		return fmt.Sprintf("%s at least %s", b.figure, amount(b.least, unit))
	default:
		return fmt.Sprintf("%s at most %s", b.figure, amount(b.most, unit))
	}
}

// An outcome is how a row ended.
type outcome string

const (
	reached outcome = "ok"
	short   outcome = "short"   // slower or bigger than it has to be
	notRun  outcome = "not run" // something is not installed
	broken  outcome = "failed"  // an error, or a wrong answer
)

// A notRunError is why a row, or a part of it, could not be measured here.
type notRunError string

func (e notRunError) Error() string { return string(e) }

// evaluate compares the figures of a row with its bars and returns a reason for each that is not
// reached. A bar whose figure was not measured, such as a comparison with something that is not
// installed, is a reason as well, but no failure.
func evaluate(bars []bar, f figures, err error) (v outcome, reasons []string) {
	var missing notRunError
	switch {
	case errors.As(err, &missing):
		return notRun, []string{missing.Error()}
	case err != nil:
		return broken, []string{err.Error()}
	}
	v = reached
	for _, b := range bars {
		got, ok := f.find(b.figure)
		switch {
		case !ok:
			reasons = append(reasons, b.figure+" was not measured")
		case !b.holds(got.Value):
			reasons = append(reasons, fmt.Sprintf("%s, want %s", got, b.text(got.Unit)))
			if b.exact {
				v = broken
			} else if v != broken {
				v = short
			}
		}
	}
	return v, reasons
}
